import { floatText, isMap, kindName, sortedKeys, TemplateError, typeName, type Value } from "./value.ts";
import { visit } from "./walk.ts";

/** `%v` of Go. */
export function text(value: Value): string {
  visit(typeof value === "string" ? value.length : 0);
  if (value === undefined || value === null) return "<nil>";
  if (typeof value === "number") return floatText(value);
  if (Array.isArray(value)) return `[${value.map(text).join(" ")}]`;
  if (isMap(value))
    return `map[${sortedKeys(value)
      .map((key) => `${key}:${text(value.get(key))}`)
      .join(" ")}]`;
  return String(value);
}

/** What an action writes. */
export const printed = (value: Value): string => (value === undefined || value === null ? "<no value>" : text(value));

/** `fmt.Sprint`: blanks between two that are no texts. */
export function print(args: Value[]): string {
  let out = "";
  args.forEach((arg, i) => {
    if (i > 0 && typeof arg !== "string" && typeof args[i - 1] !== "string") out += " ";
    out += text(arg);
  });
  return out;
}

/** `%q`: a Go string with its quotes. */
export function quote(value: string): string {
  let out = '"';
  for (const char of value) {
    const code = char.codePointAt(0)!;
    const known = {
      "\n": "\\n",
      "\t": "\\t",
      "\r": "\\r",
      "\x07": "\\a",
      "\b": "\\b",
      "\f": "\\f",
      "\v": "\\v",
      '"': '\\"',
      "\\": "\\\\",
    }[char];
    if (known) out += known;
    else if (code < 32 || code === 127) out += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(char) || (/\p{Zs}/u.test(char) && char !== " "))
      out += `\\u${code.toString(16).padStart(4, "0")}`;
    else out += char;
  }
  return `${out}"`;
}

const MAX_WIDTH = 10_000;
const VERB = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(?:\[(\d{1,6})\])?(.)?/gsu;

/** `fmt.Sprintf`. */
export function sprintf(format: string, args: Value[]): string {
  let used = 0;
  let reordered = false;
  const take = (given: string | undefined): number | undefined => {
    if (given === undefined) return undefined;
    const value = given === "*" ? args[used++] : Number(given);
    const size = typeof value === "bigint" ? Number(value) : value;
    if (typeof size !== "number") return undefined;
    if (Math.abs(size) > MAX_WIDTH) throw new TemplateError(`a width of more than ${MAX_WIDTH}`);
    return size;
  };
  const out = format.replace(
    VERB,
    (match, flags: string, width?: string, precision?: string, index?: string, verb?: string) => {
      if (verb === undefined) return "%!(NOVERB)";
      if (verb === "%") return "%";
      let wide = take(width);
      const exact = match.includes(".") && precision === undefined ? 0 : take(precision);
      let left = flags.includes("-");
      if (wide !== undefined && wide < 0) {
        left = true;
        wide = -wide;
      }
      if (index !== undefined) {
        reordered = true;
        if (Number(index) < 1 || Number(index) > args.length) return `%!${verb}(BADINDEX)`;
        used = Number(index) - 1;
      }
      if (used >= args.length) return `%!${verb}(MISSING)`;
      const value = args[used++];
      const shaped = shape(verb, value, flags, exact);
      const zero = flags.includes("0") && !left && (typeof value === "bigint" || typeof value === "number");
      const missing = (wide ?? 0) - [...shaped].length;
      if (missing <= 0) return shaped;
      if (left) return shaped + " ".repeat(missing);
      return zero ? shaped.replace(/^([+-]?)/, `$1${"0".repeat(missing)}`) : " ".repeat(missing) + shaped;
    },
  );
  if (reordered || used >= args.length) return out;
  const extra = args
    .slice(used)
    .map((arg) => (arg === null || arg === undefined ? "<nil>" : `${typeName(arg)}=${text(arg)}`));
  return `${out}%!(EXTRA ${extra.join(", ")})`;
}

function shape(verb: string, value: Value, flags: string, precision: number | undefined): string {
  const bad = () =>
    value === null || value === undefined ? `%!${verb}(<nil>)` : `%!${verb}(${typeName(value)}=${text(value)})`;
  const sign = ["+", " "].find((flag) => flags.includes(flag)) ?? "";
  const signed = (shown: string) => (shown.startsWith("-") ? shown : `${sign}${shown}`);
  visit();
  if (verb === "T") return typeName(value);
  if (Array.isArray(value) && !"p".includes(verb))
    return `[${value.map((one) => shape(verb, one, flags, precision)).join(" ")}]`;
  if (isMap(value)) {
    const inner = sortedKeys(value).map(
      (key) => `${shape(verb, key, flags, precision)}:${shape(verb, value.get(key), flags, precision)}`,
    );
    return `map[${inner.join(" ")}]`;
  }
  if (value === null || value === undefined) return verb === "v" ? "<nil>" : bad();
  if (verb === "v" && flags.includes("#")) return typeof value === "string" ? quote(value) : text(value);
  if (typeof value === "string" || kindName(value) === "struct" || kindName(value) === "ptr") {
    const given = precision === undefined ? String(value) : [...String(value)].slice(0, precision).join("");
    if (verb === "s" || verb === "v") return given;
    if (verb === "q") return flags.includes("#") && !given.includes("`") ? `\`${given}\`` : quote(given);
    if (verb === "x" || verb === "X") {
      const hex = Buffer.from(given).toString("hex");
      return verb === "X" ? hex.toUpperCase() : hex;
    }
    return bad();
  }
  if (typeof value === "boolean") return verb === "t" || verb === "v" ? String(value) : bad();
  if (typeof value === "bigint") return integer(verb, value, flags, signed) ?? bad();
  return float(verb, value as number, precision, signed) ?? bad();
}

function integer(verb: string, value: bigint, flags: string, signed: (shown: string) => string): string | undefined {
  const base = { d: 10, v: 10, b: 2, o: 8, x: 16, X: 16 }[verb];
  if (base) {
    const digits = (value < 0n ? -value : value).toString(base);
    const prefix = flags.includes("#") ? ({ x: "0x", X: "0X", o: "0", b: "0b" }[verb] ?? "") : "";
    return signed((value < 0n ? "-" : "") + prefix + (verb === "X" ? digits.toUpperCase() : digits));
  }
  if (verb === "c") return String.fromCodePoint(Number(value));
  if (verb === "q") return `'${String.fromCodePoint(Number(value))}'`;
  return verb === "U" ? `U+${value.toString(16).toUpperCase().padStart(4, "0")}` : undefined;
}

function float(
  verb: string,
  value: number,
  precision: number | undefined,
  signed: (shown: string) => string,
): string | undefined {
  const exponent = (shown: string) => shown.replace(/e([+-])(\d)$/, "e$10$2");
  if (verb === "v" || verb === "g" || verb === "G") {
    if (precision === undefined) return signed(floatText(value));
    const fixed = Number(value.toPrecision(Math.min(100, Math.max(1, precision))));
    return signed(floatText(fixed, Math.max(1, precision)));
  }
  if (verb === "f" || verb === "F")
    return signed(Math.abs(value) < 1e21 ? value.toFixed(Math.min(100, precision ?? 6)) : BigInt(value).toString());
  if (verb === "e" || verb === "E") {
    const shown = exponent(value.toExponential(Math.min(100, precision ?? 6)));
    return signed(verb === "E" ? shown.toUpperCase() : shown);
  }
  return undefined;
}
