import type { Attribute, Attributes } from "../schema/attribute.ts";
import { camel } from "../schema/names.ts";
import { meaning, same } from "../schema/same.ts";
import { defaultOf, typeOf } from "../schema/type.ts";
import { equal } from "../value/equal.ts";
import { fromJson, type Json, parseJson } from "../value/json.ts";
import { asDouble, type Numeric, print } from "../value/number.ts";
import { Decimal, isMap, Unknown, type Value, type ValueMap } from "../value/value.ts";

type JsonObject = { [name: string]: Json };
const jsonName = (name: string, a: Attribute): string => a.json ?? camel(name);

/** The service's JSON of some attributes. Null attributes are omitted, and so are write-only and local ones. */
export function toSpec(attributes: Attributes, value: ValueMap, secret = false): JsonObject {
  const out: JsonObject = {};
  for (const [name, a] of Object.entries(attributes)) {
    const found = value.get(name) ?? null;
    if (found === null || found instanceof Unknown || a.local || (a.writeOnly && !secret)) continue;
    out[jsonName(name, a)] = toJson(a, found, secret);
  }
  return out;
}

function toJson(a: Attribute, value: Value, secret: boolean): Json {
  if (a.rules?.json && typeof value === "string") return exact(parseJson(value));
  if (a.attributes && isMap(value)) {
    if (a.nesting === "single") return toSpec(a.attributes, value, secret);
    return Object.fromEntries([...value].map(([k, v]) => [k, toSpec(a.attributes!, v as ValueMap, secret)]));
  }
  if (a.attributes && Array.isArray(value)) return value.map((v) => toSpec(a.attributes!, v as ValueMap, secret));
  const inner = (one: Value) => (a.rules?.each?.json && typeof one === "string" ? exact(parseJson(one)) : plain(one));
  if (Array.isArray(value)) return value.map(inner);
  if (isMap(value)) return Object.fromEntries([...value].map(([k, v]) => [k, inner(v)]));
  return plain(value);
}

const plain = (value: Value): Json =>
  typeof value === "string" || typeof value === "boolean" || value === null ? value : exact(value as Numeric);

/** JSON with doubles as its only numbers. `validate` has refused the other numbers before, at their attribute. */
function exact(json: Json): Json {
  if (typeof json === "number" || typeof json === "bigint" || json instanceof Decimal) {
    const double = asDouble(json);
    if (double === undefined)
      throw new Error(`the number ${print(json).slice(0, 40)} cannot be sent exactly. Write it as a string`);
    return double;
  }
  if (Array.isArray(json)) return json.map(exact);
  // fromEntries defines members, so that one named `__proto__` stays a member.
  if (typeof json === "object" && json !== null)
    return Object.fromEntries(Object.entries(json).map(([k, v]) => [k, exact(v)]));
  return json;
}

/**
 * The values of some attributes in the service's JSON. `prior` is what state or plan say: it is kept where it means the same, so that a
 * spelling or the order of a set is no drift. An empty object or list is never the same as an absent one: the
 * service keeps both as they were written, and to several fields they mean different things.
 */
export function fromSpec(attributes: Attributes, json: unknown, prior: Value): ValueMap {
  const source = (typeof json === "object" && json !== null ? json : {}) as JsonObject;
  const out: ValueMap = new Map();
  for (const [name, a] of Object.entries(attributes)) {
    const key = jsonName(name, a);
    const before = isMap(prior) ? (prior.get(name) ?? null) : null;
    const found = Object.hasOwn(source, key) ? source[key] : undefined;
    const silent = a.writeOnly || (isRivalGiven(attributes, a, source) && (found === undefined || found === a.default));
    out.set(name, silent ? null : fromOne(a, found, before));
  }
  return out;
}

/** Whether the attribute is given beside which this one has no default. */
function isRivalGiven(attributes: Attributes, { defaultUnless: rival }: Attribute, source: JsonObject): boolean {
  if (rival === undefined) return false;
  const key = jsonName(rival, attributes[rival]!);
  return Object.hasOwn(source, key) && source[key] !== null;
}

function fromOne(a: Attribute, json: Json | undefined, prior: Value): Value {
  if (json === undefined || json === null) return defaultOf(a) ?? null;
  const before = prior instanceof Unknown ? null : prior;
  const value = read(a, json, before);
  if (before === null) return value;
  return same(a, before, value) || equal(typeOf(a), before, value) ? before : value;
}

function read(a: Attribute, json: Json, before: Value): Value {
  if (a.rules?.json) return textOf(json, before);
  if (a.rules?.each?.json && Array.isArray(json))
    return json.map((one, i) => textOf(one, Array.isArray(before) ? (before[i] ?? null) : null));
  // Free-form objects of a status are JSON text too.
  if (a.type === "string" && typeof json === "object") return meaning(json);
  if (!a.attributes) return fromJson(typeOf(a), json);
  const { attributes } = a;
  if (a.nesting === "single") return fromSpec(attributes, json, before);
  if (a.nesting === "map")
    return new Map(
      Object.entries(json as JsonObject).map(([k, v]) => [
        k,
        fromSpec(attributes, v, isMap(before) ? (before.get(k) ?? null) : null),
      ]),
    );
  return (json as Json[]).map((v, i) => fromSpec(attributes, v, Array.isArray(before) ? (before[i] ?? null) : null));
}

/** Free-form JSON as text: the one from before while it says the same. */
const textOf = (json: Json, before: Value): string =>
  typeof before === "string" && sameText(before, json) ? before : meaning(json);

function sameText(text: string, json: Json): boolean {
  try {
    return meaning(parseJson(text)) === meaning(json);
  } catch {
    return false;
  }
}
