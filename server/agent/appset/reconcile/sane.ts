import { digest } from "../../../base/json/canonical.ts";
import type { ApplicationSet, SetStatus } from "../types.ts";

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const LISTS = ["conditions", "resources", "applicationStatus"] as const;

/** A set whose status has the shape that this program writes. Every writer of sets may write another one there; fields that do not fit are dropped. */
export function sane(set: ApplicationSet): ApplicationSet {
  if (set.status === undefined) return set;
  const status = { ...(isObject(set.status) ? set.status : {}) } as SetStatus & Record<string, unknown>;
  for (const key of LISTS) {
    const list: unknown = status[key];
    if (Array.isArray(list) && list.every(isObject)) continue;
    delete status[key];
  }
  if (!isObject(status.health)) delete status.health;
  return { ...set, status };
}

/** What marks a state; where it nests deeper than it can be followed, its generation and the rest of it do. */
export function markOf(state: { spec: unknown; generation?: number | undefined } & Record<string, unknown>): string {
  try {
    return digest(state);
  } catch {
    const { spec: _, ...rest } = state;
    return digest(rest);
  }
}
