import type { Failure } from "../../../base/outcome.ts";
import type { Health } from "../../../kube/health/health.ts";
import { describe, gvkOf, type KubeObject } from "../../../kube/object.ts";
import { instanceOf } from "../../project/instance.ts";
import { META, type ResourceStatus } from "../application.ts";
import { kindId } from "../cluster/watch-kinds.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { csv, waveOf } from "../order.ts";
import { imagesOf } from "../status/summary.ts";
import { asksConfirmation } from "../sync/confirm.ts";
import { otherOwner, partOfBoth } from "../sync/other-owner.ts";
import { pruneAllowed } from "../tasks.ts";
import { appLabel } from "../tracking.ts";
import type { Placed } from "./context.ts";

/** What a look says of one object. */
export interface Entry {
  readonly row: ResourceStatus;
  /** Whether a sync could change it. */
  readonly syncable: boolean;
  /** Its part in the application's health; undefined for ignored and unread objects. */
  readonly part?: { readonly health?: Health | undefined; readonly missing: boolean } | undefined;
  readonly images: readonly string[];
  /** The live object, if it is the application's. */
  readonly present?: KubeObject | undefined;
  /** Not in Git, and marked `IgnoreExtraneous`. */
  readonly extraneous?: boolean;
}

interface Compared {
  readonly target: CompareTarget;
  readonly same: boolean;
  readonly unseen: ReadonlyMap<string, Failure>;
  /** Kinds whose definitions come with the application. */
  readonly brought: ReadonlySet<string>;
}

/** Of an object that Git has. */
export function entryOfTarget(look: Placed, compared: Compared): Entry {
  const { app, memory, destination, report } = look;
  const { target, unseen, brought } = compared;
  const { object, key, wave, problem } = target;
  const isSeen = !unseen.has(kindId(object));
  const refused = destination.refuse?.(object, target.resource);
  const current = refused ? undefined : destination.live.get(key, appLabel(instanceOf(app, destination.own)));
  const row = rowOf(object, wave);
  if (asksConfirmation(current ?? object, app.spec.syncPolicy?.syncOptions ?? []))
    row.requiresDeletionConfirmation = true;
  const syncable = setStatus(look, compared, { row, refused, current });
  if (problem && !brought.has(kindId(object)))
    report.condition("ComparisonError", problem.reason, `${describe(object)}: ${problem.message}`);
  const here = refused ? undefined : (current ?? memory.unlabelled.get(key));
  const health = here && destination.settings.judge.of(here);
  if (health) row.health = health;
  else if (!here && isSeen) row.health = { status: "Missing" };
  const counts = isSeen && object.metadata.annotations?.[META.ignoreHealth] !== "true";
  return {
    row,
    syncable,
    part: counts ? { health, missing: !here } : undefined,
    images: imagesOf(current ?? object),
    present: current,
  };
}

/** Writes the sync status of an object into its row, with refusals and other owners. Returns whether a sync could change it. */
function setStatus(
  { app, destination, report }: Placed,
  { target, same, unseen }: Compared,
  { row, refused, current }: { row: ResourceStatus; refused: string | undefined; current: KubeObject | undefined },
): boolean {
  const { object } = target;
  if (unseen.has(kindId(object))) {
    row.status = "Unknown";
    return false;
  }
  if (refused) {
    // A sync will be refused for it, and say so.
    row.status = "Unknown";
    report.condition("ExcludedResourceWarning", "NotPermitted", `${describe(object)}: ${refused}`);
    return true;
  }
  const { live, claims } = destination;
  const here = !current && (live.find(target.key) || claims.has(target.key));
  const owner = here ? otherOwner(destination, target, app) : undefined;
  row.status = same && !owner ? "Synced" : "OutOfSync";
  if (owner) {
    report.condition("SharedResourceWarning", "SharedResource", partOfBoth(destination, object, { app, other: owner }));
  }
  return !owner && !same;
}

/** Of an object of the application that Git does not have. */
export function entryOfExtra(
  { app, destination }: Placed,
  object: KubeObject,
  unseen: ReadonlyMap<string, Failure>,
): Entry {
  // An object that cannot be read may or may not exist.
  if (unseen.has(kindId(object)))
    return { row: { ...rowOf(object, 0), status: "Unknown" }, syncable: false, images: [] };
  const options = app.spec.syncPolicy?.syncOptions ?? [];
  const row: ResourceStatus = { ...rowOf(object, 0), status: "OutOfSync", requiresPruning: true };
  if (asksConfirmation(object, options)) row.requiresDeletionConfirmation = true;
  const health = destination.settings.judge.of(object);
  if (health) row.health = health;
  const extraneous = csv(object.metadata.annotations?.[META.compareOptions]).includes("IgnoreExtraneous");
  // An object that is being deleted needs nothing more.
  const syncable = !object.metadata.deletionTimestamp && !extraneous && pruneAllowed(object, options);
  return { row, syncable, extraneous, part: { health, missing: false }, images: [] };
}

/** The row of a live hook; its health is shown but not counted. */
export function entryOfHook({ destination }: Placed, hook: KubeObject): Entry {
  const health = destination.settings.judge.of(hook);
  const row = { ...rowOf(hook, waveOf(hook)), ...(health ? { health } : {}), hook: true, requiresPruning: true };
  return { row, syncable: false, images: imagesOf(hook) };
}

function rowOf(object: KubeObject, wave: number): ResourceStatus {
  const { group, version, kind } = gvkOf(object);
  const row: ResourceStatus = { version, kind, name: object.metadata.name };
  if (group) row.group = group;
  if (object.metadata.namespace) row.namespace = object.metadata.namespace;
  if (wave) row.syncWave = wave;
  return row;
}
