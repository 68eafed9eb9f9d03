import { isDeepStrictEqual } from "node:util";
import { APPLIER, FIELD_MANAGER } from "../../kube/client.ts";
import type { FieldSet, KubeObject } from "../../kube/object.ts";
import { LAST_APPLIED } from "./last-applied.ts";

type Json = Record<string, unknown>;

// Who applied for the ecosystem's engine, and for ours.
const OURS = new Set([FIELD_MANAGER, APPLIER]);
// What tells two items of a list apart where no field set says it.
const KEYS = ["name", "key", "containerPort", "port", "mountPath", "ip", "topologyKey", "type"];

/**
 * What applying an object would make of the live one, without asking the API server: what is wanted is put in, what was applied before and is
 * wanted no more goes, all else stays. Who applied what, the live object says in its managed fields or in kubectl's annotation.
 */
export function predict(desired: KubeObject, live: KubeObject): KubeObject {
  const result = map(desired, live, fieldsOf(live)) as KubeObject;
  const { annotations } = result.metadata;
  if (annotations?.[LAST_APPLIED]) {
    const { [LAST_APPLIED]: _, ...rest } = annotations;
    result.metadata = { ...result.metadata, annotations: rest };
  }
  return result;
}

/** The fields of a former application of this object, as a field set. */
function fieldsOf(live: KubeObject): FieldSet {
  const { managedFields = [], annotations } = live.metadata;
  const applied = managedFields.find(({ manager, operation }) => OURS.has(manager ?? "") && operation === "Apply")?.fieldsV1;
  if (applied) return applied;
  try {
    return setOf(JSON.parse(annotations?.[LAST_APPLIED] ?? "{}"));
  } catch {
    return {};
  }
}

/** Items of a list are told apart by a key, where all of them have it. */
function setOf(value: unknown): FieldSet {
  if (Array.isArray(value)) {
    const key = KEYS.find((name) => value.length > 0 && value.every((item) => isObject(item) && item[name] !== undefined));
    if (!key) return {};
    return Object.fromEntries(value.map((item: Json) => [`k:${JSON.stringify({ [key]: item[key] })}`, setOf(item)]));
  }
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [`f:${name}`, setOf(inner)]));
}

function map(desired: Json, live: Json, owned: FieldSet): Json {
  const result: Json = {};
  for (const [name, value] of Object.entries(live)) {
    // Of a field that only its children are owned of, the field itself stays.
    const own = owned[`f:${name}`];
    if (Object.hasOwn(desired, name)) result[name] = node(desired[name], value, own ?? {});
    else if (!own) result[name] = value;
    else if (isObject(value) && Object.keys(own).length) {
      const left = map({}, value, own);
      if (Object.keys(left).length) result[name] = left;
    }
  }
  for (const [name, value] of Object.entries(desired)) if (!Object.hasOwn(live, name)) result[name] = value;
  return result;
}

function node(desired: unknown, live: unknown, owned: FieldSet): unknown {
  if (isObject(desired) && isObject(live)) return map(desired, live, owned);
  if (Array.isArray(desired) && Array.isArray(live)) return list(desired, live, owned);
  // The server writes a null as nothing, and quantities in a form of its own.
  return sameQuantity(desired, live) ? live : desired;
}

/** Items with the same key are merged, in the order that is wanted; what somebody else added stays. */
function list(desired: unknown[], live: unknown[], owned: FieldSet): unknown[] {
  const key = KEYS.find((name) => [...desired, ...live].every((item) => isObject(item) && item[name] !== undefined));
  if (!key || [desired, live].some((items) => new Set(items.map((item) => (item as Json)[key])).size !== items.length)) return desired;
  const byKey = new Map(live.map((item) => [(item as Json)[key], item as Json]));
  const sets = Object.entries(owned).filter(([field]) => field.startsWith("k:"));
  const setOfItem = (item: Json) => sets.find(([field]) => isDeepStrictEqual(pick(item, field), JSON.parse(field.slice(2))))?.[1];
  const result = desired.map((item) => {
    const there = byKey.get((item as Json)[key]);
    byKey.delete((item as Json)[key]);
    return there ? map(item as Json, there, setOfItem(there) ?? {}) : item;
  });
  // Without a field set nobody knows who added the others: then the list is what is wanted.
  return sets.length ? [...result, ...[...byKey.values()].filter((item) => !setOfItem(item))] : result;
}

const pick = (item: Json, field: string): Json =>
  Object.fromEntries(Object.keys(JSON.parse(field.slice(2)) as Json).map((name) => [name, item[name]]));

const UNITS: Record<string, number> = {
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

function sameQuantity(a: unknown, b: unknown): boolean {
  const amount = (value: unknown): number | undefined => {
    const match = /^([0-9]+(?:\.[0-9]+)?)(m|k|M|G|T|P|E|[KMGTPE]i)?$/.exec(String(value));
    return match ? Number(match[1]) * UNITS[match[2] ?? ""]! : undefined;
  };
  if (typeof b !== "string" || !["string", "number"].includes(typeof a) || a === b) return false;
  return amount(a) !== undefined && amount(a) === amount(b);
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
