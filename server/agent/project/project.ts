import { matchGlob } from "../../base/lang/glob.ts";
import { type IntegritySpec, misreads } from "./integrity.ts";
import { type Destination, type ProjectSpec, permitsDestination, permitsKind, permitsSource } from "./permits.ts";
import type { Sharing } from "./tenant.ts";
import type { SyncWindow } from "./window.ts";

/** An AppProject, as far as it restricts. */
export interface Project extends ProjectSpec, IntegritySpec {
  name: string;
  /** Who may use it; none for `default` when no object of that name is stored. */
  sharing?: Sharing;
  /**
   * The project that limits this one: both must permit. The account that writes is the one that the
   * outermost project names, so that no tenant chooses it.
   */
  limit?: Project;
  /** Where its applications may be, besides the agent's own namespace. */
  sourceNamespaces?: string[];
  syncWindows?: SyncWindow[];
  permitOnlyProjectScopedClusters?: boolean;
  destinationServiceAccounts?: { server?: string; namespace?: string; defaultServiceAccount?: string }[];
  orphanedResources?: { warn?: boolean; ignore?: { group?: string; kind?: string; name?: string }[] };
}

/** What `default` permits while none is stored: everything. */
export const DEFAULT_PROJECT: Project = {
  name: "default",
  sourceRepos: ["*"],
  destinations: [{ server: "*", namespace: "*" }],
  clusterResourceWhitelist: [{ group: "*", kind: "*" }],
};

const LISTS = [
  "sourceRepos",
  "sourceNamespaces",
  "destinations",
  "clusterResourceWhitelist",
  "clusterResourceBlacklist",
  "namespaceResourceWhitelist",
  "namespaceResourceBlacklist",
  "syncWindows",
  "destinationServiceAccounts",
] as const;

/** Reads a stored project, whose definition leaves its shape open; a text is its error: an unreadable project permits nothing. */
export function readProject(name: string, spec: unknown): Project | string {
  if (typeof spec !== "object" || spec === null) return "it has no spec";
  const given = spec as Record<string, unknown>;
  for (const field of LISTS) {
    const list = given[field] ?? undefined;
    if (list === undefined) continue;
    if (!Array.isArray(list)) return `spec.${field} must be a list`;
    const wrong = list.some((one) =>
      ["sourceRepos", "sourceNamespaces"].includes(field) ? typeof one !== "string" : !isTexts(one),
    );
    if (wrong) return `spec.${field} has an item of another shape`;
  }
  const unsure = misreads(given);
  if (unsure) return unsure;
  const { ignore } = (given.orphanedResources ?? {}) as { ignore?: unknown };
  if (ignore !== undefined && ignore !== null && !(Array.isArray(ignore) && ignore.every(isTexts)))
    return "spec.orphanedResources.ignore must be a list of group, kind and name";
  // A null list counts as absent.
  const {
    sharing: _,
    limit: __,
    ...fields
  } = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  return { ...(fields as ProjectSpec), name };
}

/** An object whose fields are texts, flags or lists of texts. */
function isTexts(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(
    (field) =>
      field === null ||
      ["string", "boolean"].includes(typeof field) ||
      (Array.isArray(field) && field.every((one) => typeof one === "string")),
  );
}

export interface Refusal {
  reason: "SourceNotPermitted" | "DestinationNotPermitted";
  message: string;
}

/** What an application's own words break of the project; `clusterProject` is the project that the destination cluster is kept for. */
export function refusesApplication(
  project: Project,
  repoUrls: readonly string[],
  to: Destination,
  clusterProject: string,
): Refusal | undefined {
  const source = repoUrls.map((one) => refusesSource(project, one)).find((one) => one !== undefined);
  if (source) return source;
  if (permitsDestination(project, to) && permitsCluster(project, clusterProject))
    return project.limit && refusesApplication(project.limit, repoUrls, to, clusterProject);
  return {
    reason: "DestinationNotPermitted",
    message: `application destination server '${to.server || to.name}' and namespace '${to.namespace}' do not match any of the allowed destinations in project '${project.name}'`,
  };
}

/** Why an application of the project may not come from a repository. */
export function refusesSource(project: Project, repoUrl: string): Refusal | undefined {
  if (permitsSource(project, repoUrl)) return project.limit && refusesSource(project.limit, repoUrl);
  return {
    reason: "SourceNotPermitted",
    message: `application repo ${repoUrl} is not permitted in project '${project.name}'`,
  };
}

/** A project and those that limit it, from the inside out. */
export const chainOf = (project: Project): Project[] =>
  project.limit ? [project, ...chainOf(project.limit)] : [project];

const permitsCluster = (project: Project, clusterProject: string): boolean =>
  !project.permitOnlyProjectScopedClusters || clusterProject === project.name;

export interface Held {
  group: string;
  kind: string;
  name: string;
  namespace: string;
  namespaced: boolean;
}

/** Why an application of the project may not hold an object; undefined when it may. */
export function refusesObject(project: Project, to: Omit<Destination, "namespace">, held: Held): string | undefined {
  const { group, kind, namespace, namespaced } = held;
  if (!permitsKind(project, held)) return `resource ${group}:${kind} is not permitted in project ${project.name}`;
  if (namespaced && !permitsDestination(project, { ...to, namespace }))
    return `namespace ${namespace} is not permitted in project '${project.name}'`;
  return project.limit && refusesObject(project.limit, to, held);
}

/** Whether the accounts of projects count: `where named` leaves projects that name none to the controller's own account. */
export type Impersonation = "off" | "where named" | "always";

/**
 * The account that writes objects: `system:serviceaccount:namespace:name`, or "" for the controller itself. A text under `problem` is why nothing may
 * be written. What belongs to a tenant is never written as the controller, whatever the setting says: its power would be the tenant's.
 */
export function accountFor(
  project: Project,
  to: Destination,
  { impersonation, tenant }: { impersonation: Impersonation; tenant: string | undefined },
): { user: string } | { problem: string } {
  const { name, destinationServiceAccounts = [] } = chainOf(project).at(-1)!;
  if (tenant === undefined && impersonation === "off") return { user: "" };
  if (tenant === undefined && impersonation === "where named" && destinationServiceAccounts.length === 0)
    return { user: "" };
  const found = destinationServiceAccounts.find(
    ({ server = "", namespace = "" }) => matchGlob(server, to.server) && matchGlob(namespace, to.namespace),
  );
  if (!found)
    return {
      problem: `no matching service account found for destination server ${to.server} and namespace ${to.namespace}: add one to destinationServiceAccounts of project '${name}'`,
    };
  const account = (found.defaultServiceAccount ?? "").trim();
  if (!/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?:)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(account))
    return {
      problem: `default service account '${account}' of destination server ${to.server} is not a name of a service account`,
    };
  return { user: `system:serviceaccount:${account.includes(":") ? account : `${to.namespace}:${account}`}` };
}

const ALWAYS_THERE = [
  { group: "", kind: "ServiceAccount", name: "default" },
  { group: "", kind: "Service", name: "kubernetes", namespace: "default" },
  { group: "", kind: "ConfigMap", name: "kube-root-ca.crt" },
];

/** Whether an object that belongs to no application is worth a warning in this project. */
export function countsAsOrphan(project: Project, to: Omit<Destination, "namespace">, held: Held): boolean {
  const { group, kind, name, namespace } = held;
  const builtIn = ALWAYS_THERE.some(
    (one) =>
      one.group === group && one.kind === kind && one.name === name && (one.namespace ?? namespace) === namespace,
  );
  if (builtIn || refusesObject(project, to, held) !== undefined) return false;
  return !(project.orphanedResources?.ignore ?? []).some(
    (one) => matchGlob(one.group || "", group) && matchGlob(one.kind || "*", kind) && matchGlob(one.name || "*", name),
  );
}
