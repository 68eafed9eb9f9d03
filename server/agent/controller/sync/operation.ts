import { isDeepStrictEqual } from "node:util";
import { done, type Failure, stop } from "../../../base/outcome.ts";
import { instanceOf } from "../../project/instance.ts";
import {
  type Application,
  causeOf,
  deployedOf,
  deployedSources,
  type HistoryEntry,
  hasSeveral,
  META,
  type Operation,
  type OperationState,
  revisionsOf,
  sourcesOf,
} from "../application.ts";
import { type Decision, decide, firstReason, isOpen, retryDelay } from "../config/policy.ts";
import { heldBack } from "../config/windows.ts";
import type { Deps } from "../deps.ts";
import type { Destination } from "../destination.ts";
import type { Wanted } from "../memory.ts";
import { render, toTargets } from "../render.ts";
import type { Observed } from "../status/observed.ts";
import { appLabel } from "../tracking.ts";
import { waitsFor } from "./dependencies.ts";
import { endOf } from "./results.ts";

/** The inputs of the decision about an operation. */
export interface OperationInput {
  readonly deps: Deps;
  readonly app: Application;
  readonly destination: Destination;
  readonly wanted: Wanted;
  readonly seen: Observed;
  /** The time in whole seconds. */
  readonly now: string;
}

/** The operation to run; without one, when to look for it again, and the condition that says why it does not begin. */
export interface ToRun {
  readonly state?: OperationState | undefined;
  readonly afterMs?: number | undefined;
  readonly blocked?: { readonly type: string; readonly reason: string; readonly message: string };
}

/** The operation that runs now: a running one, a requested one, or one that the sync policy begins. */
export function operationToRun(s: OperationInput): ToRun {
  const { app, wanted, now } = s;
  const running = app.status?.operationState;
  // A newer revision has come since it began: that one begins instead, by the same rules.
  const overtaking = supersedable(app, wanted)
    ? judge(s, { ...app, status: { ...app.status, operationState: undefined } })
    : undefined;
  const givesWay = givesWayToRequest(app);
  if (running && isOpen(running) && overtaking?.do !== "sync" && !givesWay) return carryOn(s, running);
  if (app.operation) {
    const state = begin(app.operation, wanted, app, now);
    return {
      state: givesWay ? { ...state, message: `takes the place of a sync that failed: ${running!.message}` } : state,
    };
  }
  return byPolicy(s, overtaking);
}

const judge = ({ deps, wanted, seen }: OperationInput, app: Application) =>
  decide({ ...seen, app, revisions: wanted.revisions, prunable: seen.prunable.length, now: deps.now() });

/** A running operation: its next step, or its next attempt when that is due. */
function carryOn({ deps, app, wanted, now }: OperationInput, running: OperationState): ToRun {
  const next = nextAttempt(running);
  // Argo CD writes what it syncs a moment after it has begun.
  if (!next && running.phase === "Running" && !running.syncResult)
    return { state: { ...begin(running.operation, wanted, app, now), startedAt: running.startedAt } };
  if (!next || running.phase === "Terminating") return { state: running };
  if (next.at <= deps.now()) return { state: begin(running.operation, wanted, app, now, next.number) };
  const reason = firstReason(running) ?? "SyncFailed";
  return {
    afterMs: next.at - deps.now(),
    blocked: { type: "SyncError", reason, message: running.message ?? "the sync failed" },
  };
}

/** An automatic sync, if the policy wants one now and nothing holds it back. */
function byPolicy(s: OperationInput, overtaking: Decision | undefined): ToRun {
  const { deps, app, destination, wanted, seen, now } = s;
  const decision = overtaking ?? (unrecorded(app, destination, wanted, seen.status) ? RECORD : judge(s, app));
  if (decision.do === "wait") return { afterMs: decision.afterMs };
  if (decision.do === "refuse") return { blocked: decision.condition };
  if (decision.do !== "sync") return {};
  const waiting = waitsFor(app, app.metadata.annotations?.[META.dependsOn] ? deps.store.all() : []);
  if (waiting) return { blocked: { type: "SyncBlocked", ...waiting } };
  const held = heldBack({ deps, app, destination }, { automated: true });
  if (held)
    return { afterMs: held.afterMs, blocked: { type: "SyncBlocked", reason: "SyncWindow", message: held.message } };
  const operation: Operation = {
    sync: { ...revisionFields(app, wanted.revisions), prune: app.spec.syncPolicy?.automated?.prune === true },
    initiatedBy: { automated: true },
    retry: app.spec.syncPolicy?.retry ?? { limit: 5 },
  };
  if (decision.attempts) operation.sync!.autoHealAttemptsCount = decision.attempts;
  if (decision.onlyOutOfSync) {
    operation.sync!.resources = seen.outOfSync.map(({ group = "", kind, name, namespace = "" }) => ({
      group,
      kind,
      name,
      namespace,
    }));
  }
  return { state: begin(operation, wanted, app, now) };
}

const RECORD: Decision = { do: "sync", attempts: 0, onlyOutOfSync: false };

/**
 * Whether objects were applied without a recorded operation. Idempotent steps are recorded once, after they are done; if this program ended
 * between the two, all is Synced; the sync begins again, finds nothing to do and is recorded. One with hooks is recorded before it begins: it would run
 * them for nothing, as the times of the API server may be ahead of ours.
 */
function unrecorded(
  app: Application,
  { live, own }: Destination,
  { revisions, normalised }: Wanted,
  status: Observed["status"],
): boolean {
  const { automated } = app.spec.syncPolicy ?? {};
  if (status !== "Synced" || !automated || automated.enabled === false) return false;
  if (normalised.targets.some(({ hook }) => hook && !hook.skip)) return false;
  const last = app.status?.operationState;
  if (isDeepStrictEqual(revisionsOf(last?.syncResult), revisions)) return false;
  // Objects applied before the Application existed are not its own work: it was created again over existing objects.
  const made = Date.parse(app.metadata.creationTimestamp ?? "") || 0;
  const since = Math.max(Date.parse(last?.finishedAt ?? "") || 0, made - 1);
  const entries = [...live.ofApp(appLabel(instanceOf(app, own))).values()].flatMap(
    ({ metadata }) => metadata.managedFields ?? [],
  );
  return entries.some(({ time }) => Date.parse(String(time)) > since);
}

/**
 * Whether a running automatic sync has been overtaken by a newer commit and may be left here. Its steps are over whenever this is asked, but
 * a hook that runs is not left behind.
 */
function supersedable(app: Application, wanted: Wanted): boolean {
  const state = app.status?.operationState;
  if (state?.phase !== "Running" || !byItself(state) || app.operation) return false;
  if (!isDeepStrictEqual(deployedSources(state.syncResult), sourcesOf(app))) return false;
  if (state.syncResult?.resources?.some(({ hookType, hookPhase }) => hookType && hookPhase === "Running")) return false;
  return !isDeepStrictEqual(revisionsOf(state.syncResult), wanted.revisions);
}

export const byItself = ({ operation }: OperationState): boolean => operation.initiatedBy?.automated === true;

// A sync that was asked for is not kept for days, to run unexpectedly: not for what is away, and less for what is wrong, which may
// be a repository or a project that was made along with the application and arrives after it.
const PATIENCE_MS = { later: 180_000, stop: 10_000 };

interface NoTargets {
  /** The type of the condition that names the reason. */
  type: string;
  failure: Failure;
  now: string;
  /** Since when nothing is known. The condition's own time does not serve: an absent server may give another message each time. */
  failingSince?: string | undefined;
}

/** The fate of an operation whose targets are unknown. If undefined, it waits. */
export function withoutTargets(
  app: Application,
  { type, failure, now, failingSince = now }: NoTargets,
): OperationState | undefined {
  const { operationState: last, conditions } = app.status ?? {};
  if (last?.phase === "Terminating")
    return { ...last, phase: "Failed", message: "Operation terminated", finishedAt: endOf(last, now) };
  if (!app.operation || (isOpen(last) && !givesWayToRequest(app))) return undefined;
  const told = conditions?.find((c) => c.type === type)?.lastTransitionTime ?? now;
  const since = failure.kind === "stop" ? Date.parse(told) : Math.min(Date.parse(told), Date.parse(failingSince));
  if (Date.parse(now) - since < PATIENCE_MS[failure.kind === "stop" ? "stop" : "later"]) return undefined;
  const startedAt = after(last?.startedAt, now);
  return {
    operation: app.operation,
    phase: "Error",
    message: `${type}: ${failure.message}`,
    startedAt,
    finishedAt: startedAt,
  };
}

function begin(
  operation: Operation,
  wanted: Wanted,
  app: Application,
  startedAt: string,
  retryCount?: number,
): OperationState {
  const own = sourcesOf(app);
  const asked = deployedSources(operation.sync);
  // One revision for an application with several sources means that of its first.
  const named = operation.sync?.revisions ?? (operation.sync?.revision ? [operation.sync.revision] : []);
  const revisions = wanted.revisions.map((revision, i) => named[i] ?? revision);
  // Argo CD's definition demands the one revision also where there are several.
  const syncResult = {
    ...(hasSeveral(app) ? { revision: "" } : {}),
    ...deployedOf(app, asked.length ? asked : own, revisions),
  };
  const state: OperationState = {
    operation,
    phase: "Running",
    startedAt: after(app.status?.operationState?.startedAt, startedAt),
    syncResult,
  };
  return retryCount ? { ...state, retryCount } : state;
}

/** A hook is identified by the start of its operation, in seconds. Of two operations in one second the later would take the earlier's hooks for its own. */
function after(last: string | undefined, now: string): string {
  const least = Date.parse(last ?? "") + 1_000;
  return least > Date.parse(now) ? new Date(least).toISOString().replace(/\.\d+/, "") : now;
}

/**
 * Whether the request is what `state` does, so that it goes with it. This controller removes a request when it begins it: one that stands beside
 * is asked for again. Argo CD leaves it until the end, so a sync that Argo CD had begun when it stopped must not be done again.
 */
export function isAnswered(
  { operation, status }: Application,
  state: OperationState,
  begunAt: string | undefined,
): boolean {
  if (!operation) return false;
  const before = status?.operationState;
  const carriedOn = state.operation === before?.operation && before.startedAt !== begunAt;
  return state.operation === operation || (carriedOn && isDeepStrictEqual(state.operation, operation));
}

/** The objects of the operation's own revisions, when they are not those that were compared. */
export async function targetsOf(look: Parameters<typeof render>[0], state: OperationState, wanted: Wanted) {
  const { app, destination } = look;
  // Such objects come from no source that the project permits, and a sync of Git's objects is not what was asked for.
  if (state.operation.sync?.manifests?.length)
    return stop(
      "LocalManifests",
      "operation.sync.manifests is refused: what is synced comes from the application's sources alone",
    );
  const revisions = revisionsOf(state.syncResult);
  const sources = deployedSources(state.syncResult);
  const own = sourcesOf(app);
  const same = revisions.every(
    (revision, i) => revision === wanted.revisions[i] || revision === own[i]?.targetRevision,
  );
  if (same && isDeepStrictEqual(sources, own)) {
    Object.assign(state.syncResult!, revisionFields(app, wanted.revisions));
    return done(wanted.normalised.targets);
  }
  const asked = sources.map((source, i) => ({ ...source, targetRevision: revisions[i] ?? source.targetRevision }));
  const rendered = await render(look, { sources: asked, freshness: "cached" });
  if (rendered.kind !== "done") return rendered;
  Object.assign(state.syncResult!, revisionFields(app, rendered.value.revisions));
  return done((await toTargets(app, destination, rendered.value.objects!)).targets);
}

/**
 * An operation that has ended, as Argo CD leaves it: with the sources and options that it went by. Not before its end, as a further attempt goes
 * by those of the application.
 */
export function withInputs(app: Application, state: OperationState): OperationState {
  return isOpen(state) ? state : { ...state, operation: requestOf(app, state) };
}

/** The request of an operation with the sources and options that it goes by, as Argo CD copies them in when it begins. */
export function requestOf(app: Application, state: OperationState): Operation {
  if (!state.operation.sync) return state.operation;
  const { source, sources } = state.syncResult ?? {};
  const syncOptions = state.operation.sync.syncOptions ?? app.spec.syncPolicy?.syncOptions;
  const inputs = { ...(sources?.length ? { sources } : { source }), ...(syncOptions?.length ? { syncOptions } : {}) };
  return { ...state.operation, sync: { ...state.operation.sync, ...inputs } };
}

export const revisionFields = (app: Application, revisions: string[]) =>
  hasSeveral(app) ? { revisions } : { revision: revisions[0] };

const RETRYING = /Retrying attempt #(\d+) at (\S+)\.$/;

/** A failed attempt that has retries left stays `Running` until the time it names. */
export function retry(state: OperationState, now: number): { state: OperationState; afterMs: number } | undefined {
  if ((state.phase !== "Failed" && state.phase !== "Error") || state.message === "Operation terminated")
    return undefined;
  const count = (state.retryCount ?? 0) + 1;
  const afterMs = retryDelay(state.operation.retry, count);
  if (afterMs === undefined) return undefined;
  const at = new Date(now + afterMs).toISOString();
  return {
    afterMs,
    state: { ...state, phase: "Running", message: `${state.message}. Retrying attempt #${count} at ${at}.` },
  };
}

/** The attempt that waits, and when it is due. Argo CD names an hour without a day: there the wait counts from the end of the last attempt. */
export function nextAttempt({
  finishedAt,
  message = "",
  operation,
}: OperationState): { number: number; at: number } | undefined {
  const [, count, time = ""] = (finishedAt && RETRYING.exec(message)) || [];
  if (!finishedAt || count === undefined) return undefined;
  const [number, named] = [Number(count), Date.parse(time)];
  return {
    number,
    at: Number.isNaN(named) ? Date.parse(finishedAt) + (retryDelay(operation.retry, number) ?? 0) : named,
  };
}

/** Whether a retry is pending that a new sync may replace, because nothing of it runs. */
export const isRetryDue = (state: OperationState | undefined): state is OperationState =>
  state?.phase === "Running" && nextAttempt(state) !== undefined;

/** A dry run writes nothing, so that it does not take the place of a sync that still has to: it would never be done. */
export const replaces = ({ sync }: Operation, { operation }: OperationState): boolean =>
  !sync?.dryRun || operation.sync?.dryRun === true;

/** A person who asks for a sync does not wait for the next attempt of one that failed. Argo CD leaves the request of what runs: that is no new one. */
export function givesWayToRequest({ operation, status }: Application): boolean {
  const running = status?.operationState;
  if (!operation || !isRetryDue(running) || isDeepStrictEqual(operation, running.operation)) return false;
  return replaces(operation, running);
}

/** The images are for people who choose an entry; more would only lengthen every status. */
const MOST_IMAGES = 50;

function imagesOf({ syncResult }: OperationState): { images?: string[] } {
  const images = [...new Set((syncResult?.resources ?? []).flatMap((resource) => resource.images ?? []))].sort();
  return images.length ? { images: images.slice(0, MOST_IMAGES) } : {};
}

/** Full syncs that succeeded, oldest first. */
export function history(app: Application, state: OperationState, old: HistoryEntry[] | undefined) {
  const entries = old ?? [];
  const limit = app.spec.revisionHistoryLimit ?? 10;
  if (state.phase !== "Succeeded" || state.operation.sync?.dryRun || state.operation.sync?.resources?.length)
    return entries;
  const entry = {
    id: (entries.at(-1)?.id ?? -1) + 1,
    ...deployedOf(app, deployedSources(state.syncResult), revisionsOf(state.syncResult)),
    deployedAt: state.finishedAt!,
    deployStartedAt: state.startedAt,
    initiatedBy: state.operation.initiatedBy,
    cause: causeOf(state.operation),
    ...imagesOf(state),
  };
  return limit > 0 ? [...entries, entry].slice(-limit) : [];
}
