import { compare as byValue } from "../../../base/lang/compare.ts";
import { print, sprintf } from "./format.ts";
import { type Callable, fn } from "./function.ts";
import { byBytes, isMap, isTrue, Opaque, StringMap, TemplateError, typeName, type Value } from "./value.ts";

/** The functions that Go templates have by themselves; `and` and `or` are in `exec.ts`, as they need not look at all they are given. */
export const BUILTINS: Record<string, Callable> = {
  and: fn("v*", () => undefined),
  or: fn("v*", () => undefined),
  not: fn("v", ([a]) => !isTrue(a)),
  len: fn("v", ([a]) => BigInt(lengthOf(a))),
  index: fn("vv*", ([item, ...keys]) => keys.reduce(indexOf, item)),
  print: fn("a*", (args) => print(args)),
  println: fn("a*", (args) => `${args.map((arg) => sprintf("%v", [arg])).join(" ")}\n`),
  printf: fn("sa*", ([format, ...args]) => sprintf(format, args)),
  html: fn("a*", (args) =>
    (args.length === 1 && typeof args[0] === "string" ? args[0] : print(args)).replace(/[&<>'"\0]/g, (c) => HTML[c]!),
  ),
  js: fn("a*", (args) => print(args).replace(/[\\'"<>&=\p{Cc}]/gu, escapeJs)),
  urlquery: fn("a*", (args) => queryEscape(print(args))),
  eq: fn("vv*", ([a, ...others]) => {
    if (others.length === 0) throw new TemplateError("missing argument for comparison");
    return others.map((b) => equal(a, b)).some(Boolean);
  }),
  ne: fn("vv", ([a, b]) => !equal(a, b)),
  lt: fn("vv", ([a, b]) => compare(a, b) < 0),
  le: fn("vv", ([a, b]) => compare(a, b) <= 0),
  gt: fn("vv", ([a, b]) => compare(a, b) > 0),
  ge: fn("vv", ([a, b]) => compare(a, b) >= 0),
  call: fn("vv*", ([a]) => {
    throw new TemplateError(`error calling call: non-function of type ${typeName(a)}`);
  }),
};

const HTML: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&#39;",
  '"': "&#34;",
  "\0": "\uFFFD",
};

function escapeJs(char: string): string {
  if (char === "\\") return "\\\\";
  if (char === "'") return "\\'";
  if (char === '"') return '\\"';
  return `\\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Go's url.QueryEscape: a blank is `+`. */
export const queryEscape = (text: string): string =>
  encodeURIComponent(text)
    .replace(/%20/g, "+")
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

export function lengthOf(value: Value): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  if (isMap(value)) return value.size;
  throw new TemplateError(
    value === undefined || value === null ? "len of nil pointer" : `len of type ${typeName(value)}`,
  );
}

function indexOf(item: Value, key: Value): Value {
  if (item === undefined) throw new TemplateError("index of untyped nil");
  if (item === null) throw new TemplateError("index of nil pointer");
  if (isMap(item)) {
    if (key === undefined || key === null) throw new TemplateError("value is nil; should be of type string");
    if (typeof key !== "string") throw new TemplateError(`value has type ${typeName(key)}; should be string`);
    if (item.has(key)) return item.get(key);
    return item instanceof StringMap ? "" : null;
  }
  if (!Array.isArray(item) && typeof item !== "string")
    throw new TemplateError(`can't index item of type ${typeName(item)}`);
  if (typeof key !== "bigint") throw new TemplateError(`cannot index slice/array with type ${typeName(key)}`);
  const size = lengthOf(item);
  if (key < 0n || key >= size) throw new TemplateError(`index out of range: ${key}`);
  return Array.isArray(item) ? item[Number(key)] : BigInt(Buffer.from(item)[Number(key)]!);
}

type Basic = "bool" | "string" | "int" | "float64";
function basic(value: Value): Basic | undefined {
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float64";
  return typeof value === "string" ? "string" : undefined;
}

function equal(a: Value, b: Value): boolean {
  const [x, y] = [basic(a), basic(b)];
  const nothing = (value: Value) => value === undefined || value === null;
  if (nothing(a) || nothing(b)) return nothing(a) && nothing(b);
  if (x !== y) throw new TemplateError(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`);
  if (x === undefined && !(a instanceof Opaque))
    throw new TemplateError(`non-comparable type ${JSON.stringify(typeName(a))}: ${typeName(b)}`);
  return x === undefined ? String(a) === String(b) : a === b;
}

function compare(a: Value, b: Value): number {
  const [x, y] = [basic(a), basic(b)];
  if (x === undefined || y === undefined || x === "bool")
    throw new TemplateError(`invalid type for comparison: ${typeName(x === undefined ? a : b)}`);
  if (x !== y) throw new TemplateError(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`);
  if (x === "string") return byBytes(a as string, b as string);
  return byValue(a as number, b as number);
}
