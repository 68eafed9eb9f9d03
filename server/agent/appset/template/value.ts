import { TemplateError } from "../../../../openapi/rules/template/template-lex.ts";
import { visit } from "./walk.ts";

export { TemplateError };

/**
 * Values of Go in this program: `bigint` is an int, `number` a float64 (all numbers of JSON are), `Map` a map, `null` is nil and `undefined`
 * what a key that is not there gives.
 */
export type Value = undefined | null | boolean | string | bigint | number | Value[] | ValueMap | Opaque;
export type ValueMap = Map<string, Value>;

/** Go's map[string]string: functions that take a map of anything refuse it, and a missing key is "". */
export class StringMap extends Map<string, Value> {}

/** A value with methods or fields of its own, as a time is. */
export abstract class Opaque {
  abstract readonly type: string;
  abstract toString(): string;
  /** A method without arguments, or a field. */
  member(_name: string): Value {
    return undefined;
  }
}

export const isMap = (value: Value): value is ValueMap => value instanceof Map;

/** JSON as Go reads it: every number is a float64. */
export function fromJson(value: unknown): Value {
  if (Array.isArray(value)) return value.map(fromJson);
  if (value instanceof Map || value instanceof Opaque) return value as Value;
  if (value !== null && typeof value === "object") {
    return new Map(Object.entries(value).map(([key, one]) => [key, fromJson(one)]));
  }
  return value as Value;
}

export const sortedKeys = (map: ValueMap): string[] => [...map.keys()].sort(byBytes);

export function byBytes(a: string, b: string): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Back to JSON, keys in Go's order. */
export function toJson(value: Value): unknown {
  visit(typeof value === "string" ? value.length : 0);
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map(toJson);
  if (isMap(value)) {
    const object = Object.create(null) as Record<string, unknown>;
    for (const key of sortedKeys(value)) object[key] = toJson(value.get(key));
    return object;
  }
  if (typeof value === "bigint") return Number(value);
  return value instanceof Opaque ? value.toString() : value;
}

export function typeName(value: Value): string {
  if (value === undefined || value === null) return "<nil>";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float64";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (Array.isArray(value)) return "[]interface {}";
  if (value instanceof StringMap) return "map[string]string";
  return isMap(value) ? "map[string]interface {}" : value.type;
}

export function kindName(value: Value): string {
  if (value === undefined || value === null) return "invalid";
  if (Array.isArray(value)) return "slice";
  if (isMap(value)) return "map";
  if (value instanceof Opaque) return value.type.startsWith("*") ? "ptr" : "struct";
  return typeName(value);
}

/** Whether a condition holds. */
export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return value.size > 0;
  return Boolean(value);
}

/** Deep copy of lists and maps. */
export function copyOf(value: Value): Value {
  visit();
  if (Array.isArray(value)) return value.map(copyOf);
  if (value instanceof StringMap) return new StringMap(value);
  return isMap(value) ? new Map([...value].map(([key, one]) => [key, copyOf(one)])) : value;
}

export function deepEqual(a: Value, b: Value): boolean {
  visit();
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, i) => deepEqual(one, b[i]));
  if (isMap(a) && isMap(b)) {
    if (a.size !== b.size || typeName(a) !== typeName(b)) return false;
    return [...a].every(([key, one]) => b.has(key) && deepEqual(one, b.get(key)));
  }
  return a === b || ((a === null || a === undefined) && (b === null || b === undefined));
}

/** A float as Go's `%v` writes it: `1e+06` from a million on. */
export function floatText(value: number, largest = 6): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const [digits, exponent] = value.toExponential().split("e") as [string, string];
  const power = Number(exponent);
  // JavaScript itself writes exponents only below 1e-6 and from 1e21 on.
  if (value === 0 || (power >= -4 && power < largest)) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
