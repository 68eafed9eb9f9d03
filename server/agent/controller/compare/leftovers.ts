import type { Outcome } from "../../../base/outcome.ts";
import { FIELD_MANAGER } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import type { Destination } from "../destination.ts";
import type { Ignoring } from "./ignore.ts";
import { hasLeftovers, LAST_APPLIED } from "./last-applied.ts";
import { predict } from "./three-way.ts";

/**
 * Removes what was applied once, has left Git, and is still there because another client has written it since: server-side apply leaves that to
 * the other manager, while the engine before, going by `last-applied-configuration`, removes it. Undefined when nothing is left.
 */
export async function removeLeftovers(
  { writer }: Pick<Destination, "writer">,
  resource: Resource,
  wanted: KubeObject,
  { before, after, ignored }: { before: KubeObject; after: KubeObject; ignored: Ignoring },
): Promise<Outcome<KubeObject> | undefined> {
  const text = before.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined) return undefined;
  const live = withAnnotation({ ...after, metadata: { ...after.metadata, managedFields: [] } }, text);
  if (!hasLeftovers(live, wanted, ignored)) return undefined;
  const merged = predict(wanted, live);
  const kept = wanted.metadata.annotations?.[LAST_APPLIED];
  const { namespace, name, resourceVersion } = after.metadata;
  const body = kept === undefined ? merged : withAnnotation(merged, kept);
  return writer.json("PUT", resourcePath(resource, namespace, name), {
    body: { ...body, metadata: { ...body.metadata, managedFields: undefined, resourceVersion } },
    query: { fieldManager: FIELD_MANAGER, fieldValidation: "Ignore" },
  });
}

const withAnnotation = (object: KubeObject, text: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [LAST_APPLIED]: text } },
});
