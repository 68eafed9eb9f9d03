import { isCloudOrigin } from "../../../base/cloud/cloud-origin.ts";
import { digest } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Secret } from "../../../base/secret.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { isOci } from "../url.ts";
import { signedJwt } from "./jwt.ts";
import { grant, parse } from "./oauth.ts";
import { tokens } from "./tokens.ts";

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_URI = "https://oauth2.googleapis.com/token";
const GOOGLE = /^(oauth2\.googleapis\.com|accounts\.google\.com|www\.googleapis\.com)$/;
// As long as Google takes an assertion for; its clock may be behind ours.
const ASSERTION_SECONDS = 3_600;
const SKEW_SECONDS = 60;

/** A service account of Google Cloud, as the name and password that let it in: its file's key is turned into a token of an hour. */
export async function googleSignIn(repo: RepoAccess): Promise<Outcome<{ username: string; password: Secret }>> {
  const refuse = (why: string) => stop(REPO.authentication, `gcpServiceAccountKey ${why}`);
  const file = parse(Buffer.from(repo.gcpServiceAccountKey!.reveal()));
  const text = (name: string): string => (typeof file?.[name] === "string" ? (file[name] as string) : "");
  if (!file) return refuse("is not JSON: give the file that Google gave for the service account");
  // Other files say where to fetch a token from, or which program to run for one.
  if (text("type") !== "service_account")
    return refuse(`is a file of type ${JSON.stringify(text("type").slice(0, 40))}, not service_account`);
  const email = text("client_email");
  if (!/^[^\s:@]{1,200}@[^\s:@]{1,200}$/.test(email)) return refuse("has no client_email");
  const uri = text("token_uri") || TOKEN_URI;
  if (!isCloudOrigin(uri, GOOGLE))
    return refuse("names a token_uri that is not Google's; the operator of the repo server can allow it");
  const id = digest(["google", repo.gcpServiceAccountKey!.reveal(), repo.proxy ?? ""]);
  const token = await tokens.get(id, async () => {
    const now = Math.floor(Date.now() / 1_000) - SKEW_SECONDS;
    const claims = { iss: email, scope: SCOPE, aud: uri, iat: now, exp: now + ASSERTION_SECONDS };
    const kid = text("private_key_id");
    const assertion = signedJwt(text("private_key"), "private_key of gcpServiceAccountKey", claims, kid ? { kid } : {});
    if (assertion.kind !== "done") return assertion;
    const form = { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: assertion.value.reveal() };
    return grant(uri, repo, { form, who: `the service account ${email}` });
  });
  // Its registries know a token by this name alone.
  return token.kind === "done"
    ? done({ username: isOci(repo) ? "oauth2accesstoken" : email, password: token.value })
    : token;
}
