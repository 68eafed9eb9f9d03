/** Any object of Kubernetes, as far as it is marked. */
interface Marked {
  metadata?: {
    name?: string | undefined;
    annotations?: Record<string, string> | undefined;
    labels?: Record<string, string> | undefined;
  };
}

/**
 * Annotation of every object that comes from a scope below its agent's: `ORG/PROJECT`, with `-` for no project. The link writes it.
 * Objects without it belong to the agent's own scope, or to the cluster's operator, and serve all.
 */
export const TENANT = "outpost.dev/tenant";

/** The tenant an object belongs to; undefined for the agent's own scope. */
export function tenantOf(object: Marked): string | undefined {
  return object.metadata?.annotations?.[TENANT] || tenantByName(object);
}

/** For whom work is done, where many wait for it: tenants take turns, and the agent's own scope is one of them. */
export const laneOf = (object: Marked | undefined): string => (object && tenantOf(object)) ?? "";

/** Annotation of an object that the service took over: its name says nothing of whose it is. */
export const ADOPTED = "outpost.dev/adopted";

/** The tenant whose mark an object should carry and does not: an agent before this one wrote none. */
export function missingTenant(object: Marked): string | undefined {
  return object.metadata?.annotations?.[TENANT] ? undefined : tenantByName(object);
}

const PREFIXES = ["", "repo-", "repocreds-", "cluster-"];

/** Objects of the agent's own scope are called by their id, those from below have a tail: so older objects tell whose they are too. */
function tenantByName({ metadata }: Marked): string | undefined {
  if (metadata?.labels?.[MANAGED] !== "true" || metadata.annotations?.[ADOPTED] === "true") return undefined;
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

/**
 * Annotation of an AppProject: the scopes whose applications may use it, besides its own: `org` or `org/project`, separated by commas. The cluster's
 * operator may write it on a project of theirs. A delivered project without it serves its scope and those below.
 */
export const ALLOWED_SCOPES = "outpost.dev/allowed-scopes";
/** Annotation of a tenant's AppProject: the name of the one that limits it. */
export const WITHIN = "outpost.dev/within";
/** Label of every object that the service delivered. */
export const MANAGED = "outpost.dev/managed";

/** Who may use an AppProject, as its marks say. */
export interface Sharing {
  /** The tenant it belongs to; undefined for the agent's own scope. */
  owner?: string | undefined;
  /** The list that it comes with; undefined for all scopes below its own. */
  allowed?: string[] | undefined;
  /** The service did not make it: without a list no tenant may use it, because the `default` that Argo CD stores permits everything. */
  foreign: boolean;
  within?: string | undefined;
}

export function sharingOf({ metadata }: Marked): Sharing {
  const { [ALLOWED_SCOPES]: list, [WITHIN]: within } = metadata?.annotations ?? {};
  return {
    owner: tenantOf({ metadata }),
    allowed: list?.split(",").flatMap((one) => one.trim() || []),
    foreign: metadata?.labels?.[MANAGED] !== "true",
    within: within || undefined,
  };
}

/** Whether applications of a tenant may use a project. */
export function sharesWith({ owner, allowed, foreign }: Sharing, tenant: string): boolean {
  if (owner === tenant) return true;
  if (allowed === undefined) return !foreign && serves(owner, tenant);
  const [org, project] = tenant.split("/");
  return allowed.some((one) => one === org || one === `${org}/${project}`);
}

// What a user may set, and what the controller sets on everything it applies. All else with this beginning says whose an object is.
const PREFIX = "outpost.dev/";
const HARMLESS = new Set(
  ["depends-on", "helm-lookup", "app", "hook-phase", "hook-started-at"].map((name) => PREFIX + name),
);

/** Marks of the service that an object carries and that only Outpost sets, besides the tenant that it belongs to. */
export function marksIn({ metadata }: Marked, tenant: string | undefined): string[] {
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(
    ([key, value]) => key !== TENANT || value !== tenant,
  );
  const keys = [...Object.keys(metadata?.labels ?? {}), ...annotations.map(([key]) => key)];
  return keys.filter((key) => key.startsWith(PREFIX) && !HARMLESS.has(key));
}
