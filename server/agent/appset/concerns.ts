import { repositoryKey, sameRepository } from "../../base/repository-key.ts";
import type { ApplicationSetSpec, Free } from "./types.ts";

// Generators within generators, and a template within each.
const MAX_DEPTH = 12;

/** Whether a set reads a repository, or asks a Git host about it: then a change there may give other applications. */
export function concerns(spec: ApplicationSetSpec, url: string): boolean {
  const key = repositoryKey(url);
  const path = key?.slice(key.indexOf("/") + 1);
  return inside(spec, url, path, 0);
}

function inside(value: unknown, url: string, path: string | undefined, depth: number): boolean {
  if (value === null || typeof value !== "object" || depth > MAX_DEPTH) return false;
  return Object.entries(value).some(([name, member]) => {
    if (name === "repoURL" && typeof member === "string") return sameRepository(member, url);
    if (path !== undefined && (name === "pullRequest" || name === "scmProvider") && asks(member, path)) return true;
    return inside(member, url, path, depth + 1);
  });
}

/** By the names that hosts give: `owner` and `repo`, a project, or everything of an organisation or group. */
function asks(settings: unknown, path: string): boolean {
  return Object.values((settings ?? {}) as Free).some((host) => {
    if (host === null || typeof host !== "object") return false;
    const { owner, repo, project, organization, group } = host as Free;
    const [whole, of] = [repo === undefined ? project : `${owner ?? project}/${repo}`, organization ?? group ?? owner];
    const text = whole ?? of;
    if (text === undefined) return false;
    // A number of GitLab's says nothing of the path.
    if (typeof text === "number" || /^[0-9]+$/.test(String(text))) return true;
    const wanted = String(text).toLowerCase();
    return whole === undefined ? path.startsWith(`${wanted}/`) : path === wanted;
  });
}
