import { stringify } from "yaml";
import { type Colours, printable } from "../base/colour.ts";
import { table } from "../base/table.ts";
import type { Session } from "./session/session.ts";

// biome-ignore lint/suspicious/noExplicitAny: tables read any noun's fields; the service has validated them
export type Json = Record<string, any>;

export interface Column {
  head: string;
  /** Shown with `-o wide` alone. */
  wide?: boolean;
  /** The field that orders rows by this column, where that is not its text. */
  path?: string;
  text(object: Json, c: Colours): string;
}

/** Writes a list or one object in the requested format; by default a table. */
export function show(
  s: Session,
  objects: Json[],
  columns: readonly Column[],
  more: { one?: boolean; name?: (o: Json) => string; empty?: string } = {},
): void {
  const data = more.one ? objects[0] : { items: objects };
  if (s.format === "json" || s.format === "yaml") showAs(s, data, () => "");
  else if (s.format === "name")
    for (const object of objects) s.io.out.write(`${printable((more.name ?? ((o) => o.id))(object))}\n`);
  else if (objects.length === 0) say(s, s.e.dim(more.empty ?? "none"));
  else s.io.out.write(`${rowsOf(s, objects, columns, true)}\n`);
}

export function rowsOf(s: Session, objects: Json[], columns: readonly Column[], heads: boolean): string {
  const shown = columns.filter((column) => s.format === "wide" || !column.wide);
  const rows = objects.map((object) => shown.map((column) => column.text(object, s.c) || "-"));
  const width = s.io.out.isTTY && s.format !== "wide" ? s.io.out.columns : undefined;
  const text = table(
    shown.map((column) => s.c.bold(column.head)),
    rows,
    width,
  );
  return heads ? text : text.slice(text.indexOf("\n") + 1);
}

/** For an answer that is no table at all: JSON or YAML, else the text that a person reads. */
export function showAs(s: Session, data: unknown, text: () => string): void {
  if (s.format === "json") s.io.out.write(`${JSON.stringify(data, null, 2)}\n`);
  else if (s.format === "yaml") s.io.out.write(stringify(data, { lineWidth: 0 }));
  else {
    const shown = text();
    if (shown) s.io.out.write(`${shown}\n`);
  }
}

/** A line of confirmation, which is not mixed into data that a script asked for. */
export function say(s: Session, text: string): void {
  s.io.err.write(`${text}\n`);
}

const GOOD = new Set([
  "Synced",
  "Healthy",
  "Successful",
  "Delivered",
  "Succeeded",
  "accepted",
  "approved",
  "True",
  "yes",
]);
const BAD = new Set(["Degraded", "Missing", "Failed", "Error", "Refused", "denied", "rejected", "TimedOut", "no"]);

/** A state word in the colour of what it means. */
export function state(word: string | undefined, c: Colours): string {
  if (!word) return c.dim("-");
  const text = printable(word);
  if (GOOD.has(word)) return c.green(text);
  if (BAD.has(word)) return c.red(text);
  return ["Unknown", "None", "Pending", "Skipped"].includes(word) ? c.dim(text) : c.yellow(text);
}

/** A field by its path; never undefined, safe to print, on one line. */
export function field(object: Json, path: string): string {
  const value = path.split(".").reduce<unknown>((at, key) => (at as Json | undefined)?.[key], object);
  if (value === undefined || value === null) return "";
  return printable(Array.isArray(value) ? value.join(",") : String(value)).replace(/\s*\n\s*/g, " ");
}

/** A column that shows one field as it is. */
export const plainColumn = (head: string, path: string, wide = false): Column => ({
  head,
  wide,
  path,
  text: (o) => field(o, path),
});
/** A column that shows one field as a state. */
export const stateColumn = (head: string, path: string): Column => ({
  head,
  path,
  text: (o, c) => state(field(o, path), c),
});
/** `1 object`, `2 objects`. */
export const count = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;
