import { isDeepStrictEqual } from "node:util";
import type { Path } from "../../../base/jq/jq.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { APPLIER, FIELD_MANAGER } from "../../../kube/client.ts";
import type { FieldSet, ManagedFields } from "../../../kube/object.ts";

/** One field that differs, and who wrote the live value. */
export interface Field {
  path: string;
  manager?: string;
  /** By which part of the API it was written: `scale` for `kubectl scale` and autoscalers. */
  subresource?: string;
}

/** The most that are shown of one object. */
const MOST = 200;

/** The fields in which an object would change, with the owner of each live value as `managedFields` tells it. */
export function fieldsOf(live: object, next: object, managed: readonly ManagedFields[] = []): Field[] {
  return differing(live, next).map((path) => fieldAt(managed, live, path));
}

/** One field, with the owner of its live value. */
export function fieldAt(managed: readonly ManagedFields[], live: unknown, path: Path): Field {
  const { manager, subresource } = ownerOf(managed, live, path) ?? {};
  return { path: pointer(path), ...(manager ? { manager } : {}), ...(subresource ? { subresource } : {}) };
}

/**
 * `live` with the values that `next` has at these places, and else as it is. Shown beside `live` it differs in these places alone: the
 * order of keys and what the server fills in are the same on both sides.
 */
export function overlay<T>(live: T, next: unknown, paths: readonly Path[]): T {
  const result = structuredClone(live);
  for (const path of paths) {
    if (path.length === 0) return next as T;
    const wanted = path.reduce(at, next);
    const parent = path.slice(0, -1).reduce(at, result as unknown) as Record<string | number, unknown>;
    if (wanted === undefined) delete parent[path.at(-1)!];
    else parent[path.at(-1)!] = wanted;
  }
  return result;
}

const at = (value: unknown, step: string | number) => (value as Record<string | number, unknown> | undefined)?.[step];

/** The deepest places at which two values differ; lists of different length differ as a whole. */
export function differing(live: unknown, next: unknown): Path[] {
  const found: Path[] = [];
  walk(live, next, [], found);
  return found;
}

function walk(live: unknown, next: unknown, path: Path, found: Path[]): void {
  if (found.length >= MOST || isDeepStrictEqual(live, next)) return;
  const lists = Array.isArray(live) && Array.isArray(next) && live.length === next.length;
  if (!lists && !(isMap(live) && isMap(next))) {
    found.push(path);
    return;
  }
  const [a, b] = [live as Record<string, unknown>, next as Record<string, unknown>];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
    walk(a[key], b[key], [...path, lists ? Number(key) : key], found);
}

/** The paths where a live object lacks Git's value; fields that only the live one has are defaults. */
export function lacking(live: unknown, desired: unknown, path: Path = []): Path[] {
  if (isMap(desired) && isMap(live))
    return Object.entries(desired).flatMap(([key, value]) =>
      value === undefined ? [] : lacking(live[key], value, [...path, key]),
    );
  if (Array.isArray(desired) && Array.isArray(live) && desired.length === live.length)
    return desired.flatMap((value, i) => lacking(live[i], value, [...path, i]));
  return isDeepStrictEqual(live, desired) ? [] : [path];
}

/** The entry that owns the field: of several the newest, and our own only when there is no other. */
export function ownerOf(managed: readonly ManagedFields[], live: unknown, path: Path): ManagedFields | undefined {
  const owners = managed
    .filter(({ subresource, fieldsV1 }) => subresource !== "status" && fieldsV1 && owns(fieldsV1, live, path))
    .sort((a, b) => String(b.time ?? "").localeCompare(String(a.time ?? "")));
  return owners.find(({ manager }) => manager !== FIELD_MANAGER && manager !== APPLIER) ?? owners[0];
}

function owns(fields: FieldSet, at: unknown, [step, ...rest]: Path): boolean {
  if (step === undefined) return true;
  const own = Object.keys(fields).filter((name) => name !== ".");
  // A leaf covers all below it.
  if (own.length === 0) return true;
  const value = (at as Record<string | number, unknown> | undefined)?.[step];
  const name = own.find((field) => (Array.isArray(at) ? isItem(field, value, Number(step)) : field === `f:${step}`));
  return name !== undefined && owns(fields[name]!, value, rest);
}

/** `k:` names an item by its keys, `v:` by its value, `i:` by its place. */
function isItem(field: string, item: unknown, index: number): boolean {
  const rest = field.slice(2);
  if (field.startsWith("i:")) return Number(rest) === index;
  const wanted = readJson(rest) as unknown;
  if (field.startsWith("v:")) return isDeepStrictEqual(item, wanted);
  return isMap(item) && Object.entries(wanted as object).every(([key, value]) => isDeepStrictEqual(item[key], value));
}

/** RFC 6901. */
export const pointer = (path: Path): string =>
  path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
