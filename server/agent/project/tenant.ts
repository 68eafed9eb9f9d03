import type { KubeObject } from "../../kube/object.ts";

/**
 * Annotation of every object that comes from a scope below its agent's: `ORG/PROJECT`, with `-` for no project. The link writes it.
 * Objects without it belong to the agent's own scope, or to the cluster's operator, and serve all.
 */
export const TENANT = "outpost.dev/tenant";

/** The tenant an object belongs to; undefined for the agent's own scope. */
export function tenantOf(object: { metadata?: Pick<KubeObject["metadata"], "annotations"> }): string | undefined {
  return object.metadata?.annotations?.[TENANT] || undefined;
}

/** How far above the user's scope an owner's is: 0 for the same, more for those above. Only for owners that serve the user. */
export function distance(owner: string | undefined, user: string | undefined): number {
  if (owner === user) return 0;
  return owner === undefined ? 2 : 1;
}

/** The scopes whose objects serve a user, nearest first; undefined is the agent's own. */
export function scopesAbove(user: string | undefined): (string | undefined)[] {
  if (user === undefined) return [undefined];
  const org = `${user.split("/")[0]}/-`;
  return org === user ? [user, undefined] : [user, org, undefined];
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
