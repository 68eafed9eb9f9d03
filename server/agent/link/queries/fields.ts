import { isDeepStrictEqual } from "node:util";
import type { Path } from "../../../base/json/jq.ts";
import { APPLIER, FIELD_MANAGER } from "../../../kube/client.ts";
import type { FieldSet, ManagedFields } from "../../../kube/object.ts";

/** One field that differs, and who wrote what is live. */
export interface Field {
  path: string;
  manager?: string;
}

/** More of them in one object nobody reads. */
const MOST = 200;

/** The fields in which an object would change, with the owner of each live value as `managedFields` tells it. */
export function fieldsOf(live: object, next: object, managed: readonly ManagedFields[] = []): Field[] {
  return differing(live, next).map((path) => {
    const manager = managerOf(managed, live, path);
    return { path: pointer(path), ...(manager ? { manager } : {}) };
  });
}

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
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) walk(a[key], b[key], [...path, lists ? Number(key) : key], found);
}

/** The places where a live object lacks what is desired; what only the live one has is its defaults. */
export function lacking(live: unknown, desired: unknown, path: Path = []): Path[] {
  if (isMap(desired) && isMap(live))
    return Object.entries(desired).flatMap(([key, value]) => (value === undefined ? [] : lacking(live[key], value, [...path, key])));
  if (Array.isArray(desired) && Array.isArray(live) && desired.length === live.length)
    return desired.flatMap((value, i) => lacking(live[i], value, [...path, i]));
  return isDeepStrictEqual(live, desired) ? [] : [path];
}

/** Who has the field: of several the last who wrote, and ourselves only when nobody else has it. */
export function managerOf(managed: readonly ManagedFields[], live: unknown, path: Path): string | undefined {
  const owners = managed
    .filter(({ subresource, fieldsV1 }) => !subresource && fieldsV1 && owns(fieldsV1, live, path))
    .sort((a, b) => String(b.time ?? "").localeCompare(String(a.time ?? "")));
  const other = owners.find(({ manager }) => manager !== FIELD_MANAGER && manager !== APPLIER);
  return (other ?? owners[0])?.manager;
}

function owns(fields: FieldSet, at: unknown, [step, ...rest]: Path): boolean {
  if (step === undefined) return true;
  const own = Object.keys(fields).filter((name) => name !== ".");
  // A leaf stands for all below it.
  if (own.length === 0) return true;
  const value = (at as Record<string | number, unknown> | undefined)?.[step];
  const name = own.find((field) => (Array.isArray(at) ? isItem(field, value, Number(step)) : field === `f:${step}`));
  return name !== undefined && owns(fields[name]!, value, rest);
}

/** `k:` names an item by its keys, `v:` by its value, `i:` by its place. */
function isItem(field: string, item: unknown, index: number): boolean {
  const rest = field.slice(2);
  if (field.startsWith("i:")) return Number(rest) === index;
  const wanted = JSON.parse(rest) as unknown;
  if (field.startsWith("v:")) return isDeepStrictEqual(item, wanted);
  return isMap(item) && Object.entries(wanted as object).every(([key, value]) => isDeepStrictEqual(item[key], value));
}

/** RFC 6901. */
export const pointer = (path: Path): string => path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

const isMap = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
