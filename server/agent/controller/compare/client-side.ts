import { type Outcome, stop } from "../../../base/outcome.ts";
import { APPLIER, type KubeClient } from "../../../kube/client.ts";
import { describe, type KubeObject } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import { syncOption } from "../order.ts";
import { withLastApplied } from "./last-applied.ts";
import { predict } from "./three-way.ts";
import { isLenient } from "./unknown-fields.ts";

/**
 * Whether an object is applied client-side, because of `ServerSideApply=false`. Server-side apply is the default here, and it
 * refuses lists that have a key twice, as an environment variable that is set twice.
 */
export const isClientSide = (object: KubeObject, options: readonly string[]): boolean =>
  syncOption("ServerSideApply", object, options) === "false";

/**
 * A three-way apply: the fields that are wanted are put in, those that were applied last and are not wanted any more go, all others stay. What
 * was applied last is kept in kubectl's annotation. The version of the live object makes sure that no write of another is lost.
 */
export async function applyOnClientSide(
  client: Pick<KubeClient, "get" | "json">,
  resource: Resource,
  object: KubeObject,
  { options, there, dryRun = false }: { options: readonly string[]; there: boolean; dryRun?: boolean },
): Promise<Outcome<KubeObject>> {
  const { namespace, name } = object.metadata;
  const query = {
    fieldManager: APPLIER,
    fieldValidation: isLenient(object, options) ? "Ignore" : "Strict",
    dryRun: dryRun ? "All" : undefined,
  };
  const wanted = withLastApplied(object);
  if (!there) return client.json("POST", resourcePath(resource, namespace), { body: wanted, query });
  // The watch keeps only a part of who owns what.
  const read = await client.get(resource, namespace, name);
  if (read.kind !== "done") return read;
  if (!read.value.metadata.resourceVersion) return stop("Unversioned", `${describe(object)} has no version`);
  const merged = predict(object, read.value);
  const { annotations } = wanted.metadata;
  const body = {
    ...merged,
    metadata: { ...merged.metadata, annotations: { ...merged.metadata.annotations, ...annotations } },
  };
  return client.json("PUT", resourcePath(resource, namespace, name), { body, query });
}

/** Adds a remedy to the error about lists with a duplicate key. */
export function advised<T>(sent: Outcome<T>): Outcome<T> {
  if (sent.kind === "done" || !/duplicate entries for key/.test(sent.message)) return sent;
  const advice =
    "remove one of the entries, or set the sync option ServerSideApply=false on the object or the application";
  return { ...sent, message: `${sent.message}; ${advice}` };
}
