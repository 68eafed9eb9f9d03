import { gvkOf } from "../../kube/object.ts";
import type { ResourceResult } from "./application.ts";
import { imagesOf, within } from "./summary.ts";
import type { Task } from "./tasks.ts";

// Of one object: a workload has a dozen.
const MAX_IMAGES = 8_192;

/** What became of a task. */
export type Told = Pick<ResourceResult, "status" | "message" | "reason" | "hookPhase">;

export const resultId = (r: ResourceResult): string => `${r.syncPhase}|${r.group}/${r.kind}/${r.namespace}/${r.name}`;

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
    ...(hook ? { hookType: phase } : {}),
    syncPhase: phase,
    ...(images.length ? { images } : {}),
  };
}

/** Of a namespace that is no object of the application. */
export const namespaceFailed = (name: string): ResourceResult => ({
  group: "",
  version: "v1",
  kind: "Namespace",
  namespace: "",
  name,
  status: "SyncFailed",
  syncPhase: "PreSync",
});
