/** Any object of Kubernetes, as far as it is marked. */
interface Marked {
  metadata: { annotations?: Record<string, string> | undefined; labels?: Record<string, string> | undefined };
}

/**
 * Annotation of every object that comes from a scope below its agent's: `ORG/PROJECT`, with `-` for no project. The link writes it.
 * Objects without it belong to the agent's own scope, or to the cluster's operator, and serve everybody.
 */
export const TENANT = "outpost.dev/tenant";

/** The tenant an object belongs to; undefined for the agent's own scope. */
export function tenantOf(object: Marked): string | undefined {
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
  const { [ALLOWED_SCOPES]: list, [WITHIN]: within } = metadata.annotations ?? {};
  return {
    owner: tenantOf({ metadata }),
    allowed: list?.split(",").flatMap((one) => one.trim() || []),
    foreign: metadata.labels?.[MANAGED] !== "true",
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
