import { print, sameNumber } from "./number.ts";
import { printType, sameType, type Type } from "./type.ts";
import { Decimal, Dynamic, Unknown, type Value } from "./value.ts";

const isNumeric = (v: Value): v is number | bigint | Decimal =>
  typeof v === "number" || typeof v === "bigint" || v instanceof Decimal;

/** Whether two values of one type are the same. An unknown equals only an unknown; sets have no order and no duplicates. */
export function equal(type: Type, a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  if (a instanceof Unknown || b instanceof Unknown) return a instanceof Unknown && b instanceof Unknown;
  switch (type.kind) {
    case "number":
      return isNumeric(a) && isNumeric(b) && sameNumber(a, b);
    case "dynamic":
      return (
        a instanceof Dynamic && b instanceof Dynamic && sameType(a.type, b.type) && equal(a.type, a.value, b.value)
      );
    case "list":
      return (
        Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((v, i) => equal(type.of, v, b[i]!))
      );
    case "tuple":
      return (
        Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((v, i) => equal(type.of[i]!, v, b[i]!))
      );
    case "set":
      return Array.isArray(a) && Array.isArray(b) && sameKeys(keys(type.of, a), keys(type.of, b));
    case "map":
      return (
        a instanceof Map &&
        b instanceof Map &&
        a.size === b.size &&
        [...a].every(([k, v]) => b.has(k) && equal(type.of, v, b.get(k)!))
      );
    case "object":
      return (
        a instanceof Map &&
        b instanceof Map &&
        [...type.fields].every(([k, t]) => equal(t, a.get(k) ?? null, b.get(k) ?? null))
      );
    default:
      return false;
  }
}

const keys = (type: Type, values: Value[]): Set<string> => new Set(values.map((v) => canonical(type, v)));
const sameKeys = (a: Set<string>, b: Set<string>): boolean => a.size === b.size && [...a].every((k) => b.has(k));

/** One text for each distinct value of a type: the identity of a set's element. */
export function canonical(type: Type, value: Value): string {
  if (value === null) return "~";
  if (value instanceof Unknown) return "?";
  switch (type.kind) {
    case "string":
      return JSON.stringify(value);
    case "number":
      return print(value as number);
    case "bool":
      return String(value);
    case "dynamic":
      return value instanceof Dynamic
        ? `${JSON.stringify(printType(value.type))}:${canonical(value.type, value.value)}`
        : "~";
    case "list":
      return `[${(value as Value[]).map((v) => canonical(type.of, v)).join()}]`;
    case "tuple":
      return `[${(value as Value[]).map((v, i) => canonical(type.of[i]!, v)).join()}]`;
    case "set":
      return `[${[...keys(type.of, value as Value[])].sort().join()}]`;
    case "map":
      return `{${[...(value as Map<string, Value>)]
        .map(([k, v]) => `${JSON.stringify(k)}:${canonical(type.of, v)}`)
        .sort()
        .join()}}`;
    case "object":
      return `{${[...type.fields]
        .map(([k, t]) => `${JSON.stringify(k)}:${canonical(t, (value as Map<string, Value>).get(k) ?? null)}`)
        .sort()
        .join()}}`;
  }
}

/** Whether no part of a value is unknown. */
export function whollyKnown(value: Value): boolean {
  if (value instanceof Unknown) return false;
  if (value instanceof Dynamic) return whollyKnown(value.value);
  if (Array.isArray(value)) return value.every(whollyKnown);
  if (value instanceof Map) return [...value.values()].every(whollyKnown);
  return true;
}
