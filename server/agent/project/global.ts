import type { Project } from "./project.ts";

/**
 * A project with what a global one adds: their lists one after the other, so the other's denials hold too. A list of namespaced kinds that are
 * permitted, given by either, restricts both.
 */
export function inherit(project: Project, global: Project): Project {
  const merged: Project = { ...project };
  // A list that neither has stays absent, which may mean something else than an empty one.
  const join = <F extends (typeof INHERITED)[number]>(field: F) => {
    const theirs = global[field];
    if (theirs?.length) merged[field] = [...(project[field] ?? []), ...theirs] as Project[F];
  };
  for (const field of INHERITED) join(field);
  return merged;
}

const INHERITED = [
  "clusterResourceWhitelist",
  "clusterResourceBlacklist",
  "namespaceResourceWhitelist",
  "namespaceResourceBlacklist",
  "syncWindows",
  "sourceRepos",
  "destinations",
] as const;
