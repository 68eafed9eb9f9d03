import { digest } from "../../../base/json/canonical.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { Secret } from "../../../base/secret.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { redactUrl } from "../url.ts";
import { ask, type HttpAnswer } from "./http-request.ts";
import { signedJwt } from "./jwt.ts";
import { parse } from "./oauth.ts";
import { type AccessToken, SPARE_MS, tokens } from "./tokens.ts";

const MAX_BYTES = 1_000_000;
// GitHub takes an app's own token for ten minutes; its clock may be behind ours.
const JWT_SECONDS = 540;
const SKEW_SECONDS = 60;

/** The token of a GitHub App for a repository: of the installation that is named, or of the one that the repository's owner has. */
export function githubToken(repo: RepoAccess): Promise<Outcome<Secret>> {
  const { githubApp, githubAppPrivateKey, proxy = "" } = repo;
  const owner = ownerOf(repo.url);
  const id = digest([githubApp, githubAppPrivateKey?.reveal() ?? "", githubApp?.installationId ? "" : owner, proxy]);
  return tokens.get(id, () => fetchToken(repo, owner));
}

async function fetchToken(repo: RepoAccess, owner: string): Promise<Outcome<AccessToken>> {
  const { id, installationId, baseUrl } = repo.githubApp!;
  const base = (baseUrl || "https://api.github.com").replace(/(?<!\/)\/+$/, "");
  if (!/^\d{1,20}$/.test(id)) return stop(REPO.authentication, "githubAppID is not a number");
  const jwt = appToken(id, repo.githubAppPrivateKey);
  if (jwt.kind !== "done") return jwt;
  const call = (method: "GET" | "POST", path: string): Promise<Outcome<HttpAnswer>> =>
    ask(`${base}${path}`, repo, {
      method,
      authorization: `Bearer ${jwt.value.reveal()}`,
      headers: { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28", "user-agent": "outpost" },
      maxBytes: MAX_BYTES,
      shown: redactUrl(base),
    });
  let installation = installationId;
  if (!installation) {
    if (!owner) return stop(REPO.authentication, `${redactUrl(repo.url)} names no owner; set githubAppInstallationID`);
    // An organisation's installation, else a user's.
    for (const kind of ["orgs", "users"]) {
      const got = await call("GET", `/${kind}/${encodeURIComponent(owner)}/installation`);
      if (got.kind !== "done") return got;
      const refused = judge(got.value, base, id);
      if (got.value.status === 404) continue;
      if (refused) return refused;
      installation = String(parse(got.value.body)?.id ?? "");
      break;
    }
    if (!installation)
      return stop(REPO.authentication, `GitHub App ${id} is not installed for ${owner}; install it there`);
  }
  if (!/^\d{1,20}$/.test(installation)) return stop(REPO.authentication, "githubAppInstallationID is not a number");
  const got = await call("POST", `/app/installations/${installation}/access_tokens`);
  if (got.kind !== "done") return got;
  if (got.value.status === 404)
    return stop(REPO.authentication, `GitHub App ${id} has no installation ${installation}`);
  const refused = judge(got.value, base, id);
  if (refused) return refused;
  const { token, expires_at } = parse(got.value.body) ?? {};
  if (typeof token !== "string" || !/^[\x21-\x7e]{1,4096}$/.test(token))
    return again(REPO.unreachable, `${redactUrl(base)} gave no token`);
  const expires = Date.parse(String(expires_at ?? ""));
  return done({ token: new Secret(token), ends: Number.isNaN(expires) ? Date.now() + 2 * SPARE_MS : expires });
}

function judge({ status }: HttpAnswer, base: string, id: string) {
  if (status >= 200 && status < 300) return undefined;
  const shown = redactUrl(base);
  if (status === 401)
    return stop(REPO.authentication, `${shown} does not accept GitHub App ${id} with this private key`);
  if (status === 403)
    return stop(
      REPO.authentication,
      `${shown} refuses GitHub App ${id}: it is suspended, or lacks the permission "contents: read"`,
    );
  return again(REPO.unreachable, `${shown} answered ${status}`);
}

/** What the app proves itself by. */
function appToken(id: string, pem: Secret | undefined): Outcome<Secret> {
  const now = Math.floor(Date.now() / 1_000) - SKEW_SECONDS;
  return signedJwt(pem?.reveal() ?? "", "githubAppPrivateKey", { iat: now, exp: now + JWT_SECONDS, iss: id });
}

const ownerOf = (url: string): string =>
  URL.canParse(url) ? (new URL(url).pathname.split("/").find(Boolean) ?? "") : "";
