/** An error of a template; the message is for the user. */
export class TemplateError extends Error {}

export type TemplateToken =
  | { kind: "text"; text: string; at: number }
  | { kind: "left" | "right" | "(" | ")" | "|" | "," | ":=" | "=" | "." | "eof" | "space"; text: string; at: number }
  | { kind: "field" | "variable" | "name" | "number" | "string" | "char" | "keyword"; text: string; at: number };

const KEYWORDS = new Set(["if", "else", "end", "range", "with", "template", "define", "block", "break", "continue"]);
const LETTER = /[\p{L}\p{Nd}_]/u;
const SPACE = /[ \t\r\n]/;

/** The tokens of a Go template. Blanks count where they separate arguments, so they are tokens of their own. */
export function lex(source: string): TemplateToken[] {
  const tokens: TemplateToken[] = [];
  let at = 0;
  let trim = false;
  while (at < source.length) {
    const open = source.indexOf("{{", at);
    const end = open < 0 ? source.length : open;
    let text = source.slice(at, end);
    if (trim) text = text.replace(/^[ \t\r\n]+/, "");
    const trimsLeft = open >= 0 && source[open + 2] === "-" && SPACE.test(source[open + 3] ?? "");
    if (trimsLeft) text = text.replace(/(?<![ \t\r\n])[ \t\r\n]+$/, "");
    if (text) tokens.push({ kind: "text", text, at });
    if (open < 0) break;
    at = open + 2 + (trimsLeft ? 2 : 0);
    const comment = /^\/\*/.test(source.slice(at, at + 2));
    if (comment) {
      const close = source.indexOf("*/", at);
      if (close < 0) throw new TemplateError(`template: base:${lineOf(source, open)}: unclosed comment`);
      const rest = /^([ \t\r\n]+-)?\}\}/.exec(source.slice(close + 2));
      if (!rest)
        throw new TemplateError(`template: base:${lineOf(source, open)}: comment ends before closing delimiter`);
      trim = rest[1] !== undefined;
      at = close + 2 + rest[0].length;
      continue;
    }
    tokens.push({ kind: "left", text: "{{", at: open });
    const inside = lexAction(source, at, open, tokens);
    at = inside.at;
    trim = inside.trim;
  }
  tokens.push({ kind: "eof", text: "", at: source.length });
  return tokens;
}

function lexAction(source: string, from: number, open: number, tokens: TemplateToken[]): { at: number; trim: boolean } {
  let at = from;
  let depth = 0;
  const fail = (why: string) => new TemplateError(`template: base:${lineOf(source, at)}: ${why}`);
  const push = (kind: TemplateToken["kind"], length: number) => {
    tokens.push({ kind, text: source.slice(at, at + length), at } as TemplateToken);
    at += length;
  };
  for (;;) {
    const c = source[at];
    if (c === undefined) throw new TemplateError(`template: base:${lineOf(source, open)}: unclosed action`);
    const blanks = /^[ \t\r\n]+/.exec(source.slice(at, at + 1_000))?.[0].length ?? 0;
    if (blanks && source.startsWith("-}}", at + blanks)) {
      if (depth) throw fail("unclosed left paren");
      at += blanks;
      push("right", 3);
      return { at, trim: true };
    }
    if (source.startsWith("}}", at)) {
      if (depth) throw fail("unclosed left paren");
      push("right", 2);
      return { at, trim: false };
    }
    if (blanks) push("space", blanks);
    else if (source.startsWith(":=", at)) push(":=", 2);
    else if (c === "=" || c === "|" || c === ",") push(c, 1);
    else if (c === "(") {
      depth++;
      push("(", 1);
    } else if (c === ")") {
      if (--depth < 0) throw fail("unexpected right paren");
      push(")", 1);
    } else if (c === '"' || c === "`") push("string", stringLength(source, at, c, fail));
    else if (c === "'") push("char", stringLength(source, at, c, fail));
    else if (c === "$" || (c === "." && LETTER.test(source[at + 1] ?? "") && !/[0-9]/.test(source[at + 1]!))) {
      push(c === "$" ? "variable" : "field", 1 + wordLength(source, at + 1));
    } else if (/[0-9+-]/.test(c) || (c === "." && /[0-9]/.test(source[at + 1] ?? "")))
      push("number", numberLength(source, at, fail));
    else if (c === ".") push(".", 1);
    else if (LETTER.test(c)) {
      const length = wordLength(source, at);
      push(KEYWORDS.has(source.slice(at, at + length)) ? "keyword" : "name", length);
    } else throw fail(`unexpected ${JSON.stringify(c)} in command`);
  }
}

function wordLength(source: string, at: number): number {
  let end = at;
  while (end < source.length && LETTER.test(source[end]!)) end++;
  return end - at;
}

function numberLength(source: string, at: number, fail: (why: string) => Error): number {
  const found =
    /^[+-]?(0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+(?![0-9.eE])|0[bB][01_]+|[0-9_]*\.?[0-9_]*([eE][+-]?[0-9]+)?)/.exec(
      source.slice(at, at + 400),
    )![0];
  if (!/[0-9]/.test(found) || LETTER.test(source[at + found.length] ?? "")) {
    throw fail(`bad number syntax: ${JSON.stringify(source.slice(at, at + found.length + 1))}`);
  }
  return found.length;
}

function stringLength(source: string, at: number, quote: string, fail: (why: string) => Error): number {
  for (let i = at + 1; i < source.length; i++) {
    if (source[i] === "\\" && quote !== "`") i++;
    else if (source[i] === "\n" && quote !== "`") break;
    else if (source[i] === quote) return i + 1 - at;
  }
  const what = { "`": "raw quoted string", "'": "character constant" }[quote] ?? "quoted string";
  throw fail(`unterminated ${what}`);
}

export const lineOf = (source: string, at: number): number => source.slice(0, at).split("\n").length;

/** The text of a quoted Go string; undefined when its escapes are wrong. */
export function unquote(quoted: string): string | undefined {
  const inside = quoted.slice(1, -1);
  if (quoted[0] === "`") return inside.replaceAll("\r", "");
  if (!inside.includes("\\")) return inside;
  const bytes: Buffer[] = [];
  for (let i = 0; i < inside.length; i++) {
    if (inside[i] !== "\\") {
      const char = String.fromCodePoint(inside.codePointAt(i)!);
      bytes.push(Buffer.from(char));
      i += char.length - 1;
      continue;
    }
    const letter = inside[++i]!;
    const simple = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v", "\\": "\\", '"': '"', "'": "'" }[
      letter
    ];
    const code = /^(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3})/.exec(inside.slice(i))?.[0];
    if (simple !== undefined) bytes.push(Buffer.from(simple));
    else if (code === undefined) return undefined;
    else {
      const value = Number.parseInt(/^[xuU]/.test(code) ? code.slice(1) : code, /^[xuU]/.test(code) ? 16 : 8);
      if (value > 0x10ffff) return undefined;
      bytes.push(/^[uU]/.test(code) ? Buffer.from(String.fromCodePoint(value)) : Buffer.from([value & 255]));
      i += code.length - 1;
    }
  }
  return Buffer.concat(bytes).toString("utf8");
}
