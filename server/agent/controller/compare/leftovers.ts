import { done, type Outcome } from "../../../base/outcome.ts";
import { FIELD_MANAGER } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import type { Destination } from "../destination.ts";
import type { Ignoring } from "./ignore.ts";
import { hasLeftovers, LAST_APPLIED } from "./last-applied.ts";
import { predict } from "./three-way.ts";

const TRIES = 4;

/**
 * Removes what was applied once, has left Git, and is still there because another client has written it since: server-side apply leaves that to
 * the other manager, while the engine before, going by `last-applied-configuration`, removes it. Undefined when nothing is left.
 */
export async function removeLeftovers(
  { client, writer }: Pick<Destination, "client" | "writer">,
  resource: Resource,
  wanted: KubeObject,
  { before, after, ignored }: { before: KubeObject; after: KubeObject; ignored: Ignoring },
): Promise<Outcome<KubeObject> | undefined> {
  const text = before.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined) return undefined;
  const kept = wanted.metadata.annotations?.[LAST_APPLIED];
  let written: Outcome<KubeObject> | undefined;
  for (let [here, tries] = [after, 1]; ; tries++) {
    const live = withAnnotation({ ...here, metadata: { ...here.metadata, managedFields: [] } }, text);
    if (!hasLeftovers(live, wanted, ignored)) return written && done(here);
    const merged = predict(wanted, live);
    const { namespace, name, resourceVersion } = here.metadata;
    const body = kept === undefined ? merged : withAnnotation(merged, kept);
    written = await writer.json<KubeObject>("PUT", resourcePath(resource, namespace, name), {
      body: { ...body, metadata: { ...body.metadata, managedFields: undefined, resourceVersion } },
      query: { fieldManager: FIELD_MANAGER, fieldValidation: "Ignore" },
    });
    // A controller that answers to the apply with a status. The apply has replaced the text: only now is it known what is left over.
    if (written.kind === "done" || written.reason !== KUBE.conflict || tries === TRIES) return written;
    const read = await client.get(resource, namespace, name);
    if (read.kind !== "done" || read.value.metadata.uid !== after.metadata.uid) return written;
    here = read.value;
  }
}

const withAnnotation = (object: KubeObject, text: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [LAST_APPLIED]: text } },
});
