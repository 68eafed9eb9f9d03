import { plain } from "./colour.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one
const COLOUR = /(\u001b\[[0-9;]*m)/;

/** Columns of the narrowest width that holds them, two spaces apart; the last one is cut at `width` when there is one. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], width?: number): string {
  const lines = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...lines.map((l) => columns(l[i] ?? ""))));
  return lines
    .map((line) => {
      const text = head.map((_, i) => pad(line[i] ?? "", i === head.length - 1 ? 0 : widths[i]!)).join("  ");
      return width ? cut(text, width) : text;
    })
    .map((line) => line.trimEnd())
    .join("\n");
}

/** `key: value` lines with the values in one column. */
export function pairs(entries: readonly (readonly [string, string])[]): string {
  const widest = Math.max(0, ...entries.map(([k]) => columns(k)));
  return entries
    .map(([k, v]) => `${pad(`${k}:`, widest + 1)}  ${v.split("\n").join(`\n${" ".repeat(widest + 3)}`)}`.trimEnd())
    .join("\n");
}

/** How many columns the text takes on a terminal. */
export const columns = (text: string): number => [...plain(text)].length;

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - columns(text)));

/** Cuts at `width` columns without cutting a colour sequence; open colours are closed. */
export function cut(text: string, width: number): string {
  if (columns(text) <= width) return text;
  let taken = 0;
  let result = "";
  for (const part of text.split(COLOUR)) {
    if (part.startsWith("\u001b[")) {
      result += part;
      continue;
    }
    const room = Math.max(0, width - 1 - taken);
    const piece = [...part].slice(0, room).join("");
    result += piece;
    taken += [...piece].length;
    if ([...part].length > room) return `${result}…${text.includes("\u001b[") ? "\u001b[0m" : ""}`;
  }
  return result;
}
