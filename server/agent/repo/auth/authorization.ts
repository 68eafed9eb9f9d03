import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { RepoAccess } from "../types.ts";
import { AZURE_USER, azureToken, hasAzure, registryPassword } from "./azure.ts";
import { githubToken } from "./github-app.ts";
import { googleSignIn } from "./google.ts";

/** The `Authorization` for a repository's own host; undefined for a public one. */
export async function authorizationOf(repo: RepoAccess): Promise<Outcome<string | undefined>> {
  const named = await withToken(repo);
  if (named.kind !== "done") return named;
  const { username, password, bearerToken } = named.value;
  if (bearerToken) return done(`Bearer ${bearerToken.reveal()}`);
  if (!username && !password) return done(undefined);
  return done(`Basic ${Buffer.from(`${username || "x-access-token"}:${password?.reveal() ?? ""}`).toString("base64")}`);
}

/** A repository with its current credentials: for a GitHub App, and for an identity in a cloud, a token of an hour. */
export async function withToken(repo: RepoAccess): Promise<Outcome<RepoAccess>> {
  if (repo.refused) return stop(repo.refused.reason, repo.refused.message);
  if (repo.password || repo.bearerToken || repo.sshPrivateKey) return done(repo);
  if (repo.githubApp) {
    const token = await githubToken(repo);
    return token.kind === "done" ? done({ ...repo, username: "x-access-token", password: token.value }) : token;
  }
  if (repo.gcpServiceAccountKey) {
    const signedIn = await googleSignIn(repo);
    return signedIn.kind === "done" ? done({ ...repo, ...signedIn.value }) : signedIn;
  }
  if (hasAzure(repo)) {
    const token = await azureToken(repo);
    return token.kind === "done" ? done({ ...repo, bearerToken: token.value }) : token;
  }
  return done(repo);
}

/** The same for a registry, which may have a way of its own: where and for what it gives tokens is said in its challenge. */
export async function registrySignIn(
  repo: RepoAccess,
  origin: string,
  realm: string,
  service: string,
): Promise<Outcome<RepoAccess>> {
  if (repo.password || repo.bearerToken || !hasAzure(repo)) return withToken(repo);
  const password = await registryPassword(repo, origin, realm, service);
  return password.kind === "done" ? done({ ...repo, username: AZURE_USER, password: password.value }) : password;
}

/** Whether anything is shown to a repository's host. */
export const signsIn = (repo: RepoAccess): boolean =>
  Boolean(repo.password || repo.bearerToken || repo.sshPrivateKey || repo.githubApp || repo.gcpServiceAccountKey) ||
  hasAzure(repo);
