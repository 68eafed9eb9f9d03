import { type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, type KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import type { AgentContext } from "../context.ts";
import type { Collection } from "../names.ts";
import { isOurs, notHere } from "../patterns.ts";
import { collectionOf } from "./report.ts";

/** The reported object, as it is now: by namespace, name and uid, and of the same collection. */
export async function liveObject(
  ctx: Pick<AgentContext, "client" | "namespace" | "patterns">,
  live: unknown,
  resource: Resource,
  collection: Collection,
): Promise<Outcome<KubeObject>> {
  const { namespace, name, uid } = (live ?? {}) as Record<string, unknown>;
  if (
    typeof namespace !== "string" ||
    typeof name !== "string" ||
    typeof uid !== "string" ||
    !namespace ||
    !name ||
    !uid
  )
    return stop(
      "ParamsInvalid",
      "the task does not name a live object by namespace, name and uid; this agent may be older than the service",
    );
  if (!(await isOurs(ctx, resource.kind, namespace))) return stop("NotFound", notHere(namespace));
  const found = await ctx.client.get(resource, namespace, name);
  if (found.kind !== "done")
    return found.reason === KUBE.notFound
      ? stop("NotFound", `${resource.kind} ${namespace}/${name} is not in the cluster any more`)
      : found;
  // A Secret of another type was not reported.
  if (collectionOf(resource.kind, found.value) !== collection)
    return stop("NotFound", `${resource.kind} ${namespace}/${name} is none of ${collection} any more`);
  if (found.value.metadata.uid === uid) return found;
  return stop(
    "NotTheSame",
    `${describe(found.value)} was deleted and made again since the service was told of it; try again in a moment`,
  );
}
