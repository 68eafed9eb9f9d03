import { done, type Failure, type Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { instanceOf } from "../../project/instance.ts";
import { type Application, listedOf } from "../application.ts";
import type { Verdicts } from "../compare/compare.ts";
import { isAppliedAlready } from "../compare/contained.ts";
import { ignoring } from "../compare/ignore.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";
import { unmanaged } from "../projects.ts";
import { appLabel, markOf } from "../tracking.ts";
import { isSkippedByRbac, readOneByOne } from "./respect-rbac.ts";

/** Whose kinds are watched. */
export interface Watched {
  readonly app: Application;
  readonly destination: Destination;
  readonly targets: readonly CompareTarget[];
  /** Receives the verdict about each adopted object. */
  readonly verdicts?: Verdicts;
}

/** Watches every kind an application wants or had. */
export async function watchKinds(watched: Watched): Promise<{
  /** The kinds that cannot be seen. */
  unseen: Map<string, Failure>;
  /** Whether some kinds cannot be watched, and are read by the clock instead. */
  leftOut: boolean;
}> {
  const { app, destination, targets } = watched;
  const wanted = new Map<string, Resource>();
  const failures = new Map<string, Failure>();
  let leftOut = false;
  for (const { resource, problem, object } of targets) {
    if (resource) wanted.set(`${resource.group}/${resource.kind}`, resource);
    // Its scope is unknown, and so is its key: treating it as absent would prune it.
    else if (problem && problem.kind !== "stop") failures.set(kindId(object), problem);
  }
  // Objects of an earlier revision must be watched to be pruned, and hooks to have their finalizer removed.
  const hooks = app.status?.operationState?.syncResult?.resources?.filter(({ hookType }) => hookType) ?? [];
  for (const { group = "", version, kind } of [...(app.status?.resources ?? []), ...hooks]) {
    if (wanted.has(`${group}/${kind}`)) continue;
    const found = await findServed(destination, { group, version, kind });
    if (found.kind === "done") wanted.set(`${group}/${kind}`, found.value);
    else if (found.reason !== KUBE.kindNotFound) failures.set(`${group}/${kind}`, found);
  }
  await Promise.all(
    [...wanted].map(async ([id, resource]) => {
      let seen = await destination.live.observe(resource, appLabel(instanceOf(app, destination.own)));
      if (seen.kind !== "done" && (await isSkippedByRbac(destination, resource, seen))) {
        leftOut = true;
        seen = await readOneByOne(destination, app, resource, targets);
      } else if (seen.kind === "done") seen = await adopt(watched, resource);
      if (seen.kind !== "done") failures.set(id, seen);
    }),
  );
  return { unseen: failures, leftOut };
}

/** A kind in the version that was written, else in one that is served now: a cluster that no longer serves a version has its objects all the same. */
async function findServed(
  { client: { discovery } }: Destination,
  { group, version, kind }: Pick<Resource, "group" | "version" | "kind">,
): Promise<Outcome<Resource>> {
  const found = await discovery.find(group, version, kind);
  if (found.kind === "done" || found.reason !== KUBE.kindNotFound) return found;
  const other = (await discovery.all()).find((one) => one.group === group && one.kind === kind);
  return other ? done(other) : found;
}

/**
 * Takes over the application's objects of a kind that another engine applied; known at once, before the watch shows their new label. Only the
 * answer to the label has all managed fields, so what can be decided by them is decided here.
 */
async function adopt({ app, destination, targets, verdicts }: Watched, resource: Resource): Promise<Outcome<void>> {
  const { tracking, rules } = destination.settings;
  const byKey = new Map(targets.map((target) => [target.key, target]));
  const instance = instanceOf(app, destination.own);
  const taken = await destination.adoption.take({
    owner: markOf(instance, tracking),
    label: appLabel(instance),
    resource,
    writer: destination.writer,
    wanted: new Set(byKey.keys()),
    listed: listedOf(app),
    permits: (object) => !destination.refuse?.(object, resource) && !unmanaged(destination, object, resource),
  });
  if (taken.kind !== "done") return taken;
  for (const object of taken.value) {
    destination.live.put(object);
    const target = byKey.get(keyOf(object));
    if (target && isAppliedAlready(target.object, object, ignoring(app, rules, object)))
      verdicts?.set(target, object, true);
  }
  return done(undefined);
}

/** Why nothing of an application can be seen; undefined while some of it can. */
export function isBlind(targets: readonly CompareTarget[], unseen: ReadonlyMap<string, Failure>): Failure | undefined {
  const [first] = unseen.values();
  return first && targets.length > 0 && targets.every(({ object }) => unseen.has(kindId(object))) ? first : undefined;
}

export const kindId = (object: KubeObject): string => `${gvkOf(object).group}/${object.kind}`;
