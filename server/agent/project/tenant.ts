import type { KubeObject } from "../../kube/object.ts";

/**
 * Annotation of every object that comes from a scope below its agent's: `ORG/PROJECT`, with `-` for no project. The link writes it.
 * Objects without it belong to the agent's own scope, or to the cluster's operator, and serve everybody.
 */
export const TENANT = "outpost.dev/tenant";

/** The tenant an object belongs to; undefined for the agent's own scope. */
export function tenantOf(object: { metadata: Pick<KubeObject["metadata"], "annotations"> }): string | undefined {
  return object.metadata.annotations?.[TENANT] || undefined;
}

/**
 * Whether an object of `owner` may be used by an object of `user`: its scope is the same one or lies above.
 * A project's object serves that project alone, an organisation's serves its projects too.
 */
export function serves(owner: string | undefined, user: string | undefined): boolean {
  if (owner === undefined || owner === user) return true;
  if (user === undefined) return false;
  const [org, project] = owner.split("/");
  return project === "-" && user.split("/")[0] === org;
}
