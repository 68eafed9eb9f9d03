/**
 * Annotation of every object that comes from a scope below its agent's: `ORG/PROJECT`, with `-` for no project. The link writes it.
 * Objects without it belong to the agent's own scope, or to the cluster's operator, and serve all.
 */
export const TENANT = "outpost.dev/tenant";

/** The tenant an object belongs to; undefined for the agent's own scope. */
export function tenantOf(object: Marked): string | undefined {
  return object.metadata?.annotations?.[TENANT] || tenantByName(object);
}

/** The tenant whose mark an object should carry and does not: an agent before this one wrote none. */
export function missingTenant(object: Marked): string | undefined {
  return object.metadata?.annotations?.[TENANT] ? undefined : tenantByName(object);
}

interface Marked {
  metadata?: { name?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
}

const PREFIXES = ["", "repo-", "repocreds-", "cluster-"];

/** Objects of the agent's own scope are called by their id, those from below have a tail: so older objects tell whose they are too. */
function tenantByName({ metadata }: Marked): string | undefined {
  if (metadata?.labels?.["outpost.dev/managed"] !== "true") return undefined;
  const { "outpost.dev/id": id, "outpost.dev/scope": scope } = metadata.annotations ?? {};
  if (!id || !scope || PREFIXES.some((prefix) => metadata.name === prefix + id)) return undefined;
  // After the account: `ORG/PROJECT`.
  return scope.split("/").slice(-2).join("/");
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

// What a user may set, and what the controller sets on everything it applies. All else with this beginning says whose an object is.
const PREFIX = "outpost.dev/";
const HARMLESS = new Set(["depends-on", "helm-lookup", "app", "hook-phase", "hook-started-at"].map((name) => PREFIX + name));

/** Marks of the service that an object carries and that only Outpost sets, besides the tenant that it belongs to. */
export function marksIn({ metadata }: Marked, tenant: string | undefined): string[] {
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(([key, value]) => key !== TENANT || value !== tenant);
  const keys = [...Object.keys(metadata?.labels ?? {}), ...annotations.map(([key]) => key)];
  return keys.filter((key) => key.startsWith(PREFIX) && !HARMLESS.has(key));
}
