/** Terraform's JSON values as HCL text, in the layout of `terraform fmt`. */

/** Text whose further lines already have the indentation below its first. */
export type Text = string;

export interface Entry {
  key: string;
  value: Text;
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const STEP = "  ";

/** A JSON value as an expression. */
export function expression(value: unknown, indent = ""): Text {
  if (value === null) return "null";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return template(value, indent);
  if (Array.isArray(value))
    return list(
      value.map((item) => expression(item, value.length > 1 ? indent + STEP : indent)),
      indent,
    );
  const inner = indent + STEP;
  return object(
    Object.entries(value as object).map(([key, item]) => ({
      key: IDENTIFIER.test(key) ? key : template(key, ""),
      value: expression(item, inner),
    })),
    indent,
  );
}

/** Lines `key = value`, the signs aligned over neighbours of one line each, as fmt does it. */
export function entries(all: Entry[], indent: string): Text {
  const single = (entry?: Entry) => entry !== undefined && !entry.value.includes("\n");
  let width = 0;
  return all
    .map((entry, i) => {
      if (!single(entry)) return `${indent}${entry.key} = ${entry.value}\n`;
      if (!single(all[i - 1])) {
        width = 0;
        for (let j = i; single(all[j]); j++) width = Math.max(width, all[j]!.key.length);
      }
      return `${indent}${entry.key.padEnd(width)} = ${entry.value}\n`;
    })
    .join("");
}

function object(all: Entry[], indent: string): Text {
  return all.length === 0 ? "{}" : `{\n${entries(all, indent + STEP)}${indent}}`;
}

function list(items: Text[], indent: string): Text {
  if (items.length < 2 || !items.some((item) => item.includes("\n"))) return `[${items.join(", ")}]`;
  return `[\n${items.map((item) => `${indent}${STEP}${item},\n`).join("")}${indent}]`;
}

/** A JSON string is a template: `${…}` alone is the expression itself, the rest is quoted. */
function template(text: string, indent: string): Text {
  const parts = split(text);
  if (parts.length === 1 && parts[0]!.code) return pretty(parts[0]!.text, indent);
  return `"${parts.map((part) => (part.code ? `\${${part.text}}` : quoted(part.text))).join("")}"`;
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Literal text and the code between `${` and its `}`. */
function split(text: string): { code: boolean; text: string }[] {
  const parts: { code: boolean; text: string }[] = [];
  let literal = "";
  for (let i = 0; i < text.length; ) {
    if (text.startsWith("$${", i)) {
      literal += "$${";
      i += 3;
    } else if (text.startsWith("${", i)) {
      if (literal) parts.push({ code: false, text: literal });
      literal = "";
      const end = closing(text, i + 1);
      parts.push({ code: true, text: text.slice(i + 2, end) });
      i = end + 1;
    } else literal += text[i++];
  }
  if (literal || parts.length === 0) parts.push({ code: false, text: literal });
  return parts;
}

/** Where the bracket that opens at `from` closes. Brackets in quotes do not count. */
function closing(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') i = endOfString(text, i);
    else if ("([{".includes(c)) depth++;
    else if (")]}".includes(c) && --depth === 0) return i;
  }
  throw new Error(`unbalanced expression: ${text}`);
}

function endOfString(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text.startsWith("${", i) && text[i - 1] !== "$") i = closing(text, i + 1);
    else if (text[i] === '"') return i;
  }
  throw new Error(`unbalanced quotes: ${text}`);
}

/** Breaks the objects of an expression over lines; all else stays as it is. */
export function pretty(code: string, indent: string): Text {
  let out = "";
  for (let i = 0; i < code.length; ) {
    const c = code[i]!;
    if (c === '"') {
      const end = endOfString(code, i);
      out += code.slice(i, end + 1);
      i = end + 1;
    } else if (c === "{") {
      const end = closing(code, i);
      out += object(objectEntries(code.slice(i + 1, end), indent + STEP), indent);
      i = end + 1;
    } else {
      out += c;
      i++;
    }
  }
  return out;
}

function objectEntries(body: string, indent: string): Entry[] {
  return cut(body, ",").map((entry) => {
    const [key, ...rest] = cut(entry, "=");
    const name = key!.replace(/^"([^"$\\]*)"$/, (whole, inner: string) => (IDENTIFIER.test(inner) ? inner : whole));
    return { key: name, value: pretty(rest.join("=").trim(), indent) };
  });
}

/** Splits at a separator outside of brackets and quotes. `==`, `!=`, `<=`, `>=` and `=>` are no separators. */
function cut(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') i = endOfString(text, i);
    else if ("([{".includes(c)) i = closing(text, i);
    else if (c === separator && !(c === "=" && (/[=!<>]/.test(text[i - 1] ?? "") || /[=>]/.test(text[i + 1] ?? "")))) {
      parts.push(text.slice(from, i).trim());
      from = i + 1;
    }
  }
  const last = text.slice(from).trim();
  return last ? [...parts, last] : parts;
}
