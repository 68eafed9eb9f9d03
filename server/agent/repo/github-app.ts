import { createPrivateKey, createSign, type KeyObject } from "node:crypto";
import { digest } from "../../base/canonical.ts";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import { Secret } from "../../base/secret.ts";
import { type Answer, ask } from "./ask.ts";
import { REPO, type RepoAccess } from "./types.ts";
import { redactUrl } from "./url.ts";

const MAX_BYTES = 1_000_000;
// A token lives an hour; one that ends while a clone runs would fail it.
const SPARE_MS = 5 * 60_000;
const MAX_KNOWN = 1_000;
// GitHub takes an app's own token for ten minutes; its clock may be behind ours.
const JWT_SECONDS = 540;
const SKEW_SECONDS = 60;

interface Token {
  token: Secret;
  until: number;
}

const known = new Map<string, Token>();
const asking = new Map<string, Promise<Outcome<Secret>>>();

/** The token of a GitHub App for a repository: of the installation that is named, or of the one that the repository's owner has. */
export function githubToken(repo: RepoAccess): Promise<Outcome<Secret>> {
  const { githubApp, githubAppPrivateKey } = repo;
  const owner = ownerOf(repo.url);
  const key = githubAppPrivateKey?.reveal() ?? "";
  const id = digest([githubApp, key, githubApp?.installationId ? "" : owner, repo.proxy ?? ""]);
  const before = known.get(id);
  if (before && before.until > Date.now()) return Promise.resolve(done(before.token));
  let running = asking.get(id);
  if (!running) {
    running = fetchToken(repo, owner)
      .then((got) => {
        if (got.kind !== "done") return got;
        if (known.size >= MAX_KNOWN) known.clear();
        known.set(id, got.value);
        return done(got.value.token);
      })
      .finally(() => asking.delete(id));
    asking.set(id, running);
  }
  return running;
}

/** Forgets tokens that a host refused: the app may have been installed anew. */
export function forgetTokens(): void {
  known.clear();
}

async function fetchToken(repo: RepoAccess, owner: string): Promise<Outcome<Token>> {
  const { id, installationId, baseUrl } = repo.githubApp!;
  const base = (baseUrl || "https://api.github.com").replace(/\/+$/, "");
  if (!/^\d{1,20}$/.test(id)) return stop(REPO.authentication, "githubAppID is no number");
  const jwt = appToken(id, repo.githubAppPrivateKey);
  if (jwt.kind !== "done") return jwt;
  const call = (method: "GET" | "POST", path: string): Promise<Outcome<Answer>> =>
    ask(`${base}${path}`, repo, {
      method,
      authorization: `Bearer ${jwt.value}`,
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
      installation = String(parse(got.value)?.id ?? "");
      break;
    }
    if (!installation) return stop(REPO.authentication, `GitHub App ${id} is not installed for ${owner}; install it there`);
  }
  if (!/^\d{1,20}$/.test(installation)) return stop(REPO.authentication, "githubAppInstallationID is no number");
  const got = await call("POST", `/app/installations/${installation}/access_tokens`);
  if (got.kind !== "done") return got;
  if (got.value.status === 404) return stop(REPO.authentication, `GitHub App ${id} has no installation ${installation}`);
  const refused = judge(got.value, base, id);
  if (refused) return refused;
  const { token, expires_at } = parse(got.value) ?? {};
  if (typeof token !== "string" || !/^[\x21-\x7e]{1,4096}$/.test(token)) return again(REPO.unreachable, `${redactUrl(base)} gave no token`);
  const expires = Date.parse(String(expires_at ?? ""));
  return done({ token: new Secret(token), until: (Number.isNaN(expires) ? Date.now() + 2 * SPARE_MS : expires) - SPARE_MS });
}

function judge({ status }: Answer, base: string, id: string) {
  if (status >= 200 && status < 300) return undefined;
  const shown = redactUrl(base);
  if (status === 401) return stop(REPO.authentication, `${shown} does not accept GitHub App ${id} with this private key`);
  if (status === 403)
    return stop(REPO.authentication, `${shown} refuses GitHub App ${id}: it is suspended, or lacks the permission "contents: read"`);
  return again(REPO.unreachable, `${shown} answered ${status}`);
}

/** What the app proves itself by: a JWT by RS256 (RFC 7519). */
function appToken(id: string, pem: Secret | undefined): Outcome<string> {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem?.reveal() ?? "");
  } catch {
    return stop(REPO.authentication, "githubAppPrivateKey is no private key in PEM");
  }
  if (key.asymmetricKeyType !== "rsa") return stop(REPO.authentication, "githubAppPrivateKey is no RSA key");
  const now = Math.floor(Date.now() / 1_000);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "RS256", typ: "JWT" })}.${part({ iat: now - SKEW_SECONDS, exp: now + JWT_SECONDS - SKEW_SECONDS, iss: id })}`;
  return done(`${text}.${createSign("RSA-SHA256").update(text).sign(key).toString("base64url")}`);
}

const ownerOf = (url: string): string => (URL.canParse(url) ? (new URL(url).pathname.split("/").find(Boolean) ?? "") : "");

function parse({ body }: Answer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
