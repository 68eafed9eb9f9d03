import { done, type Outcome, stop } from "../../base/outcome.ts";
import { githubToken } from "./github-app.ts";
import { REPO, type RepoAccess } from "./types.ts";
import { redactUrl } from "./url.ts";

/** What is sent as `Authorization` to a repository's own host; undefined for one that everybody may read. */
export async function authorizationOf(repo: RepoAccess): Promise<Outcome<string | undefined>> {
  if (repo.bearerToken) return done(`Bearer ${repo.bearerToken.reveal()}`);
  const named = await withToken(repo);
  if (named.kind !== "done") return named;
  const { username, password } = named.value;
  if (!username && !password) return done(undefined);
  return done(`Basic ${Buffer.from(`${username || "x-access-token"}:${password?.reveal() ?? ""}`).toString("base64")}`);
}

/** A repository with the password that goes to its host now: a GitHub App's is a token of an hour. */
export async function withToken(repo: RepoAccess): Promise<Outcome<RepoAccess>> {
  if (repo.unsupported) return stop(REPO.unsupported, `${redactUrl(repo.url)}: credentials by ${repo.unsupported} are not supported`);
  if (!repo.githubApp) return done(repo);
  const token = await githubToken(repo);
  return token.kind === "done" ? done({ ...repo, username: "x-access-token", password: token.value }) : token;
}
