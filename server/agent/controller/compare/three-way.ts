import { isDeepStrictEqual } from "node:util";
import { readJson } from "../../../base/json/nesting.ts";
import { APPLIER, FIELD_MANAGER } from "../../../kube/client.ts";
import type { FieldSet, KubeObject } from "../../../kube/object.ts";
import { LAST_APPLIED } from "./last-applied.ts";
import { withTexts } from "./plain-texts.ts";
import { isQuantityField, isSameQuantity } from "./quantity.ts";

type Json = Record<string, unknown>;

// The field managers of Argo CD's engine and of ours.
const OURS = new Set([FIELD_MANAGER, APPLIER]);
// The keys that tell list items apart if no field set names them.
const KEYS = ["name", "key", "containerPort", "port", "mountPath", "ip", "topologyKey", "type"];

/**
 * The result of an apply, without the API server: fields of Git are put in, fields that were applied before and have
 * left Git are removed, all others stay. The live object's managed fields or kubectl's annotation say what was applied before.
 */
export function predict(desired: KubeObject, live: KubeObject): KubeObject {
  const result = map(desired, live, {
    owned: fieldsOf(live),
    apiVersion: desired.apiVersion,
    within: "",
  }) as KubeObject;
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
  const applied = managedFields.find(
    ({ manager, operation }) => OURS.has(manager ?? "") && operation === "Apply",
  )?.fieldsV1;
  if (applied) return live.kind === "Secret" ? withTexts(applied) : applied;
  try {
    return setOf(readJson(annotations?.[LAST_APPLIED] ?? "{}"));
  } catch {
    return {};
  }
}

/** The key of a list's items, if all of them have it. */
function setOf(value: unknown): FieldSet {
  if (Array.isArray(value)) {
    const key = KEYS.find(
      (name) => value.length > 0 && value.every((item) => isObject(item) && item[name] !== undefined),
    );
    if (!key) return {};
    return Object.fromEntries(value.map((item: Json) => [`k:${JSON.stringify({ [key]: item[key] })}`, setOf(item)]));
  }
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [`f:${name}`, setOf(inner)]));
}

/** What is known of a value: which of its fields were applied before, and where it stands. */
interface Place {
  owned: FieldSet;
  apiVersion: string;
  /** The field that it is the value of, or an item of. */
  within: string;
}

function map(desired: Json, live: Json, place: Place): Json {
  const result: Json = {};
  const at = (name: string): Place => ({ ...place, owned: place.owned[`f:${name}`] ?? {}, within: name });
  for (const [name, value] of Object.entries(live)) {
    // If only the children of a field are owned, the field itself stays.
    const own = place.owned[`f:${name}`];
    if (Object.hasOwn(desired, name)) {
      // A null means that the field must be absent.
      if (desired[name] === null && value !== null) continue;
      // The server writes quantities in a form of its own.
      const written = isQuantityField(place.apiVersion, place.within, name) && isSameQuantity(desired[name], value);
      result[name] = written ? value : node(desired[name], value, at(name));
    } else if (!own) result[name] = value;
    else if (isObject(value) && Object.keys(own).length) {
      const left = map({}, value, at(name));
      if (Object.keys(left).length) result[name] = left;
    }
  }
  for (const [name, value] of Object.entries(desired))
    if (!Object.hasOwn(live, name) && value !== null) result[name] = value;
  return result;
}

function node(desired: unknown, live: unknown, place: Place): unknown {
  if (isObject(desired) && isObject(live)) return map(desired, live, place);
  if (Array.isArray(desired) && Array.isArray(live)) return list(desired, live, place);
  return desired;
}

/** Items with the same key are merged, in Git's order; items that another client added stay. */
function list(desired: unknown[], live: unknown[], place: Place): unknown[] {
  const key = KEYS.find((name) => [...desired, ...live].every((item) => isObject(item) && item[name] !== undefined));
  if (!key || [desired, live].some((items) => new Set(items.map((item) => (item as Json)[key])).size !== items.length))
    return desired;
  const byKey = new Map(live.map((item) => [(item as Json)[key], item as Json]));
  const sets = Object.entries(place.owned).filter(([field]) => field.startsWith("k:"));
  const setOfItem = (item: Json) =>
    sets.find(([field]) => isDeepStrictEqual(pick(item, field), readJson(field.slice(2))))?.[1];
  const result = desired.map((item) => {
    const there = byKey.get((item as Json)[key]);
    byKey.delete((item as Json)[key]);
    return there ? map(item as Json, there, { ...place, owned: setOfItem(there) ?? {} }) : item;
  });
  // Without a field set the owners of other items are unknown: then the list is exactly Git's.
  return sets.length ? [...result, ...[...byKey.values()].filter((item) => !setOfItem(item))] : result;
}

const pick = (item: Json, field: string): Json =>
  Object.fromEntries(Object.keys(readJson(field.slice(2)) as Json).map((name) => [name, item[name]]));

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
