import { digest } from "../../../base/json/canonical.ts";
import type { Freshness } from "../../repo/types.ts";
import { type Application, META, sourcesOf } from "../application.ts";
import { demandsOf } from "../config/integrity.ts";
import { hardWaitMs, waitMs } from "../config/intervals.ts";
import { isOpen } from "../config/policy.ts";
import type { Deps, Next } from "../deps.ts";
import type { Memory } from "../memory.ts";
import { givesWayToRequest, nextAttempt } from "../sync/operation.ts";
import type { Look } from "./context.ts";

// The repositories are asked by the controller, once for all applications. One that was left out for longer than that, or than five thirds of
// the time between two looks, asks by itself.
const FORGOTTEN_MS = 300_000;
const RETRY_MS = [1_000, 2_000, 5_000, 10_000, 30_000, 60_000];
// The longest time of a timer; a later time is checked again then.
const LONGEST_MS = 2_000_000_000;

/** From where this look takes what Git says: memory, a question to Git, or everything rendered again. */
export function freshnessOf(look: Look): Freshness {
  const { deps, app, memory } = look;
  const refresh = app.metadata.annotations?.[META.refresh];
  if (refresh === "hard") return "hard";
  if (refresh === undefined && hardDue(look) <= deps.now()) return "hard";
  if (refresh !== undefined || isAsked(app) || isRetriedFromGit(look)) return "normal";
  const asked = sourceDigest(deps, app);
  if (!memory.wanted || memory.wanted.sourceDigest !== asked || (memory.failure && !stands(look, asked)))
    return "normal";
  const { everyMs, jitterMs } = deps.settings.intervals;
  const forgotten = everyMs > 0 && deps.now() - memory.askedAt > Math.max(FORGOTTEN_MS, ((everyMs + jitterMs) * 5) / 3);
  return forgotten ? "normal" : "cached";
}

/** Whether the last refusal still holds, so that events of the cluster do not become questions to Git. */
export function stands(look: Look, asked: string): boolean {
  const { deps, app, memory } = look;
  const { failure, askedAt } = memory;
  if (
    !failure ||
    failure.sourceDigest !== asked ||
    app.metadata.annotations?.[META.refresh] !== undefined ||
    isAsked(app)
  )
    return false;
  return deps.now() - askedAt < retryMs(look, failure) - 50;
}

/** When an application looks again by itself: after a failure, where the cluster is asked for orphans, and to render everything again. */
export function untilRefresh(look: Look): Next | undefined {
  const { deps, app, memory } = look;
  const everyMs = waitMs(app.metadata.name, deps.settings.intervals) ?? Number.POSITIVE_INFINITY;
  const times = [hardDue(look)];
  if (memory.failure) times.push(memory.askedAt + retryMs(look, memory.failure));
  else if (memory.orphans) times.push(memory.orphansAt + everyMs);
  if (memory.leftOut) times.push(deps.now() + everyMs);
  const at = Math.min(...times);
  return Number.isFinite(at) ? { afterMs: Math.min(LONGEST_MS, Math.max(100, at - deps.now())) } : undefined;
}

/** By rendered object and destination. Looked up many times for one object, which never changes. */
export function sourceDigest(deps: Deps, app: Application): string {
  let known = digests.get(app.spec);
  if (known === undefined) {
    known = digest([sourcesOf(app), app.spec.destination]);
    digests.set(app.spec, known);
  }
  // With another policy or other keys, the fetched commit is verified again.
  const demands = demandsOf(deps, app);
  const account = app.metadata.annotations?.[META.helmLookup];
  return demands === undefined && account === undefined ? known : digest([known, demands ?? null, account ?? null]);
}

const digests = new WeakMap<object, string>();

/** A request for a sync means what Git has now. */
const isAsked = (app: Application): boolean =>
  app.operation !== undefined && (!isOpen(app.status?.operationState) || givesWayToRequest(app));

/** Whether an attempt of an operation is due that begins with a new question to Git. */
function isRetriedFromGit({ deps, app }: Look): boolean {
  const attempt = app.status?.operationState;
  if (!attempt || !isOpen(attempt) || !attempt.operation.retry?.refresh) return false;
  return (nextAttempt(attempt)?.at ?? Number.POSITIVE_INFINITY) <= deps.now();
}

/** When everything is to be rendered again, whatever is known. */
const hardDue = ({ deps: { settings, now }, app, memory }: Look): number =>
  (memory.hardAt ?? now()) + (hardWaitMs(app.metadata.name, settings.intervals) ?? Number.POSITIVE_INFINITY);

/** A refusal is final until something changes, a failure is tried again soon. */
function retryMs({ deps, app }: Look, { failure, times }: NonNullable<Memory["failure"]>): number {
  if (failure.kind !== "stop") return RETRY_MS[Math.min(times, RETRY_MS.length) - 1]!;
  return waitMs(app.metadata.name, deps.settings.intervals) ?? Number.POSITIVE_INFINITY;
}
