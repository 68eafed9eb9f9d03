import type { Fault } from "../../../../openapi/contract/validators.js";

type Check = ((value: unknown) => boolean) & { errors?: Fault[] | null };
export interface Expressed<T> {
  spec: T;
  /** Fields that the specification has no place for, by their paths. */
  lost: string[];
}

// Each round removes all fields that do not fit. An object that still does not fit after so many is not shown.
const ROUNDS = 16;
const MAX_DEPTH = 64;

/** The part of a value that a schema allows, and the fields that were dropped; undefined if no valid value remains. */
export function expressible<T>(check: Check, given: object): Expressed<T> | undefined {
  if (isDeeperThan(given, MAX_DEPTH)) return undefined;
  const spec = structuredClone(given);
  const lost = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    if (check(spec)) return { spec: spec as T, lost: [...lost].sort() };
    const paths = [...new Set((check.errors ?? []).map(pathOf))].filter((path) => path.length > 0);
    if (paths.length === 0) return undefined;
    // From the back, so that the numbers of a list's earlier items stay right.
    for (const path of paths.sort(backwards)) if (remove(spec, path)) lost.add(path.join("."));
  }
  return undefined;
}

function pathOf({ instancePath, keyword, params }: Fault): string[] {
  const path = instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (keyword === "additionalProperties") return [...path, String(params.additionalProperty)];
  if (keyword === "propertyNames") return [...path, String(params.propertyName)];
  return path;
}

function backwards(a: string[], b: string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] === b[i]) continue;
    const [left, right] = [Number(a[i]), Number(b[i])];
    if (Number.isInteger(left) && Number.isInteger(right)) return right - left;
    return a[i]! < b[i]! ? 1 : -1;
  }
  return b.length - a.length;
}

function remove(value: unknown, path: string[]): boolean {
  let at = value as Record<string, unknown>;
  for (const key of path.slice(0, -1)) {
    if (at === null || typeof at !== "object" || !Object.hasOwn(at, key)) return false;
    at = at[key] as Record<string, unknown>;
  }
  const last = path.at(-1)!;
  if (at === null || typeof at !== "object" || !Object.hasOwn(at, last)) return false;
  if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
  return true;
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return depth === 0 || Object.values(value).some((item) => isDeeperThan(item, depth - 1));
}
