import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { Health } from "../../../kube/health/health.ts";
import { describe, gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import { instanceOf } from "../../project/instance.ts";
import { type Application, FINALIZERS, sourcesOf } from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Deps } from "../deps.ts";
import type { Destination } from "../destination.ts";
import type { Memory } from "../memory.ts";
import { type DeletionHook, hookName, hookOf } from "../order.ts";
import { render, toTargets } from "../render.ts";
import { applyTarget } from "../sync/apply.ts";
import { appLabel, remark } from "../tracking.ts";

const PARTINGS: Record<DeletionHook, string[]> = {
  PreDelete: [FINALIZERS.preDelete, FINALIZERS.preDeleteCleanup],
  PostDelete: [FINALIZERS.postDelete, FINALIZERS.postDeleteCleanup],
};

/**
 * Keeps an application from being deleted before its deletion hooks have run: their finalizers come and go with the hooks. A text is
 * the list that has to be written.
 */
export function finalizersFor(app: Application, targets: readonly CompareTarget[]): string[] | undefined {
  const now = app.metadata.finalizers ?? [];
  let next = now;
  for (const [parting, names] of Object.entries(PARTINGS)) {
    const wanted = targets.some(({ hook }) => hook?.partings.includes(parting as DeletionHook));
    const others = next.filter((name) => !names.includes(name));
    if (wanted ? !names.every((name) => next.includes(name)) : others.length !== next.length)
      next = wanted ? [...others, ...names] : others;
  }
  return next === now ? undefined : next;
}

/** The application's objects for its deletion: as last known, else from Git. */
export async function lastTargets(
  look: { deps: Deps; app: Application; destination: Destination },
  memory: Memory,
): Promise<Outcome<CompareTarget[]>> {
  const { app, destination } = look;
  if (memory.wanted) return done(memory.wanted.normalised.targets);
  const rendered = await render(look, { sources: sourcesOf(app), freshness: "cached" });
  if (rendered.kind !== "done") return rendered;
  return done((await toTargets(app, destination, rendered.value.objects!)).targets);
}

/** An application that is taken away, with its last known objects. */
interface Deletion {
  app: Application;
  memory: Memory;
  destination: Destination;
  targets: readonly CompareTarget[];
}

/** Runs the deletion hooks, wave by wave; `done` with false while one of them still runs. */
export async function runDeletionHooks(parting: DeletionHook, deletion: Deletion): Promise<Outcome<boolean>> {
  const { app, memory, destination, targets } = deletion;
  const hooks = named(parting, app, targets, destination.own);
  const label = appLabel(instanceOf(app, destination.own));
  for (const wave of [...new Set(hooks.map((hook) => hook.wave))].sort((a, b) => a - b)) {
    const mine = hooks.filter((hook) => hook.wave === wave);
    for (const hook of mine) {
      if (destination.live.get(hook.key, label)) continue;
      const made = await applyTarget(destination, hook, { app, verdicts: memory.verdicts, options: [] });
      if (made.kind !== "done")
        return { ...made, message: `${parting} hook ${describe(hook.object)}: ${made.message}` };
    }
    await destination.settings.judge.prepare([mine.map((hook) => destination.live.get(hook.key, label))]);
    const all = mine.map((hook) => healthIn(destination, hook, label));
    const failed = all.filter(({ status }) => status === "Degraded" || status === "Unknown");
    const why = failed.find(({ message }) => message)?.message;
    if (failed.length)
      return stop(
        "HookFailed",
        `${failed.length} out of ${mine.length} ${parting} hooks failed${why ? `: ${why}` : ""}; delete a failed one to run it again`,
      );
    if (all.some(({ status }) => status !== "Healthy")) return done(false);
  }
  return done(true);
}

/** Deletes the hooks whose policy asks for it, after they have succeeded; `done` with false while one of them still exists. */
export async function cleanPartings(
  parting: DeletionHook,
  { app, destination, targets }: Deletion,
): Promise<Outcome<boolean>> {
  const { client, writer, live } = destination;
  const label = appLabel(instanceOf(app, destination.own));
  let open = false;
  for (const hook of named(parting, app, targets, destination.own)) {
    const object = live.get(hook.key, label);
    if (!object || !hook.hook!.deletePolicies.includes("HookSucceeded")) continue;
    open = true;
    if (object.metadata.deletionTimestamp) continue;
    const { group, version, kind } = gvkOf(object);
    const resource = await client.discovery.find(group, version, kind);
    if (resource.kind !== "done") return resource;
    const { namespace, name, uid } = object.metadata;
    const deleted = await writer.delete(resource.value, namespace, name, { propagation: "Background", uid });
    if (deleted.kind !== "done" && deleted.reason !== KUBE.notFound) return deleted;
    if (deleted.kind !== "done" || (deleted.value as KubeObject).kind === "Status") live.remove(hook.key, label);
  }
  return done(
    !open ||
      named(parting, app, targets, destination.own).every(
        (hook) => !live.get(hook.key, label) || !hook.hook!.deletePolicies.includes("HookSucceeded"),
      ),
  );
}

/** A hook without a health status is complete as soon as it exists. */
function healthIn({ live, settings }: Destination, hook: CompareTarget, label: string): Health {
  const object = live.get(hook.key, label);
  return (object && settings.judge.of(object)) ?? { status: "Healthy" };
}

/** The hooks of a parting; one with only `generateName` has the same name in every look at this deletion. */
function named(
  parting: DeletionHook,
  app: Application,
  targets: readonly CompareTarget[],
  own: string,
): CompareTarget[] {
  return targets
    .filter(({ hook }) => hook?.partings.includes(parting))
    .map((target) => {
      if (target.object.metadata.name) return target;
      const { generateName: _, ...metadata } = target.object.metadata;
      const since = app.metadata.deletionTimestamp ?? "";
      const object = {
        ...target.object,
        metadata: { ...metadata, name: hookName(target.object, parting, "", since) },
      } as KubeObject;
      remark(object, instanceOf(app, own), app.spec.destination.namespace ?? "");
      return { ...target, key: keyOf(object), object };
    });
}

/** Whether an object is a hook of a deletion: those are not part of what is deleted. */
export const isParting = (object: KubeObject): boolean => (hookOf(object)?.partings.length ?? 0) > 0;
