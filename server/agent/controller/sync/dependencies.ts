import { tenantOf } from "../../project/tenant.ts";
import { type Application, META } from "../application.ts";
import { csv } from "../order.ts";

const WELL = "Synced, Healthy";

export const dependenciesOf = (app: Application): string[] => csv(app.metadata.annotations?.[META.dependsOn]);

/** The state of an application that its dependents wait for. */
export const standing = ({ metadata, status }: Application): string =>
  metadata.deletionTimestamp
    ? "Deleting"
    : `${status?.sync?.status ?? "Unknown"}, ${status?.health?.status ?? "Unknown"}`;

/**
 * The names under which others of its namespace may depend on an application: its own, and within its scope of the service the id there. What
 * belongs to another tenant, or to a scope above, is to a tenant as if it were not there: waiting for it would tell how it is.
 */
export const isNamed = (name: string, { metadata }: Application, by: Application): boolean =>
  metadata.namespace === by.metadata.namespace &&
  (tenantOf(by) === undefined || tenantOf({ metadata }) === tenantOf(by)) &&
  (metadata.name === name ||
    (metadata.annotations?.[META.id] === name &&
      scopeOf(metadata) !== "" &&
      scopeOf(metadata) === scopeOf(by.metadata)));

const scopeOf = ({ annotations }: Application["metadata"]): string => annotations?.[META.scope] ?? "";

/** What an application's automatic sync waits for; undefined when all that it depends on is Synced and Healthy. */
export function waitsFor(
  app: Application,
  all: readonly Application[],
): { reason: "DependencyCycle" | "DependencyWaiting"; message: string } | undefined {
  const cycle = cycleFrom(app, all);
  if (cycle)
    return { reason: "DependencyCycle", message: `the applications depend on each other: ${cycle.join(" → ")}` };
  const open = dependenciesOf(app).flatMap((name) => {
    const found = all.find((one) => isNamed(name, one, app));
    const now = found ? standing(found) : "does not exist";
    return now === WELL ? [] : [`${name} (${now})`];
  });
  return open.length
    ? {
        reason: "DependencyWaiting",
        message: `waiting until these applications are Synced and Healthy: ${open.join(", ")}`,
      }
    : undefined;
}

/** A dependency cycle from an application back to itself; each application is visited once. */
function cycleFrom(app: Application, all: readonly Application[]): string[] | undefined {
  const needs = (one: Application) =>
    dependenciesOf(one).flatMap((name) => all.find((other) => isNamed(name, other, one)) ?? []);
  const seen = new Set<Application>();
  const ways: Application[][] = needs(app).map((next) => [app, next]);
  for (let way = ways.pop(); way; way = ways.pop()) {
    const last = way.at(-1)!;
    if (last.metadata.name === app.metadata.name) return way.map(({ metadata }) => metadata.name);
    if (seen.has(last)) continue;
    seen.add(last);
    for (const next of needs(last)) ways.push([...way, next]);
  }
  return undefined;
}
