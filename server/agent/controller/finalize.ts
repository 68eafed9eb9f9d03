import { KUBE } from "../kube/errors.ts";
import { describe, gvkOf, type KubeObject, keyOf } from "../kube/object.ts";
import { type Application, FINALIZERS, META } from "./application.ts";
import type { Deps, Memory, Next } from "./deps.ts";
import type { Destination } from "./destination.ts";
import { watchKinds } from "./observe.ts";
import { syncOption, waveOf } from "./order.ts";
import type { Report } from "./report.ts";
import { appLabel, ownerOf } from "./tracking.ts";

// A watch shows when an object is gone; this is for the case that it does not.
const LOOK_AGAIN_MS = 2_000;

/**
 * Deletes what an application owns, when one of its finalizers says so: the highest wave first, the next one when it is gone; then the finalizer
 * goes, and with it the application. Without a finalizer of ours the objects stay.
 */
export async function finalize(deps: Deps, app: Application, memory: Memory, report: Report): Promise<Next | undefined> {
  const ours = (app.metadata.finalizers ?? []).filter((finalizer) => Object.values<string>(FINALIZERS).includes(finalizer));
  if (ours.length === 0) return undefined;
  const destination = await deps.destinations.find(app);
  // A cluster that nobody knows any more cannot be cleaned up.
  if (destination.kind !== "done") {
    if (destination.reason === "ClusterNotFound") return release(deps, app, ours);
    report.condition("DeletionError", destination.reason, destination.message);
    await report.end();
    return { afterMs: 30_000 };
  }
  report.begin("Deleting", "deleting the application's objects");

  // What is not seen is not known to be gone.
  const unseen = await watchKinds(destination.value, app, memory.wanted?.normalised.targets ?? []);
  if (unseen.size) {
    for (const [kind, failure] of unseen)
      report.condition("DeletionError", failure.reason, `${kind} cannot be watched: ${failure.message}`);
    await report.end();
    return { afterMs: 10_000 };
  }
  const owned = ownedObjects(destination.value, app);
  if (owned.length === 0) return release(deps, app, ours);

  const wave = Math.max(...owned.map(waveOf));
  const propagation = ours.includes(FINALIZERS.background) ? "Background" : "Foreground";
  const now = owned.filter((object) => waveOf(object) === wave && !object.metadata.deletionTimestamp);
  const failures = await Promise.all(now.map((object) => remove(destination.value, app, object, propagation)));
  for (const failure of failures) if (failure) report.condition("DeletionError", failure.reason, failure.message);
  if (failures.some(Boolean)) await report.end();
  else if (ownedObjects(destination.value, app).length === 0) {
    await report.drop();
    return release(deps, app, ours);
  } else await report.drop();
  return { afterMs: failures.some(Boolean) ? 10_000 : LOOK_AGAIN_MS };
}

function ownedObjects({ live }: Destination, app: Application): KubeObject[] {
  const options = app.spec.syncPolicy?.syncOptions ?? [];
  return [...live.ofApp(appLabel(app.metadata.name)).values()].filter(
    (object) =>
      ownerOf(object) === app.metadata.name &&
      object.kind !== "CustomResourceDefinition" &&
      !(object.kind === "Application" && object.metadata.name === app.metadata.name) &&
      object.metadata.annotations?.[META.helmKeep] !== "keep" &&
      syncOption("Delete", object, options) !== "false",
  );
}

async function remove({ client, live }: Destination, app: Application, object: KubeObject, propagation: "Foreground" | "Background") {
  const { group, version, kind } = gvkOf(object);
  const resource = await client.discovery.find(group, version, kind);
  if (resource.kind !== "done") return { reason: resource.reason, message: `${describe(object)}: ${resource.message}` };
  const { namespace, name, uid } = object.metadata;
  const deleted = await client.delete(resource.value, namespace, name, { propagation, uid });
  if (deleted.kind === "done" ? (deleted.value as KubeObject).kind === "Status" : deleted.reason === KUBE.notFound) {
    live.remove(keyOf(object), appLabel(app.metadata.name));
    return undefined;
  }
  // Another object of the same name has taken its place: the precondition kept it from being deleted.
  return deleted.kind === "done" || deleted.reason === KUBE.conflict ? undefined : { reason: deleted.reason, message: deleted.message };
}

async function release(deps: Deps, app: Application, ours: string[]): Promise<Next | undefined> {
  const finalizers = (app.metadata.finalizers ?? []).filter((finalizer) => !ours.includes(finalizer));
  const patch = { metadata: { finalizers, resourceVersion: app.metadata.resourceVersion } };
  const written = await deps.store.patch(app.metadata.name, patch, true);
  return written.kind === "done" || written.reason === KUBE.notFound ? undefined : { afterMs: 500 };
}
