import { type Application, deployedOf, hasSeveral, META, sourcesOf } from "../application.ts";
import { isOpen } from "../config/policy.ts";
import type { Next } from "../deps.ts";
import type { Observed } from "../status/observed.ts";
import { releaseAll } from "../sync/hooks.ts";
import { type Seen, timeOf } from "./context.ts";
import { untilRefresh } from "./freshness.ts";
import type { Stepped } from "./step.ts";
import { untilWritten } from "./unknown.ts";

// A hook whose finalizer could not be removed.
const HELD_MS = 2_000;
// A watch tells when its kind can be seen again; a group whose server does not answer has none.
const UNSEEN_MS = 30_000;
// A request arrived in the meantime.
const AT_ONCE_MS = 1;

/** Writes the status, removes the finalizers of finished hooks, and returns when to look again. */
export async function tell(look: Seen, stepped: Stepped): Promise<Next | undefined> {
  const { app, deps, name, report, destination, freshness } = look;
  forgetOthers(look);
  report.set({ ...statusOf(look, stepped.seen), controllerNamespace: deps.namespace });
  // Argo CD's readers take the answer to a refresh for a sign that everything is there to be read.
  if (app.metadata.annotations?.[META.refresh] !== undefined) await deps.shown?.(name);
  const written = await report.end({ refreshed: freshness !== "cached" });
  if (written.kind !== "done") return untilWritten(deps, name, written);
  // The result of the hook is stored: now it may be deleted.
  const released = await releaseAll(
    deps.destinations.open,
    destination,
    name,
    deps.store.get(name)?.status?.operationState,
  );
  return earlier(untilNext(look, stepped, released.kind === "done"), untilRefresh(look));
}

/** When the operation, its hooks or kinds that cannot be seen need another look. */
function untilNext({ deps, name, unseen }: Seen, { state, afterMs }: Stepped, isReleased: boolean): Next | undefined {
  // An operation that was asked for during this one begins now: no further event announces it.
  const isAskedMeanwhile = state && !isOpen(state) && deps.store.get(name)?.operation;
  const held = isReleased ? afterMs : HELD_MS;
  const next = isAskedMeanwhile ? AT_ONCE_MS : held;
  if (unseen.size && !(next !== undefined && next < UNSEEN_MS)) return { afterMs: UNSEEN_MS };
  return next === undefined ? undefined : { afterMs: next };
}

const earlier = (next: Next | undefined, refresh: Next | undefined): Next | undefined =>
  next && (!refresh || next.afterMs < refresh.afterMs) ? next : refresh;

/** Claims and verdicts of objects that are no longer wanted. */
function forgetOthers({ deps, name, memory, destination, wanted }: Seen): void {
  const keys = new Set(wanted.normalised.targets.map((target) => target.key));
  for (const { id, claims } of deps.destinations.open)
    claims.release(name, (key) => id === destination.id && keys.has(key));
  memory.verdicts.keepOnly(keys);
}

function statusOf(look: Seen, seen: Observed) {
  const { app, wanted } = look;
  return {
    sync: comparedSync(app, seen.status, wanted.revisions),
    health: healthWithTime(look, seen.health),
    resources: seen.resources,
    ...(hasSeveral(app) ? { sourceTypes: wanted.sourceTypes } : { sourceType: wanted.sourceTypes[0] }),
    summary: Object.keys(seen.summary).length ? seen.summary : undefined,
  };
}

function comparedSync(app: Application, status: Observed["status"], revisions: string[]) {
  const { source, sources, ...at } = deployedOf(app, sourcesOf(app), revisions);
  const { destination, ignoreDifferences } = app.spec;
  const how = { destination, ...(ignoreDifferences?.length ? { ignoreDifferences } : {}) };
  return { status, comparedTo: sources ? { sources, ...how } : { source, ...how }, ...at };
}

function healthWithTime({ app, deps }: Seen, status: Observed["health"]) {
  const before = app.status?.health;
  const since = before?.status === status ? before.lastTransitionTime : undefined;
  return { status, lastTransitionTime: since || timeOf(deps) };
}
