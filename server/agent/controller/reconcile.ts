import { isDeepStrictEqual } from "node:util";
import { digest } from "../../base/canonical.ts";
import type { Failure, Outcome } from "../../base/outcome.ts";
import { done } from "../../base/outcome.ts";
import type { Freshness, Source } from "../repo/types.ts";
import { type Application, type HistoryEntry, META, type Operation, type OperationState, sourceOf } from "./application.ts";
import { Verdicts } from "./compare.ts";
import { type Deps, type Memory, type Next, newMemory, type Wanted } from "./deps.ts";
import type { Destination } from "./destination.ts";
import { finalize } from "./finalize.ts";
import { normalise } from "./normalise.ts";
import { type Observed, observe, watchKinds } from "./observe.ts";
import { decide, firstReason, isOpen, retryDelay } from "./policy.ts";
import type { Report } from "./report.ts";
import { advance } from "./sync.ts";
import { validate } from "./validate.ts";

// Git is asked again after two to three minutes; the spread keeps applications from asking all at once.
const REFRESH_MS = 120_000;
const JITTER_MS = 60_000;
// While Git cannot be asked, the last answer stands this long.
const GRACE_MS = 180_000;
const RETRY_MS = [1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/** One look at one application, from its specification to its status. */
export async function reconcile(deps: Deps, app: Application, report: Report): Promise<Next | undefined> {
  const { name } = app.metadata;
  const memory = remember(deps, name);
  const now = () => new Date(deps.now()).toISOString().replace(/\.\d+/, "");

  // An application that is being deleted takes its objects with it, if it was told to.
  if (app.metadata.deletionTimestamp) return finalize(deps, app, memory, report);
  if (app.metadata.annotations?.[META.skipReconcile] === "true") return undefined;

  // Can this specification be worked with at all, and where does it go?
  report.set(echo(app));
  const invalid = validate(app);
  if (invalid) return unknown(report, "InvalidSpecError", invalid);
  const destination = await deps.destinations.find(app);
  if (destination.kind !== "done") return unknown(report, "InvalidSpecError", destination);

  // What does Git say?
  const freshness = freshnessOf(deps, app, memory);
  report.begin("Fetching", `fetching ${sourceOf(app)!.repoURL}`);
  const wanted = await ask(deps, app, destination.value, memory, freshness, report);
  if (wanted.kind !== "done") {
    const next = await unknown(report, "ComparisonError", wanted, true);
    return next ?? untilRefresh(deps, app, memory);
  }
  const { normalised, revision, sourceType } = wanted.value;
  for (const { name: what, times } of normalised.repeated) {
    report.condition(
      "RepeatedResourceWarning",
      "RepeatedResource",
      `Resource ${what} appeared ${times} times among application resources.`,
    );
  }

  // What is there?
  report.begin("Comparing", `comparing ${normalised.targets.length} objects of ${revision.slice(0, 7)}`);
  if (freshness !== "cached") memory.unlabelled.clear();
  const ignoring = digest(app.spec.ignoreDifferences ?? []);
  if (memory.ignoring !== ignoring) Object.assign(memory, { ignoring, verdicts: new Verdicts() });
  const unseen = await watchKinds(destination.value, app, normalised.targets);
  let seen = await observe(app, normalised.targets, destination.value, memory, unseen, report);

  // Does something have to be done about the difference?
  let next: Next | undefined;
  let state = await operationToRun(deps, app, wanted.value, seen, report, now, (afterMs) => (next = { afterMs }));
  if (state) {
    report.set({ operationState: state });
    report.begin("Syncing", `syncing to ${revision.slice(0, 7)}`);
    const targets = await targetsOf(deps, app, state, destination.value, wanted.value);
    if (targets.kind !== "done") {
      state = { ...state, phase: targets.kind === "stop" ? "Failed" : "Error", message: targets.message, finishedAt: now() };
    } else {
      // Nothing is deleted while some kind cannot be seen.
      const prune = state.operation.sync?.prune === true && unseen.size === 0;
      const dry = state.operation.sync?.dryRun === true;
      if (dry) state = { ...state, phase: "Succeeded", message: "successfully compared (dry run)", finishedAt: now() };
      else
        state = await advance({
          app,
          state,
          targets: targets.value,
          destination: destination.value,
          verdicts: memory.verdicts,
          prune,
          now,
        });
    }
    const again = retry(state, deps.now());
    if (again) next = { afterMs: again.afterMs };
    if (again) state = again.state;
    report.set({ operationState: state, history: history(app, state, report.status.history) });
    if (state.phase === "Failed" || state.phase === "Error" || again) {
      report.condition("SyncError", firstReason(state) ?? "SyncFailed", state.message ?? "the sync failed");
    }
    // How is it now?
    memory.unlabelled.clear();
    const failed = await watchKinds(destination.value, app, normalised.targets);
    seen = await observe(app, normalised.targets, destination.value, memory, failed, report);
  }

  // Tell.
  releaseClaims(destination.value, name, normalised.targets);
  memory.verdicts.keepOnly(new Set(normalised.targets.map((target) => target.key)));
  report.set({
    sync: { status: seen.status, comparedTo: { source: sourceOf(app), destination: app.spec.destination }, revision },
    health: healthWithTime(app, seen.health, now),
    resources: seen.resources,
    sourceType,
    summary: seen.images.length ? { images: seen.images } : {},
    controllerNamespace: deps.namespace,
  });
  const written = await report.end({ refreshed: freshness !== "cached", operationTaken: state !== undefined });
  if (written.kind !== "done") return { afterMs: 500 };
  const refresh = untilRefresh(deps, app, memory);
  return next && next.afterMs < refresh.afterMs ? next : refresh;
}

/** The memory of an application, new when it has none. */
function remember(deps: Deps, name: string): Memory {
  let memory = deps.memory.get(name);
  if (!memory) {
    memory = newMemory();
    deps.memory.set(name, memory);
  }
  return memory;
}

function freshnessOf(deps: Deps, app: Application, memory: Memory): Freshness {
  const asked = app.metadata.annotations?.[META.refresh];
  if (asked === "hard") return "hard";
  if (asked !== undefined) return "normal";
  if (!memory.wanted || memory.wanted.sourceDigest !== sourceDigest(app)) return "normal";
  return deps.now() - memory.askedAt > REFRESH_MS + jitter(app.metadata.name) ? "normal" : "cached";
}

const sourceDigest = (app: Application): string => digest([sourceOf(app), app.spec.destination]);

// The same application always gets the same share, so that restarts keep the spread.
const jitter = (name: string): number => Number.parseInt(digest(name).slice(0, 6), 16) % JITTER_MS;

/** What is wanted: from memory if that is fresh enough, else from the repo server. */
async function ask(
  deps: Deps,
  app: Application,
  destination: Destination,
  memory: Memory,
  freshness: Freshness,
  report: Report,
): Promise<Outcome<Wanted>> {
  const asked = sourceDigest(app);
  const wanted = memory.wanted?.sourceDigest === asked && memory.wanted.destination === destination.id ? memory.wanted : undefined;
  // A kind that was missing may have come meanwhile; that only a new look at the cluster can tell.
  const complete = wanted?.normalised.targets.every((target) => !target.problem) ?? false;
  if (!stands(deps, app, memory, asked)) {
    if (freshness === "cached" && wanted && complete) return done(wanted);
    const rendered = await render(deps, app, sourceOf(app)!, destination, freshness, complete ? wanted?.key : undefined);
    memory.askedAt = deps.now();
    if (rendered.kind === "done") {
      const { key, revision, sourceType, objects } = rendered.value;
      const normalised = objects ? await toTargets(app, destination, objects) : wanted!.normalised;
      memory.wanted = { sourceDigest: asked, key, revision, sourceType, destination: destination.id, normalised };
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

/** Whether the last refusal still holds, so that events of the cluster do not become questions to Git. */
function stands(deps: Deps, app: Application, { failure, askedAt }: Memory, asked: string): boolean {
  if (!failure || failure.sourceDigest !== asked || app.metadata.annotations?.[META.refresh] !== undefined) return false;
  return deps.now() - askedAt < retryMs(app, failure) - 50;
}

/** A refusal is final until something changes, a failure is tried again soon. */
function retryMs(app: Application, { failure, times }: NonNullable<Memory["failure"]>): number {
  return failure.kind === "stop" ? REFRESH_MS + jitter(app.metadata.name) : RETRY_MS[Math.min(times, RETRY_MS.length) - 1]!;
}

async function render(deps: Deps, app: Application, source: Source, destination: Destination, freshness: Freshness, known?: string) {
  if (destination.version === undefined) {
    const version = await destination.client.json<{ gitVersion: string }>("GET", "/version");
    if (version.kind === "done") destination.version = version.value.gitVersion;
  }
  return deps.repo.render({
    app: { name: app.metadata.name, namespace: deps.namespace, project: app.spec.project || "default" },
    namespace: app.spec.destination.namespace ?? "",
    source,
    repo: deps.repositories.find(source.repoURL),
    freshness,
    kubeVersion: destination.version,
    known,
  });
}

const toTargets = (app: Application, { client }: Destination, objects: Parameters<typeof normalise>[0]) =>
  normalise(objects, app.metadata.name, app.spec.destination.namespace ?? "", (group, version, kind) =>
    client.discovery.find(group, version, kind),
  );

/** The operation that runs now: one that has begun, one that was asked for, or one that the policy begins. */
async function operationToRun(
  deps: Deps,
  app: Application,
  wanted: Wanted,
  seen: Observed,
  report: Report,
  now: () => string,
  wait: (ms: number) => void,
): Promise<OperationState | undefined> {
  const running = app.status?.operationState;
  if (isOpen(running)) {
    const due = retryAt(running!);
    if (due === undefined || running!.phase === "Terminating") return running;
    if (due > deps.now()) {
      wait(due - deps.now());
      report.condition("SyncError", firstReason(running!) ?? "SyncFailed", running!.message ?? "the sync failed");
      return undefined;
    }
    return begin(running!.operation, wanted, app, now(), (running!.retryCount ?? 0) + 1);
  }
  if (app.operation) return begin(app.operation, wanted, app, now());
  const { status, outOfSync, prunable, inventory } = seen;
  const decision = decide({ app, status, outOfSync, revision: wanted.revision, prunable: prunable.length, inventory, now: deps.now() });
  if (decision.do === "wait") wait(decision.afterMs);
  if (decision.do === "refuse") report.condition(decision.condition.type, decision.condition.reason, decision.condition.message);
  if (decision.do !== "sync") return undefined;
  const operation: Operation = {
    sync: { revision: wanted.revision, prune: app.spec.syncPolicy?.automated?.prune === true },
    initiatedBy: { automated: true },
    retry: app.spec.syncPolicy?.retry ?? { limit: 5 },
  };
  if (decision.attempts) operation.sync!.autoHealAttemptsCount = decision.attempts;
  if (decision.onlyOutOfSync) {
    operation.sync!.resources = outOfSync.map(({ group = "", kind, name, namespace = "" }) => ({ group, kind, name, namespace }));
  }
  return begin(operation, wanted, app, now());
}

function begin(operation: Operation, wanted: Wanted, app: Application, startedAt: string, retryCount?: number): OperationState {
  const revision = operation.sync?.revision ?? wanted.revision;
  const source = operation.sync?.source ?? sourceOf(app);
  const state: OperationState = { operation, phase: "Running", startedAt, syncResult: { revision, source } };
  return retryCount ? { ...state, retryCount } : state;
}

/** The objects of the operation's own revision, when it is not the one that was compared. */
async function targetsOf(deps: Deps, app: Application, state: OperationState, destination: Destination, wanted: Wanted) {
  const { revision, source } = state.syncResult!;
  const own = sourceOf(app)!;
  if ((revision === wanted.revision || revision === own.targetRevision) && isDeepStrictEqual(source, own)) {
    state.syncResult!.revision = wanted.revision;
    return done(wanted.normalised.targets);
  }
  const rendered = await render(deps, app, { ...(source ?? own), targetRevision: revision }, destination, "cached");
  if (rendered.kind !== "done") return rendered;
  state.syncResult!.revision = rendered.value.revision;
  return done((await toTargets(app, destination, rendered.value.objects!)).targets);
}

const RETRYING = /Retrying attempt #\d+ at (\S+)\.$/;

/** A failed attempt that has retries left stays `Running` until the time it names. */
function retry(state: OperationState, now: number): { state: OperationState; afterMs: number } | undefined {
  if (state.phase !== "Failed" || state.message === "Operation terminated") return undefined;
  const count = (state.retryCount ?? 0) + 1;
  const afterMs = retryDelay(state.operation.retry, count);
  if (afterMs === undefined) return undefined;
  const at = new Date(now + afterMs).toISOString();
  return { afterMs, state: { ...state, phase: "Running", message: `${state.message}. Retrying attempt #${count} at ${at}.` } };
}

function retryAt(state: OperationState): number | undefined {
  const at = state.finishedAt ? RETRYING.exec(state.message ?? "")?.[1] : undefined;
  return at ? Date.parse(at) : undefined;
}

/** Full syncs that succeeded, oldest first. */
function history(app: Application, state: OperationState, old: HistoryEntry[] | undefined) {
  const entries = old ?? [];
  const limit = app.spec.revisionHistoryLimit ?? 10;
  if (state.phase !== "Succeeded" || state.operation.sync?.dryRun || state.operation.sync?.resources?.length) return entries;
  const entry = {
    id: (entries.at(-1)?.id ?? -1) + 1,
    revision: state.syncResult!.revision,
    source: state.syncResult!.source!,
    deployedAt: state.finishedAt!,
    deployStartedAt: state.startedAt,
    initiatedBy: state.operation.initiatedBy,
  };
  return limit > 0 ? [...entries, entry].slice(-limit) : [];
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
async function unknown(report: Report, type: string, failure: Failure, refreshed = false): Promise<Next | undefined> {
  report.condition(type, failure.reason, failure.message);
  report.set({ sync: { ...report.status.sync, status: "Unknown" }, health: report.status.health ?? { status: "Unknown" } });
  const written = await report.end({ refreshed });
  if (written.kind !== "done") return { afterMs: 1_000 };
  return failure.kind === "later" ? { afterMs: failure.afterMs } : undefined;
}

function releaseClaims({ claims }: Destination, app: string, targets: Wanted["normalised"]["targets"]): void {
  const wanted = new Set(targets.map((target) => target.key));
  for (const [key, owner] of claims) if (owner === app && !wanted.has(key)) claims.delete(key);
}

function untilRefresh(deps: Deps, app: Application, memory: Memory): Next {
  const interval = memory.failure ? retryMs(app, memory.failure) : REFRESH_MS + jitter(app.metadata.name);
  return { afterMs: Math.max(100, memory.askedAt + interval - deps.now()) };
}
