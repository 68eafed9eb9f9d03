import { readJson } from "../../../base/json/nesting.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { Secret } from "../../../base/secret.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { ask } from "./http-request.ts";
import type { AccessToken } from "./tokens.ts";

const MAX_BYTES = 100_000;
const DEADLINE_MS = 20_000;
// Of a cloud's own words; they hold no secret, but an answer may come from anywhere.
const MAX_SAID = 300;

interface Grant {
  form: Record<string, string>;
  /** Who gets the token, for messages. */
  who: string;
  /** The field of the answer that is the token. */
  member?: string;
}

/** One grant of OAuth 2 (RFC 6749): a form out, a token in. Nothing of the repository goes along but its proxy. */
export async function grant(to: string, { proxy, noProxy }: RepoAccess, asked: Grant): Promise<Outcome<AccessToken>> {
  const { form, who, member = "access_token" } = asked;
  const { origin } = new URL(to);
  const got = await ask(
    to,
    { url: to, proxy, noProxy },
    {
      method: "POST",
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
        "user-agent": "outpost",
      },
      body: new URLSearchParams(form).toString(),
      maxBytes: MAX_BYTES,
      deadlineMs: DEADLINE_MS,
      shown: origin,
    },
  );
  if (got.kind !== "done") return got;
  const { status, body } = got.value;
  const said = parse(body);
  if (status === 429 || status >= 500) return again(REPO.unreachable, `${origin} answered ${status}`);
  if (status !== 200)
    return stop(REPO.token, `${origin} gives ${who} no token: ${reasonOf(said) || `it answered ${status}`}`);
  const token = said?.[member];
  if (typeof token !== "string" || !/^[\x21-\x7e]{1,16384}$/.test(token))
    return again(REPO.unreachable, `${origin} gave no token`);
  return done({ token: new Secret(token), ends: endOf(token, said?.expires_in) });
}

function reasonOf(said: Record<string, unknown> | undefined): string {
  const words = [said?.error, said?.error_description].filter((one): one is string => typeof one === "string");
  return words
    .join(": ")
    .replace(/[^\x20-\x7e]+/g, " ")
    .slice(0, MAX_SAID);
}

/** By the answer's own field, else by the token's if it is a JWT; without either the token is used once. */
function endOf(token: string, seconds: unknown): number {
  const given = Number(seconds);
  if (given > 0) return Date.now() + Math.min(given, 86_400) * 1_000;
  const exp = Number(parse(Buffer.from(token.split(".")[1] ?? "", "base64url"))?.exp);
  return exp > 0 ? Math.min(exp * 1_000, Date.now() + 86_400_000) : Date.now();
}

export function parse(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = readJson(body.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
