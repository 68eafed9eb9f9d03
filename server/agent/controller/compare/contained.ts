import { isDeepStrictEqual } from "node:util";
import { readJson } from "../../../base/json/nesting.ts";
import type { FieldSet, KubeObject } from "../../../kube/object.ts";
import type { Ignoring } from "./ignore.ts";
import { hasLeftovers, LAST_APPLIED } from "./last-applied.ts";
import { isOurs } from "./migrate.ts";
import { isQuantityField, isSameQuantity } from "./quantity.ts";

type Json = Record<string, unknown>;

/**
 * Whether applying an object would change nothing of a live one that another engine applied, decided without a request: everything desired is live
 * with the desired value, and nothing that was applied before has left Git. `live` must have all of its `managedFields`: they tell which lists
 * are merged by key. False means "cannot tell", not "differs". At a take-over this saves a dry run for each object, half of its cost.
 */
export function isAppliedAlready(desired: KubeObject, live: KubeObject, ignored: Ignoring): boolean {
  const { apiVersion, kind, metadata, ...rest } = desired;
  if (apiVersion !== live.apiVersion || kind !== live.kind) return false;
  // Fields of another version may have other shapes.
  const entries = (live.metadata.managedFields ?? []).filter(
    (entry) => !entry.subresource && entry.apiVersion === apiVersion,
  );
  const shapes = entries.flatMap(({ fieldsV1 }) => fieldsV1 ?? []);
  if (shapes.length === 0) return false;
  const { name: _, namespace: __, ...meta } = metadata;
  const wanted = { metadata: meta, ...rest };
  const written: Known["written"] = (within, name, pair) =>
    isQuantityField(apiVersion, within, name) && isSameQuantity(...pair);
  if (!inMap(wanted, live as unknown as Json, { shapes, written }) || hasLeftovers(live, desired, ignored))
    return false;
  // Server-side apply removes what its manager applied once and does not name any more.
  const applied = (live.metadata.managedFields ?? []).find(isOurs)?.fieldsV1;
  return !applied || names(wanted, applied);
}

/** What the managers of a value record about it. */
interface Known {
  shapes: readonly FieldSet[];
  /** Whether the API server only normalised a value of that field. */
  written(within: string, name: string, pair: [desired: unknown, live: unknown]): boolean;
}

function inMap(desired: Json, live: Json, known: Known, within = ""): boolean {
  return Object.entries(desired).every(([name, value]) => {
    if (value === undefined) return true;
    if (!Object.hasOwn(live, name)) return false;
    return isIn(value, live[name], inner(known, `f:${name}`), name) || known.written(within, name, [value, live[name]]);
  });
}

function isIn(desired: unknown, live: unknown, known: Known, name: string): boolean {
  if (isDeepStrictEqual(desired, live)) return true;
  if (Array.isArray(desired)) return Array.isArray(live) && inList(desired, live, known);
  // A map that its owners hold as one value is replaced as a whole.
  return isMap(desired) && isMap(live) && known.shapes.some(isGranular) && inMap(desired, live, known, name);
}

/** Lists whose items have keys, in the same order. Other cases need the API server's dry run. */
function inList(desired: unknown[], live: unknown[], known: Known): boolean {
  if (desired.length !== live.length) return false;
  return desired.every((item, i) => {
    const other = live[i];
    const field =
      isMap(item) && isMap(other)
        ? known.shapes.flatMap((set) => Object.keys(set)).find((key) => isKeyOf(key, item, other))
        : undefined;
    return field !== undefined && inMap(item as Json, other as Json, inner(known, field));
  });
}

/** `k:` names an item by its keys; both must be that item. The protocol of a port is TCP by default. */
function isKeyOf(field: string, ...items: Json[]): boolean {
  if (!field.startsWith("k:")) return false;
  const keys = Object.entries(readJson(field.slice(2)) as Json);
  const keyOf = (item: Json, key: string) => item[key] ?? (key === "protocol" ? "TCP" : undefined);
  return items.every((item) => keys.every(([key, value]) => isDeepStrictEqual(keyOf(item, key), value)));
}

/** Whether everything that a manager applied is still desired; items of lists are named as in `inList`. */
function names(desired: unknown, applied: FieldSet): boolean {
  return Object.entries(applied).every(([field, below]) => {
    if (field === "." || field === `f:${LAST_APPLIED}`) return true;
    // The keys of an item are its manager's, also where the desired one leaves them to the cluster.
    if (field === "f:protocol" && isMap(desired) && desired.protocol === undefined) return true;
    const next = field.startsWith("f:") ? mapValue(desired, field.slice(2)) : itemOf(desired, field);
    return next !== undefined && (Object.keys(below).length === 0 || names(next, below));
  });
}

const mapValue = (desired: unknown, name: string): unknown => (isMap(desired) ? desired[name] : undefined);

function itemOf(desired: unknown, field: string): unknown {
  if (!Array.isArray(desired)) return undefined;
  if (field.startsWith("v:")) return desired.find((item) => isDeepStrictEqual(item, readJson(field.slice(2))));
  return desired.find((item) => isMap(item) && isKeyOf(field, item));
}

const inner = ({ shapes, written }: Known, field: string): Known => ({
  shapes: shapes.flatMap((set) => set[field] ?? []),
  written,
});
const isGranular = (set: FieldSet): boolean => Object.keys(set).some((field) => field !== ".");
const isMap = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
