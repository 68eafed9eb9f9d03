import { type Failure, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { instanceOf } from "../../project/instance.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { Application } from "../application.ts";
import { trim } from "../cluster/live.ts";
import type { Destination } from "../destination.ts";
import { effectiveOwner } from "../tracking.ts";
import { leftToOther } from "./other-owner.ts";

/** How the API server says that an object is not there. */
export const MISSING: ReadonlySet<string> = new Set([KUBE.notFound, KUBE.namespaceNotFound]);
/** Why an object is left to another application. */
export const SHARED = "SharedResource";

/**
 * Why a tenant may not write labels and annotations on its destination namespace: an application of another scope has it. They are written under the
 * name by which all is applied, and so would take away what that application has there, its marks among it.
 */
export async function leftNamespace(
  destination: Destination,
  app: Application,
  namespace: KubeObject,
): Promise<Failure | undefined> {
  const tenant = tenantOf(app);
  if (tenant === undefined) return undefined;
  const { client, own, settings, application } = destination;
  const there = await client.get(RESOURCES.namespace, undefined, namespace.metadata.name);
  if (there.kind !== "done") return MISSING.has(there.reason) ? undefined : there;
  const other = effectiveOwner(trim(there.value), instanceOf(app, own), settings.tracking);
  if (other === undefined || other === instanceOf(app, own)) return undefined;
  const owner = application?.(other);
  if (owner && tenantOf(owner) === tenant) return undefined;
  return stop(SHARED, leftToOther(destination, namespace, { app, other }));
}
