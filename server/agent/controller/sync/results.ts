import { gvkOf } from "../../../kube/object.ts";
import type { OperationPhase, OperationState, ResourceResult } from "../application.ts";
import { imagesOf, within } from "../status/summary.ts";
import type { Task } from "../tasks.ts";

// Of one object: a workload has a dozen.
const MAX_IMAGES = 8_192;

/** The result of a task. */
export type Told = Pick<ResourceResult, "status" | "message" | "reason" | "hookPhase">;

export const resultId = (r: ResourceResult): string => `${r.syncPhase}|${r.group}/${r.kind}/${r.namespace}/${r.name}`;

/** Argo CD's word for objects that are no hooks: an applied object is `Running` until its wave is over. */
const PHASES: Record<string, OperationPhase> = {
  Synced: "Running",
  SyncFailed: "Failed",
  Pruned: "Succeeded",
  PruneSkipped: "Succeeded",
};

export function resultOf({ object, hook, phase }: Task, told: Told): ResourceResult {
  const { group, version, kind } = gvkOf(object);
  const { namespace = "", name } = object.metadata;
  const images = within(MAX_IMAGES, imagesOf(object, { begins: false }));
  return {
    group,
    version,
    kind,
    namespace,
    name,
    ...told,
    ...(told.status && !hook ? { hookPhase: PHASES[told.status] } : {}),
    ...(hook ? { hookType: phase } : {}),
    syncPhase: phase,
    ...(images.length ? { images } : {}),
  };
}

/** Of the destination's namespace, which is no object of the application. */
export const namespaceResult = (name: string, told: Told): ResourceResult => ({
  group: "",
  version: "v1",
  kind: "Namespace",
  namespace: "",
  name,
  ...told,
  syncPhase: "PreSync",
});

/** When an operation ended: operations of one second start a second apart, so a start may be ahead of the clock, and nothing ends before it begins. */
export const endOf = ({ startedAt }: Pick<OperationState, "startedAt">, now: string): string =>
  Date.parse(startedAt) > Date.parse(now) ? startedAt : now;
