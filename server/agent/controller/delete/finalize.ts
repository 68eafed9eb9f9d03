import type { Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import { instanceOf } from "../../project/instance.ts";
import { type Application, FINALIZERS, META } from "../application.ts";
import { straysOf } from "../cluster/strays.ts";
import { watchKinds } from "../cluster/watch-kinds.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { isOpen } from "../config/policy.ts";
import type { Deps, Next } from "../deps.ts";
import type { Destination } from "../destination.ts";
import type { Memory } from "../memory.ts";
import { syncOption, waveOf } from "../order.ts";
import { belongs, place, placeOfDeletion } from "../projects.ts";
import type { Report } from "../status/report.ts";
import { confirmed } from "../sync/confirm.ts";
import { releaseHooks } from "../sync/hooks.ts";
import { appLabel } from "../tracking.ts";
import { cleanPartings, isParting, lastTargets, runDeletionHooks } from "./deletion-hooks.ts";

// A watch shows when an object is gone; this is the fallback if it does not.
const LOOK_AGAIN_MS = 2_000;
const FAILED_MS = 10_000;

const { preDelete, preDeleteCleanup, postDelete, postDeleteCleanup } = FINALIZERS;
const CASCADE: string[] = [FINALIZERS.plain, FINALIZERS.foreground, FINALIZERS.background];
/** The steps of a deletion, each with the finalizers that ask for it, in order; when one is done its finalizers go. */
const STEPS: { finalizers: string[]; run(d: Deletion): Promise<Next | undefined> }[] = [
  { finalizers: [preDelete], run: (d) => settle(d, runDeletionHooks("PreDelete", d)) },
  { finalizers: [preDeleteCleanup], run: (d) => settle(d, cleanPartings("PreDelete", d)) },
  { finalizers: CASCADE, run: deleteOwned },
  { finalizers: [postDelete], run: (d) => settle(d, runDeletionHooks("PostDelete", d)) },
  { finalizers: [postDeleteCleanup], run: (d) => settle(d, cleanPartings("PostDelete", d)) },
];

interface Deletion {
  app: Application;
  memory: Memory;
  report: Report;
  destination: Destination;
  targets: readonly CompareTarget[];
}

/**
 * Takes an application away, as far as its finalizers ask for it: hooks before, what it owns (the highest wave first, the next one when it
 * is gone), hooks after; then the last finalizer goes, and with it the application. Without a finalizer of ours the objects stay.
 */
export async function finalize(
  deps: Deps,
  app: Application,
  memory: Memory,
  report: Report,
): Promise<Next | undefined> {
  const has = (names: string[]) => app.metadata.finalizers?.some((finalizer) => names.includes(finalizer)) === true;
  const ours = STEPS.flatMap(({ finalizers }) => finalizers);
  if (!has(ours)) return undefined;
  const destination = await placeOfDeletion(deps, app);
  // A cluster that is no longer registered cannot be cleaned up.
  if (destination.kind !== "done") {
    if (destination.reason === "ClusterNotFound") return release(deps, app, ours);
    return fail(report, destination, 30_000);
  }
  if (destination.value.skipped) return undefined;
  report.begin("Deleting", "deleting the application's objects");
  const partings = has([preDelete, preDeleteCleanup, postDelete, postDeleteCleanup]);
  // Hooks create objects, so the project is checked as for a sync.
  const permitted = partings ? await place(deps, app) : destination;
  if (permitted.kind !== "done") return fail(report, permitted);
  const targets = partings ? await lastTargets({ deps, app, destination: destination.value }, memory) : undefined;
  if (targets && targets.kind !== "done") return fail(report, targets);
  const known = targets?.value ?? (await lastKnown(deps, app, memory, destination.value));

  // An object that cannot be read is not known to be gone.
  const { unseen } = await watchKinds({ app, destination: destination.value, targets: known });
  if (unseen.size) {
    for (const [kind, failure] of unseen)
      report.condition("DeletionError", failure.reason, `${kind} cannot be watched: ${failure.message}`);
    await report.end();
    return { afterMs: FAILED_MS };
  }
  // The operation that waited for them is over: nothing may block their deletion, nor that of their namespace.
  const released = await releaseHooks(destination.value, instanceOf(app, deps.namespace), undefined);
  if (released.kind !== "done") return fail(report, released);
  for (const step of STEPS) {
    if (!has(step.finalizers)) continue;
    const next = await step.run({ app, memory, report, destination: destination.value, targets: known });
    if (next) {
      await report.drop();
      return next;
    }
    // After this no status is left to report what stays.
    const strays = step.finalizers === CASCADE ? straysOf(app, destination.value, []) : undefined;
    if (strays) deps.log.warn({ app: instanceOf(app, deps.namespace) }, `deleted without the objects ${strays}`);
    await report.drop();
    const conflict = await release(deps, app, step.finalizers);
    if (conflict) return conflict;
    const left = deps.store.get(instanceOf(app, deps.namespace));
    if (!left) return undefined;
    app = left;
  }
  return undefined;
}

/**
 * What was made by a program that ended before it wrote a status is in none: neither objects of a first sync, nor of a kind that came with the last
 * commit, nor hooks of an operation that was interrupted. Git has their kinds.
 */
async function lastKnown(
  deps: Deps,
  app: Application,
  memory: Memory,
  destination: Destination,
): Promise<readonly CompareTarget[]> {
  if (memory.wanted || !maySync(app)) return memory.wanted?.normalised.targets ?? [];
  const targets = await lastTargets({ deps, app, destination }, memory);
  return targets.kind === "done" ? targets.value : [];
}

const maySync = ({ operation, spec: { syncPolicy }, status }: Application): boolean =>
  isOpen(status?.operationState) ||
  operation !== undefined ||
  Boolean(syncPolicy?.automated && syncPolicy.automated.enabled !== false);

async function fail(
  report: Report,
  { reason, message }: { reason: string; message: string },
  afterMs = FAILED_MS,
): Promise<Next> {
  report.condition("DeletionError", reason, message);
  await report.end();
  return { afterMs };
}

async function settle({ report }: Deletion, working: Promise<Outcome<boolean>>): Promise<Next | undefined> {
  const outcome = await working;
  if (outcome.kind !== "done") return fail(report, outcome);
  return outcome.value ? undefined : { afterMs: LOOK_AGAIN_MS };
}

async function deleteOwned({ app, report, destination }: Deletion): Promise<Next | undefined> {
  const owned = ownedObjects(destination, app);
  if (owned.length === 0) return undefined;
  const options = app.spec.syncPolicy?.syncOptions ?? [];
  const [asking] = owned.filter((object) => syncOption("Delete", object, options) === "confirm");
  if (asking && !confirmed(app, app.metadata.deletionTimestamp)) {
    const message = `waiting for deletion confirmation of ${describe(asking)}: annotate the application with ${META.deletionApproved}: <time>`;
    report.condition("DeletionBlocked", "ConfirmationNeeded", message);
    await report.end();
    return { afterMs: 60_000 };
  }
  const wave = Math.max(...owned.map(waveOf));
  const propagation = app.metadata.finalizers?.includes(FINALIZERS.background) ? "Background" : "Foreground";
  const now = owned.filter((object) => waveOf(object) === wave && !object.metadata.deletionTimestamp);
  const failures = (await Promise.all(now.map((object) => remove(destination, app, object, propagation)))).filter(
    (one) => one !== undefined,
  );
  for (const failure of failures) report.condition("DeletionError", failure.reason, failure.message);
  if (failures.length) {
    await report.end();
    return { afterMs: FAILED_MS };
  }
  return ownedObjects(destination, app).length === 0 ? undefined : { afterMs: LOOK_AGAIN_MS };
}

function ownedObjects(destination: Destination, app: Application): KubeObject[] {
  const options = app.spec.syncPolicy?.syncOptions ?? [];
  const ours = belongs(app, destination);
  return [...destination.live.ofApp(appLabel(instanceOf(app, destination.own))).values()].filter(
    (object) =>
      ours(object) &&
      object.kind !== "CustomResourceDefinition" &&
      !isParting(object) &&
      !(object.kind === "Application" && instanceOf(object, destination.own) === instanceOf(app, destination.own)) &&
      object.metadata.annotations?.[META.helmKeep] !== "keep" &&
      syncOption("Delete", object, options) !== "false",
  );
}

async function remove(
  { client, writer, live, own }: Destination,
  app: Application,
  object: KubeObject,
  propagation: "Foreground" | "Background",
) {
  const { group, version, kind } = gvkOf(object);
  const resource = await client.discovery.find(group, version, kind);
  if (resource.kind !== "done") return { reason: resource.reason, message: `${describe(object)}: ${resource.message}` };
  const { namespace, name, uid } = object.metadata;
  const deleted = await writer.delete(resource.value, namespace, name, { propagation, uid });
  if (deleted.kind === "done" ? (deleted.value as KubeObject).kind === "Status" : deleted.reason === KUBE.notFound) {
    live.remove(keyOf(object), appLabel(instanceOf(app, own)));
    return undefined;
  }
  // Another object of the same name has taken its place: the precondition kept it from being deleted.
  return deleted.kind === "done" || deleted.reason === KUBE.conflict
    ? undefined
    : { reason: deleted.reason, message: deleted.message };
}

async function release(deps: Deps, app: Application, ours: string[]): Promise<Next | undefined> {
  const finalizers = (app.metadata.finalizers ?? []).filter((finalizer) => !ours.includes(finalizer));
  const patch = { metadata: { finalizers, resourceVersion: app.metadata.resourceVersion } };
  const written = await deps.store.patch(instanceOf(app, deps.namespace), patch, true);
  return written.kind === "done" || written.reason === KUBE.notFound ? undefined : { afterMs: 500 };
}
