import { equal } from "../value/equal.ts";
import { type Json, parseJson } from "../value/json.ts";
import { fromText, print } from "../value/number.ts";
import { Decimal, type Value } from "../value/value.ts";
import type { Attribute } from "./attribute.ts";
import { typeOf } from "./type.ts";

/** Whether two values of an attribute mean the same: JSON texts are compared by what they say. */
export function same(attribute: Attribute, a: Value, b: Value): boolean {
  if (equal(typeOf(attribute), a, b)) return true;
  const { json, each } = attribute.rules ?? {};
  if (json !== undefined) return sameTexts(a, b);
  if (each?.json === undefined || !Array.isArray(a) || !Array.isArray(b)) return false;
  return a.length === b.length && a.every((one, i) => sameTexts(one, b[i]!));
}

const sameTexts = (a: Value, b: Value): boolean =>
  typeof a === "string" && typeof b === "string" && (a === b || sameJson(a, b));

function sameJson(a: string, b: string): boolean {
  try {
    return meaning(parseJson(a)) === meaning(parseJson(b));
  } catch {
    return false;
  }
}

/** One text for each JSON value: keys sorted, numbers spelled one way. */
export function meaning(json: Json): string {
  if (json === null || typeof json === "boolean" || typeof json === "string") return JSON.stringify(json);
  if (typeof json !== "object" || json instanceof Decimal)
    return print(typeof json === "number" ? fromText(String(json)) : json);
  if (Array.isArray(json)) return `[${json.map(meaning).join()}]`;
  const entries = Object.entries(json).map(([k, v]) => `${JSON.stringify(k)}:${meaning(v)}`);
  return `{${entries.sort().join()}}`;
}
