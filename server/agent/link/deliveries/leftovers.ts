import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { TENANT } from "../../project/tenant.ts";
import type { AgentContext } from "../context.ts";
import { MANAGED, MARK } from "../names.ts";

/**
 * The tenant that a held object should be marked with and is not: it was delivered by an older version, or to this cluster while its agent
 * belonged to that scope. Undefined where nothing is to be done.
 */
export function missingTenant(
  { account, scope }: Pick<AgentContext, "account" | "scope">,
  { metadata }: KubeObject,
): string | undefined {
  const { [MARK.scope]: delivered = "", [TENANT]: tenant } = metadata.annotations ?? {};
  if (scope === undefined || tenant || metadata.labels?.[MANAGED] !== "true" || !delivered.startsWith(`${account}/`))
    return undefined;
  const of = delivered.slice(account.length + 1);
  return isBelow(scope, of) ? of : undefined;
}

function isBelow(outer: string, inner: string): boolean {
  const [[org, project], [innerOrg, innerProject]] = [outer.split("/"), inner.split("/")];
  if (project !== "-" || innerOrg === "-") return false;
  return org === "-" || (org === innerOrg && innerProject !== "-");
}

/** Marks such an object, so that it has no more power than the objects that the service delivers for that scope now. */
export async function markTenant(ctx: AgentContext, resource: Resource, object: KubeObject): Promise<void> {
  const tenant = missingTenant(ctx, object);
  if (!tenant) return;
  const { metadata } = object;
  const marked = { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [TENANT]: tenant } } };
  const written = await ctx.client.update(resource, marked);
  // After a conflict the newer object is seen next.
  if (written.kind !== "done" && written.reason !== KUBE.conflict && written.reason !== KUBE.notFound)
    ctx.log.warn(
      { object: `${resource.kind}/${metadata.name}`, reason: written.reason },
      `its tenant cannot be marked: ${written.message}`,
    );
}
