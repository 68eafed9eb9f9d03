import { parseGoDuration } from "../../../base/lang/duration.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { KnownField } from "../config/known-fields.ts";
import { billionths, isQuantityField } from "./quantity.ts";

type Json = Record<string, unknown>;

/**
 * A copy of an object in which known fields have the spelling of the live one where they mean the same: `1` and `1000m`, `60s` and `1m`. The
 * API server keeps the fields of users' own kinds as they were sent, while their controllers may write them anew.
 */
export function inSpellingOf<T extends KubeObject>(object: T, live: KubeObject, fields: readonly KnownField[]): T {
  return fields.reduce((next, { path, holds }) => along(next, live, path, holds) as T, object);
}

/** Follows a path through maps, and through all items of a list. */
function along(next: unknown, live: unknown, path: readonly string[], holds: KnownField["holds"]): unknown {
  if (Array.isArray(next)) return Array.isArray(live) ? next.map((item, i) => along(item, live[i], path, holds)) : next;
  const [name, ...rest] = path;
  if (name === undefined) return settled(next, live, holds);
  if (!isMap(next) || !isMap(live) || !Object.hasOwn(next, name)) return next;
  return { ...next, [name]: along(next[name], live[name], rest, holds) };
}

function settled(next: unknown, live: unknown, holds: KnownField["holds"]): unknown {
  if (holds === "quantity") return isSame(billionths, next, live) ? live : next;
  if (holds === "duration") return isSame(duration, next, live) ? live : next;
  return inside(next, live, holds === "quantities" ? "limits" : "");
}

/** The quantities anywhere in a value that a kind of Kubernetes has too. */
function inside(next: unknown, live: unknown, within: string): unknown {
  if (Array.isArray(next) && Array.isArray(live)) return next.map((item, i) => inside(item, live[i], within));
  if (!isMap(next) || !isMap(live)) return next;
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [
      name,
      isQuantityField("v1", within, name) && isSame(billionths, value, live[name])
        ? live[name]
        : inside(value, live[name], name),
    ]),
  );
}

function isSame(read: (value: unknown) => unknown, next: unknown, live: unknown): boolean {
  const meant = read(next);
  return meant !== undefined && meant === read(live);
}

const duration = (value: unknown): number | undefined =>
  typeof value === "string" ? parseGoDuration(value) : undefined;

const isMap = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
