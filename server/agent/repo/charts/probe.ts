import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { authorizationOf } from "../auth/authorization.ts";
import { ask } from "../auth/http-request.ts";
import { REPO, type Refs, type RepoAccess } from "../types.ts";
import { isOci, isSsh, redactUrl } from "../url.ts";
import { RegistryClient } from "./registry.ts";
import { helmIndex, withRegistry } from "./versions.ts";

const MAX_BYTES = 1_000_000;

/** Whether a repository of any type is there and lets us in. */
export function probe(repo: RepoAccess, refs: (repo: RepoAccess) => Promise<Outcome<Refs>>): Promise<Outcome<unknown>> {
  if (repo.refused) return Promise.resolve(stop(repo.refused.reason, repo.refused.message));
  if (isOci(repo)) return probeRegistry(repo);
  return repo.type === "helm" ? helmIndex(repo) : probeGit(repo, refs);
}

async function probeGit(
  repo: RepoAccess,
  ask_: (repo: RepoAccess) => Promise<Outcome<Refs>>,
): Promise<Outcome<unknown>> {
  const refs = await ask_(repo);
  if (refs.kind !== "done" || refs.value.head || isSsh(repo.url) || !/^https?:/.test(repo.url)) return refs;
  // Git takes any page for a repository without branches.
  const authorization = await authorizationOf(repo);
  if (authorization.kind !== "done") return authorization;
  const shown = redactUrl(repo.url);
  const to = `${repo.url.replace(/(?<!\/)\/+$/, "")}/info/refs?service=git-upload-pack`;
  const headers = { "user-agent": "git/2.0" };
  const got = await ask(to, repo, { authorization: authorization.value, headers, maxBytes: MAX_BYTES, shown });
  if (got.kind !== "done") return got;
  const git = String(got.value.headers["content-type"] ?? "").startsWith("application/x-git-");
  return git ? refs : stop(REPO.notRepository, `${shown} answers, but is not a Git repository; look at its path`);
}

async function probeRegistry(repo: RepoAccess): Promise<Outcome<unknown>> {
  const url = (repo.url.includes("://") ? repo.url : `oci://${repo.url}`).replace(/(?<!\/)\/+$/, "");
  const path = /^oci:\/\/[^/]+(\/.+)?$/.exec(url)?.[1];
  // A registry alone, or the beginning of its names, has no tags.
  if (!RegistryClient.fits(path ? url : `${url}/x`))
    return stop(REPO.urlRefused, `${redactUrl(url).slice(0, 200)} is not an address of a registry`);
  const pinged = await withRegistry({ ...repo, url }, (client) => client.ping());
  if (pinged.kind !== "done" || !path) return pinged;
  // Another client: a token is for what it was asked for.
  const tags = await withRegistry({ ...repo, url }, (client) => client.tags());
  return tags.kind !== "done" && tags.reason === REPO.notFound ? done(undefined) : tags;
}
