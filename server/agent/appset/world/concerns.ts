import { repositoryKey, sameRepository } from "../../../base/repository-key.ts";
import type { ApplicationSetSpec, Free, Generator } from "../types.ts";

// Generators within generators, and a template within each.
const MAX_DEPTH = 12;

/** Whether a set reads a repository, or asks a Git host about it: then a change there may give other applications. */
export function concerns(spec: ApplicationSetSpec, url: string): boolean {
  const key = repositoryKey(url);
  const path = key?.slice(key.indexOf("/") + 1);
  return inside(spec, url, path, 0);
}

function inside(value: unknown, url: string, path: string | undefined, depth: number, inTemplate = false): boolean {
  if (value === null || typeof value !== "object" || depth > MAX_DEPTH) return false;
  return Object.entries(value).some(([name, member]) => {
    // A field filled in by another generator may be any repository; in a template it is not one that the set itself reads.
    if (name === "repoURL" && typeof member === "string")
      return sameRepository(member, url) || (!inTemplate && isTemplate(member));
    if (path !== undefined && (name === "pullRequest" || name === "scmProvider") && asks(name, member, path))
      return true;
    return inside(member, url, path, depth + 1, inTemplate || name === "template");
  });
}

/** Whether a set asks a plugin, whose answer may depend on any event of a host: Argo CD asks it again at every call. */
export function asksPlugin(generators: Generator[] | undefined, depth = 0): boolean {
  if (!Array.isArray(generators) || depth > MAX_DEPTH) return false;
  return generators.some(
    (one) =>
      Boolean(one?.plugin) ||
      [one?.matrix, one?.merge].some((of) => asksPlugin((of as Free | undefined)?.generators, depth + 1)),
  );
}

const isTemplate = (text: unknown): boolean => typeof text === "string" && text.includes("{{");

/** By the names that hosts give: `owner` and `repo`, a project, or everything of an organisation or group. */
function asks(generator: "pullRequest" | "scmProvider", settings: unknown, path: string): boolean {
  return Object.entries((settings ?? {}) as Free).some(([host, of]) => {
    if (of === null || typeof of !== "object") return false;
    const { owner, repo, project, organization, group } = of as Free;
    if ([owner, repo, project, organization, group].some(isTemplate)) return true;
    if (host === "awsCodeCommit") return path.startsWith("v1/repos/");
    if (/^azuredevops$/i.test(host)) return asksAzure(of, path);
    const named = repo === undefined ? project : `${owner ?? project}/${repo}`;
    const whole = generator === "scmProvider" ? undefined : named;
    const text = whole ?? organization ?? group ?? owner ?? project;
    if (text === undefined) return false;
    // A number of GitLab's says nothing of the path.
    if (typeof text === "number" || /^[0-9]+$/.test(String(text))) return true;
    const wanted = String(text).toLowerCase();
    return whole === undefined ? path.startsWith(`${wanted}/`) : path === wanted;
  });
}

/** Its addresses name the organisation first, or after the path of a self-hosted server; some omit the project. */
function asksAzure({ organization, repo }: Free, path: string): boolean {
  const parts = path.split("/").map(unescaped);
  const fits = (wanted: unknown, part: string | undefined) => String(wanted).toLowerCase() === part;
  return parts.some((part) => fits(organization, part)) && (repo === undefined || fits(repo, parts.at(-1)));
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text).toLowerCase();
  } catch {
    return text;
  }
}
