import { text } from "../format.ts";
import { isMap, isTrue, Opaque, TemplateError, type Value } from "../value.ts";

/** Anything as text, as the functions of templates take it. */
export const asText = (value: Value): string => (typeof value === "string" ? value : text(value));

/** A list of texts: nil entries are left out, one value is a list of one. */
export function asTexts(value: Value): string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.filter((one) => one !== null && one !== undefined).map(asText);
  return [asText(value)];
}

export function isEmpty(value: Value): boolean {
  if (value instanceof Opaque) return false;
  return value === undefined || value === null || !isTrue(value);
}

const wrap = (value: bigint): bigint => BigInt.asIntN(64, value);

/** Anything as an int64; 0 for anything but a number. */
export function asInt(value: Value): bigint {
  if (typeof value === "bigint") return wrap(value);
  if (typeof value === "number") return Number.isFinite(value) ? wrap(BigInt(Math.trunc(value))) : 0n;
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value !== "string") return 0n;
  const found = /^([+-]?)(0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|\d+)$/.exec(value);
  if (!found) {
    // "10.0" is a number without a rest.
    const whole = /^([+-]?\d+)\.0*$/.exec(value);
    return whole ? wrap(BigInt(whole[1]!.replace("+", ""))) : 0n;
  }
  const digits = /^0[0-7]+$/.test(found[2]!) ? `0o${found[2]!.slice(1)}` : found[2]!.toLowerCase();
  const size = BigInt(digits);
  if (size > 0x7fffffffffffffffn) return 0n;
  return found[1] === "-" ? -size : size;
}

export function asFloat(value: Value): number {
  if (typeof value === "string")
    return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value.trim()) ? Number(value) : 0;
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "bigint" || typeof value === "number" ? Number(value) : 0;
}

export function asList(value: Value, name: string): Value[] {
  if (Array.isArray(value)) return value;
  const kind = isMap(value) ? "map" : typeof value;
  throw new TemplateError(`Cannot ${name} on type ${value === null || value === undefined ? "invalid" : kind}`);
}
