import { isDetour } from "../../base/cloud/address.ts";
import { type GlobBudget, matchGlob } from "../../base/lang/glob.ts";
import type { GroupKind, ProjectSpec } from "../model/generated/types.ts";
import { asArgoReads } from "./argo-glob.ts";
import { asGoWrites, normalizeRepoUrl, spellingsOf, spellingsOfPattern } from "./spellings.ts";

export type { ProjectSpec };

/**
 * A list may have a thousand patterns, and its author may make each as slow as possible while all others of the agent wait. The
 * patterns of a list share these steps, some 30 ms; a list that needs more permits nothing.
 */
export const MAX_STEPS = 1_000_000;

const denies = (pattern: string | undefined): boolean => pattern?.startsWith("!") === true;

/** A pattern with `!` in front fits everything that it does not name: alone in a list it permits the rest. */
function fits(pattern: string | undefined, text: string, budget: GlobBudget, separators = ""): boolean {
  if (pattern === undefined) return text === "";
  if (denies(pattern)) return !matchGlob(pattern.slice(1), text, separators, budget);
  const read = asArgoReads(pattern);
  return pattern === "*" || (read !== undefined && matchGlob(read, text, separators, budget));
}

/** Whether an application of the project may come from a repository. */
export function permitsSource({ sourceRepos }: ProjectSpec, repoUrl: string): boolean {
  // A pattern is compared with the text, and the text says another place than it seems to.
  if (isDetour(repoUrl)) return false;
  const url = asGoWrites(normalizeRepoUrl(repoUrl));
  const spellings = spellingsOf(repoUrl);
  const budget = { left: MAX_STEPS };
  let permitted = false;
  for (const pattern of sourceRepos ?? []) {
    if (denies(pattern)) {
      const denied = spellingsOfPattern(pattern.slice(1));
      if (spellings.some((one) => denied.some((what) => what === "*" || matchGlob(what, one, "/", budget))))
        return false;
      permitted = true;
    } else {
      const normal = asGoWrites(normalizeRepoUrl(pattern));
      permitted ||= pattern === "*" || (normal !== undefined && url !== undefined && fits(normal, url, budget, "/"));
    }
    if (budget.left < 0) return false;
  }
  return permitted;
}

export interface Destination {
  server: string;
  name: string;
  namespace: string;
}

/**
 * Whether the project's applications may go to a cluster and namespace. The rules are Argo CD's, entry by entry:
 *
 * | entry, where it does not permit                 | refuses                                              |
 * | `name: "!c"`, and the cluster is c              | every namespace of c, whatever namespace it gives    |
 * | `server: "!s"`, and the cluster is s            | the namespaces that it gives                         |
 * | `namespace: "!n"`, and the namespace is n       | n on the clusters that fit its `server`, not `name`  |
 */
export function permitsDestination({ destinations }: ProjectSpec, to: Destination): boolean {
  const budget = { left: MAX_STEPS };
  let permitted = false;
  for (const { server, name, namespace } of destinations ?? []) {
    const serverFits = to.server !== "" && server !== undefined && fits(server, to.server, budget);
    const nameFits = to.name !== "" && name !== undefined && fits(name, to.name, budget);
    const namespaceFits = fits(namespace ?? "", to.namespace, budget);
    if (budget.left < 0) return false;
    if ((serverFits || nameFits) && namespaceFits) permitted = true;
    else if (!nameFits && denies(name)) return false;
    else if (!serverFits && denies(server) && namespaceFits) return false;
    else if (!namespaceFits && denies(namespace) && serverFits) return false;
  }
  return permitted;
}

export interface ListedKind {
  group: string;
  kind: string;
  name: string;
  namespaced: boolean;
}

/** Whether the project's applications may hold an object. Cluster-scoped kinds must be named to be allowed; the others are, unless a list says otherwise. */
export function permitsKind(spec: ProjectSpec, { group, kind, name, namespaced }: ListedKind): boolean {
  const budget = { left: MAX_STEPS };
  // Braces are letters here, unlike in other patterns of a project.
  const fitsKind = (pattern: string | undefined, text: string) =>
    matchGlob((pattern ?? "").replace(/[{}]/g, "\\$&"), text, "/", budget);
  const listed = (list: readonly GroupKind[] | undefined | null, withName: boolean) =>
    (list ?? []).some(
      (one) =>
        fitsKind(one.group, group) && fitsKind(one.kind, kind) && (!withName || !one.name || fitsKind(one.name, name)),
    );
  if (namespaced) {
    const { namespaceResourceWhitelist: white, namespaceResourceBlacklist: black } = spec;
    return (!white || listed(white, false)) && !listed(black, false) && budget.left >= 0;
  }
  const { clusterResourceWhitelist: white, clusterResourceBlacklist: black } = spec;
  return listed(white, true) && !listed(black, true) && budget.left >= 0;
}
