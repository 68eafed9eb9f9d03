import { digest } from "../../base/json/canonical.ts";
import type { Failure, Outcome } from "../../base/outcome.ts";
import { done } from "../../base/outcome.ts";
import { instanceOf } from "../project/instance.ts";
import type { Freshness } from "../repo/types.ts";
import { redactUrl } from "../repo/url.ts";
import { type Application, deployedOf, hasSeveral, META, type OperationState, type SourceHydrator, sourcesOf } from "./application.ts";
import { findOrphans } from "./cluster/orphans.ts";
import { Verdicts } from "./compare/compare.ts";
import type { Target } from "./compare/normalise.ts";
import { demandsOf } from "./config/integrity.ts";
import { hardWaitMs, waitMs } from "./config/intervals.ts";
import { firstReason, isOpen } from "./config/policy.ts";
import { skips } from "./config/skips.ts";
import { validate } from "./config/validate.ts";
import { heldBack } from "./config/windows.ts";
import { finalizersFor } from "./delete/deletion-hooks.ts";
import { finalize } from "./delete/finalize.ts";
import { type Deps, type Memory, type Next, remember, type Wanted } from "./deps.ts";
import type { Destination } from "./destination.ts";
import { isBlind, type Observed, observe, watchKinds } from "./observe.ts";
import { NAMESPACE_REFUSED, place, projectOf } from "./projects.ts";
import { render, toTargets } from "./render.ts";
import type { Report } from "./status/report.ts";
import { releaseAll } from "./sync/hooks.ts";
import { byItself, history, isAnswered, operationToRun, retry, retryAt, targetsOf, withInputs, withoutTargets } from "./sync/operation.ts";
import { endOf } from "./sync/results.ts";
import { advance } from "./sync/sync.ts";

// The repositories are asked by the controller, once for all applications. One that was left out for longer than that, or than five thirds of
// the time between two looks, asks by itself.
const FORGOTTEN_MS = 300_000;
// While Git cannot be asked, the last answer stands this long.
const GRACE_MS = 180_000;
const UNSEEN_MS = 30_000;
// A hook that could not be let go of.
const HELD_MS = 2_000;
// An operation that waits for what is wrong, see `withoutTargets`.
const WAITING_MS = 3_000;
const RETRY_MS = [1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/** One look at one application, from its specification to its status. */
export async function reconcile(deps: Deps, app: Application, report: Report): Promise<Next | undefined> {
  const name = instanceOf(app, deps.namespace);
  const memory = remember(deps, name);
  const now = () => new Date(deps.now()).toISOString().replace(/\.\d+/, "");

  if (skips(app)) return undefined;
  // An application that is being deleted takes its objects with it, if it was told to.
  if (app.metadata.deletionTimestamp) return finalize(deps, app, memory, report);

  // Can this specification be worked with at all, and where does it go?
  report.set(echo(app));
  const invalid = validate(app);
  if (invalid) return unknown(deps, report, app, "InvalidSpecError", invalid, now());
  const destination = await place(deps, app);
  // Argo CD has this one under another type.
  if (destination.kind !== "done")
    return unknown(deps, report, app, destination.reason === NAMESPACE_REFUSED ? "UnknownError" : "InvalidSpecError", destination, now());

  if (destination.value.skipped) return undefined;
  if (app.spec.sourceHydrator) report.condition("HydrationExternal", "HydratedElsewhere", hydratedBy(app.spec.sourceHydrator));

  // What does Git say?
  const freshness = freshnessOf(deps, app, memory);
  if (freshness === "hard" || memory.hardAt === undefined) memory.hardAt = deps.now();
  report.begin(
    "Fetching",
    `fetching ${sourcesOf(app)
      .map(({ repoURL }) => repoURL)
      .join(", ")}`,
  );
  const wanted = await ask(deps, app, destination.value, memory, freshness, report);
  if (wanted.kind !== "done") {
    const next = await unknown(deps, report, app, "ComparisonError", wanted, now(), true);
    await releaseAll(deps.destinations.open, destination.value, name, deps.store.get(name)?.status?.operationState);
    return next ?? untilRefresh(deps, app, memory);
  }
  const { normalised, revisions, sourceTypes } = wanted.value;
  const finalizers = finalizersFor(app, normalised.targets);
  if (finalizers) {
    const patch = { metadata: { finalizers, resourceVersion: app.metadata.resourceVersion } };
    const written = await deps.store.patch(name, patch, true);
    if (written.kind !== "done") return { afterMs: 500 };
  }
  const short = revisions.map((revision) => revision.slice(0, 7)).join(", ");
  for (const { name: what, times } of normalised.repeated) {
    report.condition(
      "RepeatedResourceWarning",
      "RepeatedResource",
      `Resource ${what} appeared ${times} times among application resources.`,
    );
  }

  for (const what of normalised.excluded ?? [])
    report.condition("ExcludedResourceWarning", "Excluded", `Resource ${what} is excluded in the settings`);

  const project = deps.projects.of(app);
  const watched = project.kind === "done" && project.value.orphanedResources ? project.value : undefined;
  const { everyMs } = deps.settings.intervals;
  if (!watched) memory.orphans = undefined;
  else if (freshness !== "cached" || !memory.orphans || deps.now() >= memory.orphansAt + (everyMs || Number.POSITIVE_INFINITY)) {
    memory.orphans = await findOrphans(destination.value, watched, app, (other) => deps.store.get(other) !== undefined);
    memory.orphansAt = deps.now();
  }
  if (memory.orphans?.length && watched?.orphanedResources?.warn !== false)
    report.condition(
      "OrphanedResourceWarning",
      "OrphanedResources",
      `Application has ${memory.orphans.length} orphaned resources: ${memory.orphans.slice(0, 10).join(", ")}${memory.orphans.length > 10 ? ", …" : ""}`,
    );

  // What is there?
  report.begin("Comparing", `comparing ${normalised.targets.length} objects of ${short}`);
  if (freshness !== "cached") memory.unlabelled.clear();
  const ignoring = digest([app.spec.ignoreDifferences ?? [], deps.settings.revision]);
  if (memory.ignoring !== ignoring) Object.assign(memory, { ignoring, verdicts: new Verdicts() });
  const leftOut = new Set<string>();
  const unseen = await watchKinds(destination.value, app, normalised.targets, leftOut, memory.verdicts);
  memory.leftOut = leftOut.size > 0;
  let seen = await observe(app, normalised.targets, destination.value, memory, unseen, report);

  // Does something have to be done about the difference?
  let next: Next | undefined;
  let state = await operationToRun(deps, app, destination.value, wanted.value, seen, report, now, (afterMs) => (next = { afterMs }));
  if (state && isAnswered(app, state, memory.begunAt)) report.take(app.operation!);
  if (state && state !== app.status?.operationState) memory.begunAt = state.startedAt;
  // A window that has closed stops what has begun at the next step; what was to begin waits as it is.
  const away = isBlind(normalised.targets, unseen);
  const blind = away && { message: `waiting until its objects can be seen: ${away.message}`, afterMs: UNSEEN_MS };
  const held = state?.phase === "Running" ? (blind ?? heldBack(deps, app, destination.value, byItself(state), state)) : undefined;
  if (state && held) {
    next = { afterMs: held.afterMs };
    report.set({ operationState: { ...state, message: held.message } });
  } else if (state) {
    report.set({ operationState: state });
    report.begin("Syncing", `syncing to ${short}`);
    const targets = await targetsOf(deps, app, state, destination.value, wanted.value);
    if (targets.kind !== "done") {
      state = { ...state, phase: targets.kind === "stop" ? "Failed" : "Error", message: targets.message, finishedAt: endOf(state, now()) };
    } else {
      const prune = state.operation.sync?.prune === true;
      const noted = state.operation.sync?.dryRun ? undefined : await note(deps, app, state, targets.value, report);
      if (noted) return noted;
      state = await advance({
        app,
        state,
        targets: targets.value,
        destination: destination.value,
        verdicts: memory.verdicts,
        prune,
        unseen,
        waveDelayMs: deps.waveDelayMs,
        now,
        soon: () => (next = { afterMs: 1 }),
      });
    }
    const again = retry(state, deps.now());
    if (again) next = { afterMs: again.afterMs };
    if (again) state = again.state;
    report.set({ operationState: withInputs(app, state), history: history(app, state, report.status.history) });
    if (state.phase === "Failed" || state.phase === "Error" || again) {
      report.condition("SyncError", firstReason(state) ?? "SyncFailed", state.message ?? "the sync failed");
    }
    // How is it now?
    memory.unlabelled.clear();
    const failed = await watchKinds(destination.value, app, normalised.targets);
    seen = await observe(app, normalised.targets, destination.value, memory, failed, report);
  }

  // Tell.
  const keys = new Set(normalised.targets.map((target) => target.key));
  for (const { id, claims } of deps.destinations.open) claims.release(name, (key) => id === destination.value.id && keys.has(key));
  memory.verdicts.keepOnly(keys);
  report.set({
    sync: comparedSync(app, seen.status, revisions),
    health: healthWithTime(app, seen.health, now),
    resources: seen.resources,
    ...(hasSeveral(app) ? { sourceTypes } : { sourceType: sourceTypes[0] }),
    summary: Object.keys(seen.summary).length ? seen.summary : undefined,
    controllerNamespace: deps.namespace,
  });
  // Argo CD's readers take the answer to a refresh for a sign that all is there to be read.
  if (app.metadata.annotations?.[META.refresh] !== undefined) await deps.shown?.(name);
  const written = await report.end({ refreshed: freshness !== "cached" });
  if (written.kind !== "done") return untilWritten(deps, name, written);
  // What became of a hook is written down: now it may go.
  const released = await releaseAll(deps.destinations.open, destination.value, name, deps.store.get(name)?.status?.operationState);
  if (released.kind !== "done") next = { afterMs: HELD_MS };
  // What was asked for while this one ran begins now: nobody else says so again.
  if (state && !isOpen(state) && deps.store.get(name)?.operation) next = { afterMs: 1 };
  // A watch tells when its kind can be seen again; a group whose server does not answer has none.
  if (unseen.size && !(next && next.afterMs < UNSEEN_MS)) next = { afterMs: UNSEEN_MS };
  const refresh = untilRefresh(deps, app, memory);
  return next && (!refresh || next.afterMs < refresh.afterMs) ? next : refresh;
}

const hydratedBy = ({ drySource, syncSource, hydrateTo }: SourceHydrator) =>
  `nothing is written to Git from here: what ${redactUrl(drySource.repoURL)} describes is synced from branch ${syncSource.targetBranch}, path ${syncSource.path}, into which somebody else has to render it, as a pipeline with \`outpost admin render\`${hydrateTo ? ` (by way of branch ${hydrateTo.targetBranch})` : ""}`;

// A status that is refused, not merely late, will be refused again: nobody is helped by two full looks a second.
const REFUSED_MS = 30_000;

function untilWritten(deps: Deps, name: string, failure: Failure): Next {
  if (failure.kind !== "stop") return { afterMs: 500 };
  deps.log.warn({ app: name, reason: failure.reason }, `its status cannot be written: ${failure.message}`);
  return { afterMs: REFUSED_MS };
}

/** A hook is run once: that it is to run is written before it does, so that whoever comes after knows. Only a write that fails has a Next. */
async function note(
  deps: Deps,
  app: Application,
  state: OperationState,
  targets: readonly Target[],
  report: Report,
): Promise<Next | undefined> {
  // Not by when it began: two may begin within a second.
  if (app.status?.operationState === state || !targets.some(({ hook }) => hook && !hook.skip)) return undefined;
  const saved = await report.save();
  if (saved.kind === "done") return undefined;
  await report.drop();
  return untilWritten(deps, instanceOf(app, deps.namespace), saved);
}

/** Who asks for a sync means what Git has now. */
const isAsked = (app: Application): boolean => app.operation !== undefined && !isOpen(app.status?.operationState);

function freshnessOf(deps: Deps, app: Application, memory: Memory): Freshness {
  const refresh = app.metadata.annotations?.[META.refresh];
  if (refresh === "hard") return "hard";
  if (refresh === undefined && hardDue(deps, app, memory) <= deps.now()) return "hard";
  if (refresh !== undefined) return "normal";
  const attempt = app.status?.operationState;
  if (isAsked(app)) return "normal";
  if (attempt && isOpen(attempt) && attempt.operation.retry?.refresh && (retryAt(attempt) ?? Number.POSITIVE_INFINITY) <= deps.now())
    return "normal";
  const asked = sourceDigest(deps, app);
  if (!memory.wanted || memory.wanted.sourceDigest !== asked || (memory.failure && !stands(deps, app, memory, asked))) return "normal";
  const { everyMs, jitterMs } = deps.settings.intervals;
  const forgotten = everyMs > 0 && deps.now() - memory.askedAt > Math.max(FORGOTTEN_MS, ((everyMs + jitterMs) * 5) / 3);
  return forgotten ? "normal" : "cached";
}

/** When all is to be rendered anew, whatever is known. */
const hardDue = ({ settings, now }: Deps, app: Application, { hardAt }: Memory): number =>
  (hardAt ?? now()) + (hardWaitMs(app.metadata.name, settings.intervals) ?? Number.POSITIVE_INFINITY);

/** Of what is rendered and where it goes; looked up many times for one object, which never changes. */
export function sourceDigest(deps: Deps, app: Application): string {
  let known = digests.get(app.spec);
  if (known === undefined) {
    known = digest([sourcesOf(app), app.spec.destination]);
    digests.set(app.spec, known);
  }
  // Under another policy, or with other keys, what was fetched is judged anew.
  const demands = demandsOf(deps, app);
  const account = app.metadata.annotations?.[META.helmLookup];
  return demands === undefined && account === undefined ? known : digest([known, demands ?? null, account ?? null]);
}

const digests = new WeakMap<object, string>();

/** What is wanted: from memory if that is fresh enough, else from the repo server. */
async function ask(
  deps: Deps,
  app: Application,
  destination: Destination,
  memory: Memory,
  wished: Freshness,
  report: Report,
): Promise<Outcome<Wanted>> {
  const asked = sourceDigest(deps, app);
  const wanted = holds(memory.wanted, asked, destination, deps) ? memory.wanted : undefined;
  // A kind that was missing may have come meanwhile; that only a new look at the cluster can tell.
  const complete = wanted?.normalised.targets.every((target) => !target.problem) ?? false;
  const { found, refreshAt = Number.POSITIVE_INFINITY } = memory;
  Object.assign(memory, { found: undefined, refreshAt: undefined });
  // A look at the repository that began after the request has answered it.
  const freshness = wished === "normal" && memory.surveyedAt >= refreshAt ? "cached" : wished;
  if (found || !stands(deps, app, memory, asked)) {
    if (freshness === "cached" && wanted && complete && !found) return done(wanted);
    const known = { key: complete ? wanted?.key : undefined, revisions: freshness === "cached" ? found : undefined };
    // Who waited for a worker asked when his application was seen: one question to Git answers all that came before it.
    const sinceMs = memory.askingAt < memory.newsAt ? performance.now() - memory.newsAt : 0;
    memory.askingAt = performance.now();
    const rendered = await render(deps, app, sourcesOf(app), destination, freshness, { ...known, sinceMs });
    memory.askedAt = deps.now();
    if (rendered.kind === "done") {
      const { key, revisions, sourceTypes, objects } = rendered.value;
      // They may change while Git is asked, and then the next look asks for the objects once more.
      const settings = objects ? deps.settings.revision : wanted!.settings;
      const normalised = objects ? await toTargets(app, destination, objects) : wanted!.normalised;
      memory.wanted = { sourceDigest: asked, key, revisions, sourceTypes, destination: destination.id, settings, normalised };
      memory.failure = undefined;
      return done(memory.wanted);
    }
    const before = memory.failure?.sourceDigest === asked ? memory.failure : undefined;
    memory.failure = { failure: rendered, sourceDigest: asked, since: before?.since ?? deps.now(), times: (before?.times ?? 0) + 1 };
  }
  // A repository that is away for a while changes nothing about what is wanted; a branch that is gone does.
  const { failure, since } = memory.failure!;
  if (failure.kind === "stop" || !wanted || deps.now() - since > GRACE_MS) return failure;
  report.condition("ComparisonError", failure.reason, `${failure.message} (the last known revision stays in force)`);
  return done(wanted);
}

const holds = (wanted: Wanted | undefined, asked: string, { id }: Destination, { settings }: Deps): boolean =>
  wanted?.sourceDigest === asked && wanted.destination === id && wanted.settings === settings.revision;

/** Whether the last refusal still holds, so that events of the cluster do not become questions to Git. */
function stands(deps: Deps, app: Application, { failure, askedAt }: Memory, asked: string): boolean {
  if (!failure || failure.sourceDigest !== asked || app.metadata.annotations?.[META.refresh] !== undefined || isAsked(app)) return false;
  return deps.now() - askedAt < retryMs(deps, app, failure) - 50;
}

/** A refusal is final until something changes, a failure is tried again soon. */
function retryMs({ settings }: Deps, app: Application, { failure, times }: NonNullable<Memory["failure"]>): number {
  if (failure.kind !== "stop") return RETRY_MS[Math.min(times, RETRY_MS.length) - 1]!;
  return waitMs(app.metadata.name, settings.intervals) ?? Number.POSITIVE_INFINITY;
}

function comparedSync(app: Application, status: Observed["status"], revisions: string[]) {
  const { source, sources, ...at } = deployedOf(app, sourcesOf(app), revisions);
  const { destination, ignoreDifferences } = app.spec;
  const how = { destination, ...(ignoreDifferences?.length ? { ignoreDifferences } : {}) };
  return { status, comparedTo: sources ? { sources, ...how } : { source, ...how }, ...at };
}

/** The service's generation of the specification that was looked at. */
function echo(app: Application) {
  const generation = Number(app.metadata.annotations?.[META.generation]);
  return Number.isInteger(generation) && generation > 0 ? { observedGeneration: generation } : {};
}

const healthWithTime = (app: Application, status: Observed["health"], now: () => string) => ({
  status,
  lastTransitionTime:
    app.status?.health?.status === status && app.status.health.lastTransitionTime ? app.status.health.lastTransitionTime : now(),
});

/** Nothing is known, so nothing is changed: the reason is the only news. */
async function unknown(
  deps: Deps,
  report: Report,
  app: Application,
  type: string,
  failure: Failure,
  now: string,
  refreshed = false,
): Promise<Next | undefined> {
  report.condition(type, failure.reason, failure.message);
  const known = deps.memory.get(instanceOf(app, deps.namespace))?.failure;
  const failing = known?.failure === failure ? new Date(known.since).toISOString() : undefined;
  const ended = withoutTargets(app, type, failure, now, failing);
  if (ended) report.set({ operationState: ended });
  if (ended && ended.operation === app.operation) report.take(ended.operation);
  report.set({ sync: { ...report.status.sync, status: "Unknown" }, health: report.status.health ?? { status: "Unknown" } });
  const written = await report.end({ refreshed });
  if (written.kind !== "done") return untilWritten(deps, instanceOf(app, deps.namespace), written);
  if (failure.kind === "later") return { afterMs: failure.afterMs };
  // What was asked for while another one was to end still waits.
  return app.operation && ended?.operation !== app.operation ? { afterMs: WAITING_MS } : undefined;
}

/** When an application looks again by itself: after a failure, where the cluster is asked for what belongs to nobody, and to render all anew. */
function untilRefresh(deps: Deps, app: Application, memory: Memory): Next | undefined {
  const { failure, orphans, askedAt, orphansAt } = memory;
  const everyMs = waitMs(app.metadata.name, deps.settings.intervals) ?? Number.POSITIVE_INFINITY;
  const again = failure ? askedAt + retryMs(deps, app, failure) : orphans ? orphansAt + everyMs : Number.POSITIVE_INFINITY;
  const at = Math.min(again, hardDue(deps, app, memory), memory.leftOut ? deps.now() + everyMs : Number.POSITIVE_INFINITY);
  return Number.isFinite(at) ? { afterMs: Math.min(LONGEST_MS, Math.max(100, at - deps.now())) } : undefined;
}

// A timer takes no more; what comes later is only looked for again then.
const LONGEST_MS = 2_000_000_000;
