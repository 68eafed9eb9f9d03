import { done, type Outcome } from "../../../base/outcome.ts";
import { inParallel } from "../../../base/process/parallel.ts";
import { pause } from "../../../base/process/pause.ts";
import { KUBE } from "../../../kube/errors.ts";
import { HOOK_FINALIZER } from "../../../kube/health/health.ts";
import type { Judge } from "../../../kube/health/judge.ts";
import { gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import type { OperationPhase, OperationState } from "../application.ts";
import { isOpen } from "../config/policy.ts";
import type { Destination } from "../destination.ts";
import { hookOf, type Phase } from "../order.ts";
import { appLabel, effectiveOwner } from "../tracking.ts";

// Which run of the operation made a hook, so that a restart of this program does not run it twice.
export const STARTED = "outpost.dev/hook-started-at";
// The phase, for a hook that runs in several phases.
export const PHASE = "outpost.dev/hook-phase";
const TRIES = 4;
// For a cluster that is unreachable when an application is deleted.
const AGAIN_MS = 10_000;
const PATIENCE = 60;

/**
 * A hook as a run of an operation makes it: with the mark of that run, and held. One that takes itself away when it is done, or is taken away,
 * stays until its result is stored; only then its finalizer is removed (`releaseHooks`). Otherwise the controller that starts after a
 * controller that died between would find none and make it once more.
 */
export function hookObject(object: KubeObject, { startedAt }: OperationState, phase: Phase): KubeObject {
  const { annotations, finalizers = [] } = object.metadata;
  const held = finalizers.includes(HOOK_FINALIZER) ? finalizers : [...finalizers, HOOK_FINALIZER];
  const several = (hookOf(object)?.phases.length ?? 0) > 1;
  const marks = { [STARTED]: startedAt, ...(several ? { [PHASE]: phase } : {}) };
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, ...marks }, finalizers: held } };
}

/** Whether this very run made a hook, for this phase. */
export const isOf = ({ metadata }: KubeObject, { startedAt }: OperationState, phase?: Phase): boolean =>
  metadata.annotations?.[STARTED] === startedAt && (!phase || (phaseOf(metadata) ?? phase) === phase);

const phaseOf = ({ annotations }: KubeObject["metadata"]): string | undefined => annotations?.[PHASE];

/** The result of a hook according to its health; undefined if it is gone. */
export function hookPhase(
  live: KubeObject | undefined,
  judge: Pick<Judge, "of">,
): { phase: OperationPhase; message?: string } {
  const health = live && judge.of(live);
  const status = health?.status ?? (live ? "Healthy" : undefined);
  if (status === "Healthy") return { phase: "Succeeded", message: health?.message };
  const runs = status === "Progressing" || status === "Suspended";
  return { phase: runs ? "Running" : "Failed", message: health?.message };
}

/** Whether a hook that goes will never say how it ended: with its namespace goes all that works for it, and the namespace waits for the hook. */
export async function isDoomed({ client }: Destination, { metadata }: KubeObject): Promise<boolean> {
  if (!metadata.deletionTimestamp || !metadata.namespace) return false;
  const namespace = await client.get(RESOURCES.namespace, undefined, metadata.namespace);
  return namespace.kind === "done"
    ? namespace.value.metadata.deletionTimestamp !== undefined
    : namespace.reason === KUBE.notFound;
}

/**
 * What a new hook finds in its place: nothing, the hook itself as this run has made it, one to delete first, or one of an earlier phase of this
 * run whose result is not stored yet. A hook without the policy `BeforeHookCreation` is written over the existing one.
 */
export function inTheWay(
  live: KubeObject,
  state: OperationState,
  phase: Phase,
  policies: readonly string[],
): "itself" | "old" | "unwritten" | "" {
  if (isOf(live, state, phase)) return "itself";
  const goes = live.metadata.deletionTimestamp !== undefined || policies.includes("BeforeHookCreation");
  // One object for all phases, which has done its work.
  if (isOf(live, state) && !goes) return "itself";
  if (isNeeded(live, state)) return "unwritten";
  return goes ? "old" : "";
}

/** Whether a stored operation still waits for the result of a hook. */
export function isNeeded(hook: KubeObject, state: OperationState | undefined): boolean {
  if (!state || !isOpen(state) || !isOf(hook, state)) return false;
  const { group } = gvkOf(hook);
  const { namespace = "", name } = hook.metadata;
  const phase = phaseOf(hook.metadata);
  const results = (state.syncResult?.resources ?? []).filter(
    (r) =>
      (phase ? r.hookType === phase : r.hookType) &&
      r.kind === hook.kind &&
      r.name === name &&
      (r.group ?? "") === group &&
      (r.namespace ?? "") === namespace,
  );
  return results.length === 0 || results.some(({ hookPhase }) => hookPhase === "Running");
}

/** Lets go of the hooks of an application wherever they are: it may have gone elsewhere while one worked. */
export async function releaseAll(
  open: Iterable<Destination>,
  here: Destination,
  app: string,
  state: OperationState | undefined,
): Promise<Outcome<void>> {
  const released = await releaseHooks(here, app, state);
  // A cluster may be known by two names: what the operation needs here is not let go of there.
  if (!state || !isOpen(state))
    for (const other of open) if (other.id !== here.id) await releaseHooks(other, app, state);
  return released;
}

/** The same where an application is gone and is not looked at again: also at a cluster that does not answer for ten minutes. */
export async function releaseLast(
  destination: Destination,
  app: string,
  stateOf: () => OperationState | undefined,
): Promise<void> {
  for (let tries = 1; tries <= PATIENCE; tries++) {
    const released = await releaseHooks(destination, app, stateOf());
    if (released.kind === "done" || released.kind === "stop" || !(await pause(AGAIN_MS, destination.ending))) return;
  }
}

/** Removes the finalizers of hooks that the operation no longer needs; returns the first failure, if any. */
export async function releaseHooks(
  destination: Destination,
  app: string,
  state: OperationState | undefined,
): Promise<Outcome<void>> {
  const label = appLabel(app);
  const { tracking } = destination.settings;
  const held = [...destination.live.ofApp(label).values()].filter(
    (object) =>
      isHeld(object) &&
      hookOf(object) &&
      (effectiveOwner(object, app, tracking) ?? app) === app &&
      !isNeeded(object, state),
  );
  let outcome: Outcome<void> = done(undefined);
  await inParallel(held, async (hook) => {
    const released = await release(destination, hook, label);
    if (released.kind !== "done") outcome = released;
  });
  return outcome;
}

const isHeld = ({ metadata }: KubeObject): boolean => metadata.finalizers?.includes(HOOK_FINALIZER) === true;

/** Removes the finalizer of one hook. Where the account that made it may no longer change it, this program does, as the finalizer is its own. */
export async function release(
  { client, writer, live }: Destination,
  hook: KubeObject,
  label: string,
): Promise<Outcome<void>> {
  const gone = () => done(live.remove(keyOf(hook), label));
  const { group, version, kind } = gvkOf(hook);
  const resource = await client.discovery.find(group, version, kind);
  if (resource.kind !== "done") return resource;
  for (let here = hook, tries = 1; isHeld(here); tries++) {
    const { namespace, name, resourceVersion, finalizers } = here.metadata;
    const patch = { metadata: { resourceVersion, finalizers: finalizers!.filter((one) => one !== HOOK_FINALIZER) } };
    let written = await writer.mergePatch(resource.value, namespace, name, patch);
    if (written.kind === "stop" && written.reason !== KUBE.notFound && writer !== client)
      written = await client.mergePatch(resource.value, namespace, name, patch);
    if (written.kind === "done") {
      const { deletionTimestamp, finalizers: others } = written.value.metadata;
      return deletionTimestamp && !others?.length ? gone() : done(live.put(written.value));
    }
    if (written.reason === KUBE.notFound) return gone();
    // Its worker reports on it at the same time.
    if (written.reason !== KUBE.conflict || tries === TRIES) return written;
    const read = await client.get(resource.value, namespace, name);
    if (read.kind !== "done") return read.reason === KUBE.notFound ? gone() : read;
    if (read.value.metadata.uid !== hook.metadata.uid) return done(undefined);
    here = read.value;
  }
  return done(undefined);
}
