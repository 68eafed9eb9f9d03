import { canonical } from "../../../base/json/canonical.ts";
import { same } from "../../../base/json/same.ts";
import { done, type Failure } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES, type Resource } from "../../../kube/path.ts";
import { marksIn, sharesWith, sharingOf, tenantOf } from "../../project/tenant.ts";
import { generate } from "../generate.ts";
import {
  APPSET,
  type ApplicationSet,
  type ApplicationStep,
  type Free,
  type Generated,
  type SetCondition,
  type SetStatus,
} from "../types.ts";
import type { World } from "../world/world.ts";
import { isOwned, type LiveApplication, META } from "./application.ts";
import { clashOf, ignoreProblem, marked, newApplication, updated } from "./desired.ts";
import { withEnding } from "./names.ts";
import { requeueMs } from "./requeue.ts";
import { held, isReverse, isRolling, operationOf, rollOut } from "./rollout.ts";
import { failed, healthFrom, resourcesOf, rolling, succeeded, withTimes } from "./status.ts";
import { duplicateOf, validateApplication, validateSpec } from "./validate.ts";

export const APPLICATION_SET: Resource = {
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "ApplicationSet",
  plural: "applicationsets",
  namespaced: true,
};

export interface SetDeps {
  home: KubeClient;
  namespace: string;
  world: World;
  /** Applications of the namespace as last seen. */
  applications: {
    get(name: string): LiveApplication | undefined;
    all(): Iterable<LiveApplication>;
    seen(app: LiveApplication): void;
  };
  /** What the set's generators gave when they were asked last; nothing when they are to be asked now. */
  known(set: ApplicationSet): Generated[] | undefined;
  /** What they give now. */
  gave(set: ApplicationSet, made: Generated[]): void;
  /** Something happened to an application of a set, as Argo CD names it. */
  happened?(set: ApplicationSet, reason: "created" | "updated" | "Deleted", message: string): void;
  /** A set as its status was written, so that the next look begins there. */
  written(set: ApplicationSet): void;
  now(): number;
}

const FAILED_AGAIN_MS = 180_000;
const BUSY_AGAIN_MS = 10_000;

/** Makes the namespace hold the applications that a set describes. Tells when to look again, if not only at a change. */
export async function reconcileSet(deps: SetDeps, set: ApplicationSet): Promise<number | undefined> {
  if (set.metadata.deletionTimestamp) return finish(deps, set);
  const fresh = set.metadata.annotations?.[META.refreshSet] !== undefined;

  const problem = validateSpec(set.spec) ?? ignoreProblem(set.spec.ignoreApplicationDifferences);
  if (problem) return report(deps, set, failed(APPSET.invalid, problem, false), fresh);

  // A failure here leaves every application as it is: what could not be read is not gone.
  const known = fresh ? undefined : deps.known(set);
  const made = known ? done(known) : await generate(set.metadata.name, set.spec, deps.world, fresh);
  if (made.kind !== "done") {
    await report(deps, set, failed(made.reason, made.message, false), fresh);
    return made.kind === "again" ? BUSY_AGAIN_MS : (requeueMs(set.spec) ?? FAILED_AGAIN_MS);
  }
  if (!known) deps.gave(set, made.value);
  const all = withEnding(set, made.value, (name) => {
    const live = deps.applications.get(name);
    return live !== undefined && isOwned(live, set);
  });
  const twice = duplicateOf(all);
  if (twice) {
    const message = `ApplicationSet ${set.metadata.name} contains applications with duplicate name: ${twice}`;
    await report(deps, set, failed(APPSET.validation, message, true), fresh);
    return requeueMs(set.spec);
  }
  if (needsFinalizer(set))
    await deps.home.mergePatch(APPLICATION_SET, deps.namespace, set.metadata.name, finalizers(set, true));

  const rollingOut = isRolling(set.spec);
  const { problems, changed } = await keep(deps, set, all, rollingOut);
  if (allows(set, "delete")) problems.push(...(await prune(deps, set, all)));

  const said = problems.length ? failed(problems[0]!.reason, messageOf(problems), true) : succeeded();
  let steps: ApplicationStep[] | undefined;
  if (rollingOut) {
    const rollout = await advance(deps, set, all, changed);
    steps = rollout.steps;
    said.push(rolling(rollout.running));
  }
  await report(deps, set, said, fresh, steps);
  return problems.length ? BUSY_AGAIN_MS : requeueMs(set.spec);
}

interface Problem {
  reason: string;
  message: string;
}
const messageOf = (problems: Problem[]): string => {
  const shown = problems.slice(0, 5).map(({ message }) => message);
  return problems.length > shown.length
    ? `${shown.join("; ")}; and ${problems.length - shown.length} more`
    : shown.join("; ");
};

const allows = ({ spec }: ApplicationSet, what: "update" | "delete"): boolean => {
  const policy = spec.syncPolicy?.applicationsSync ?? "sync";
  return policy === "sync" || policy === `create-${what}`;
};

/** Creates and changes applications, each for itself: one that cannot be written does not keep the others from it. */
async function keep(
  deps: SetDeps,
  set: ApplicationSet,
  all: readonly Generated[],
  rollingOut: boolean,
): Promise<{ problems: Problem[]; changed: Set<string> }> {
  const problems: Problem[] = [];
  const changed = new Set<string>();
  const refusedProject = projectJudge(deps, set);
  for (const one of all) {
    const { name } = one.metadata;
    const wrong =
      validateApplication(one, deps.namespace) ?? forged(set, one) ?? taken(set, one) ?? (await refusedProject(one));
    if (wrong) {
      problems.push({ reason: APPSET.validation, message: wrong });
      continue;
    }
    const wanted = rollingOut ? held(one) : one;
    let live = deps.applications.get(name);
    for (let attempt = 0; attempt < 3; attempt++) {
      const written = live
        ? await change(deps, set, wanted, live)
        : await deps.home.create(RESOURCES.application, newApplication(set, wanted));
      if (written === "same") break;
      if (written.kind === "done") {
        deps.applications.seen(written.value as LiveApplication);
        const what = live ? "updated" : "created";
        deps.happened?.(set, what, `${what} Application "${name}"`);
        if (live && !isOnlyHeld(live, written.value)) changed.add(name);
        break;
      }
      if (
        attempt < 2 &&
        (written.reason === KUBE.conflict || written.reason === KUBE.alreadyExists || written.reason === KUBE.notFound)
      ) {
        const read = await deps.home.get(RESOURCES.application, deps.namespace, name);
        live = read.kind === "done" ? (read.value as LiveApplication) : undefined;
        continue;
      }
      const failed = live ? APPSET.update : APPSET.create;
      problems.push({ reason: written.reason === APPSET.clash ? APPSET.clash : failed, message: written.message });
      break;
    }
  }
  return { problems, changed };
}

/** Whether a write has only turned an application's own automation off: no reason for another rollout. */
function isOnlyHeld(before: KubeObject, after: KubeObject): boolean {
  const rest = ({ metadata: { labels, annotations, finalizers }, spec }: KubeObject) => {
    const { automated: _, ...policy } = (spec?.syncPolicy ?? {}) as Free;
    return {
      labels: labels ?? {},
      annotations: annotations ?? {},
      finalizers: finalizers ?? [],
      spec: { ...spec, syncPolicy: policy },
    };
  };
  return same(rest(before), rest(after));
}

/** Why an application of a tenant's set may not be under the project that its parameters named; the projects are read once. */
function projectJudge(deps: SetDeps, set: ApplicationSet): (one: Generated) => Promise<string | undefined> {
  const tenant = tenantOf(set);
  // A list, because the controller has no right to get one.
  let listed: ReturnType<typeof deps.home.list> | undefined;
  return async ({ metadata, spec }) => {
    if (tenant === undefined) return undefined;
    const project = typeof spec.project === "string" && spec.project ? spec.project : "default";
    listed ??= deps.home.list(RESOURCES.appProject, { namespace: deps.namespace });
    const all = await listed;
    if (all.kind !== "done")
      return `application ${metadata.name} waits, because the AppProjects cannot be read: ${all.message}`;
    if (all.value.items.some((one) => one.metadata.name === project && sharesWith(sharingOf(one), tenant)))
      return undefined;
    return `application ${metadata.name} names AppProject ${project}, which scope ${tenant.replace(/\/-$/, "")} may not use`;
  };
}

// By these an application says of which other one it is a part.
const TRACKING = ["argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id"];
const OUR_LABEL = "outpost.dev/app";

/** Why an application of the template is not made: it would say of itself what only the service says, or that it is part of another one. */
function forged(set: ApplicationSet, { metadata }: Generated): string | undefined {
  const tenant = tenantOf(set);
  const isPart = (key: string) => metadata.annotations?.[key] !== undefined || metadata.labels?.[key] !== undefined;
  const part = tenant === undefined ? undefined : [...TRACKING, OUR_LABEL].find(isPart);
  const mark = marksIn({ metadata }, tenant)[0] ?? part;
  return mark && `application ${metadata.name} carries ${mark}, which only Outpost sets: remove it from the template`;
}

/**
 * Why an application of a tenant's set may not have its name: the service gives the applications of each scope below the agent's an ending of
 * their own, and the first to use one of those names would keep it from its owner.
 */
function taken(set: ApplicationSet, { metadata }: Generated): string | undefined {
  const [ending] = /-[0-9a-f]{12}$/.exec(metadata.name) ?? [];
  if (tenantOf(set) === undefined || ending === undefined || set.metadata.name.endsWith(ending)) return undefined;
  return `application ${metadata.name} has a name that the service may give to an application of another scope: let it end in something else than ${ending}`;
}

async function change(deps: SetDeps, set: ApplicationSet, wanted: Generated, live: LiveApplication) {
  const clash = clashOf(set, wanted, live);
  if (clash) return { kind: "stop", reason: APPSET.clash, message: clash } satisfies Failure;
  // One that is being deleted is created again when it is gone.
  if (live.metadata.deletionTimestamp) return "same";
  const next = allows(set, "update") ? updated(set, wanted, live) : marked(set, live);
  return next === live ? "same" : deps.home.update(RESOURCES.application, next);
}

const owned = (deps: SetDeps, set: ApplicationSet): LiveApplication[] =>
  [...deps.applications.all()].filter((app) => isOwned(app, set));

/** Deletes the set's own applications that it does not make any more. */
async function prune(deps: SetDeps, set: ApplicationSet, all: readonly Generated[]): Promise<Problem[]> {
  const names = new Set(all.map(({ metadata }) => metadata.name));
  const problems: Problem[] = [];
  for (const app of owned(deps, set)) {
    if (names.has(app.metadata.name) || app.metadata.deletionTimestamp) continue;
    const deleted = await remove(deps, app);
    if (deleted) problems.push(deleted);
    else deps.happened?.(set, "Deleted", `Deleted Application "${app.metadata.name}"`);
  }
  return problems;
}

async function remove(deps: SetDeps, app: LiveApplication): Promise<Problem | undefined> {
  const { name, uid } = app.metadata;
  const deleted = await deps.home.delete(RESOURCES.application, deps.namespace, name, { uid });
  if (deleted.kind === "done" || deleted.reason === KUBE.notFound) return undefined;
  return { reason: APPSET.remove, message: `application ${name} could not be deleted: ${deleted.message}` };
}

/** One step of a progressive sync: who may sync now is asked to. */
async function advance(deps: SetDeps, set: ApplicationSet, all: readonly Generated[], changed: Set<string>) {
  const valid = all.filter((one) => !validateApplication(one, deps.namespace));
  const candidates = valid.map(({ metadata: { name, labels } }) => ({
    name,
    labels,
    live: deps.applications.get(name),
    changed: changed.has(name),
  }));
  const rollout = rollOut(set.spec, candidates, set.status?.applicationStatus ?? [], timeOf(deps));
  for (const name of rollout.sync) {
    const live = deps.applications.get(name);
    if (!live || live.operation || live.status?.operationState?.phase === "Running" || !isOwned(live, set)) continue;
    // With the version, so that another client's operation is not overwritten.
    const patch = {
      metadata: { resourceVersion: live.metadata.resourceVersion },
      operation: operationOf(valid.find((one) => one.metadata.name === name)!),
    };
    const asked = await deps.home.mergePatch(RESOURCES.application, deps.namespace, name, patch);
    if (asked.kind === "done") deps.applications.seen(asked.value as LiveApplication);
  }
  return rollout;
}

const timeOf = (deps: SetDeps): string => new Date(deps.now()).toISOString().replace(/\.\d+/, "");

/** Writes how the set is, and nothing when that is known. */
async function report(
  deps: SetDeps,
  set: ApplicationSet,
  said: Omit<SetCondition, "lastTransitionTime">[],
  fresh: boolean,
  steps?: ApplicationStep[],
): Promise<undefined> {
  const { name } = set.metadata;
  const conditions = withTimes(said, set.status?.conditions, timeOf(deps));
  const mine = owned(deps, set);
  const health = healthFrom(conditions);
  const before = set.status?.health;
  // The former engine may have stored no time: then there is none until it changes.
  const lastTransitionTime = before?.status === health.status ? before.lastTransitionTime : timeOf(deps);
  const generation = set.metadata.annotations?.[META.generation];
  const status: SetStatus = {
    ...(generation === undefined ? {} : { observedGeneration: Number(generation) }),
    conditions,
    resources: resourcesOf(mine),
    resourcesCount: mine.length,
    health: { ...health, ...(lastTransitionTime ? { lastTransitionTime } : {}) },
    ...(steps ? { applicationStatus: steps } : {}),
  };
  const { applicationStatus, ...rest } = set.status ?? {};
  const known = { ...rest, ...(steps || applicationStatus ? { applicationStatus } : {}) };
  if (canonical(status) !== canonical(known)) {
    const written = await deps.home.patchStatus(APPLICATION_SET, deps.namespace, name, {
      ...status,
      applicationStatus: steps ?? null,
    });
    if (written.kind === "done") deps.written(written.value as ApplicationSet);
  }
  if (fresh)
    await deps.home.mergePatch(APPLICATION_SET, deps.namespace, name, {
      metadata: { annotations: { [META.refreshSet]: null } },
    });
  return undefined;
}

/** Sets whose deletion is more than what Kubernetes does by itself. */
const needsFinalizer = (set: ApplicationSet): boolean =>
  (isReverse(set.spec) || !allows(set, "delete")) && !set.metadata.finalizers?.includes(META.finalizer);

const finalizers = ({ metadata }: ApplicationSet, add: boolean) => {
  const others = (metadata.finalizers ?? []).filter((one) => one !== META.finalizer);
  return {
    metadata: { resourceVersion: metadata.resourceVersion, finalizers: add ? [...others, META.finalizer] : others },
  };
};

/** What a set that is being deleted leaves behind. */
async function finish(deps: SetDeps, set: ApplicationSet): Promise<number | undefined> {
  if (!set.metadata.finalizers?.includes(META.finalizer)) return undefined;
  const mine = owned(deps, set);
  if (!allows(set, "delete")) {
    for (const app of mine) {
      const ownerReferences = (app.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== set.metadata.uid);
      const { resourceVersion, name } = app.metadata;
      const freed = await deps.home.mergePatch(RESOURCES.application, deps.namespace, name, {
        metadata: { resourceVersion, ownerReferences },
      });
      if (freed.kind === "done") deps.applications.seen(freed.value as LiveApplication);
      else if (freed.reason !== KUBE.notFound) return BUSY_AGAIN_MS;
    }
  } else if (mine.length) {
    for (const app of next(set, mine)) if (!app.metadata.deletionTimestamp) await remove(deps, app);
    // Their going away is seen and leads back here.
    return BUSY_AGAIN_MS;
  }
  await deps.home.mergePatch(APPLICATION_SET, deps.namespace, set.metadata.name, finalizers(set, false));
  return undefined;
}

/** Which applications go now: all, or those of the last step that has any left. */
function next({ spec, status }: ApplicationSet, mine: LiveApplication[]): LiveApplication[] {
  if (!isReverse(spec) || !isRolling(spec)) return mine;
  const steps = new Map((status?.applicationStatus ?? []).map((one) => [one.application, Number(one.step)]));
  const step = (app: LiveApplication) => steps.get(app.metadata.name) ?? -1;
  const last = Math.max(...mine.map(step));
  return mine.filter((app) => step(app) === last);
}
