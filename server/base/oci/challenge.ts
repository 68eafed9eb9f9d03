import { readJson } from "../json/nesting.ts";
/** What a registry wants of a client: a login in the header, or a token from another address. It may take both. */
export interface Challenge {
  basic: boolean;
  bearer: boolean;
  /** Where tokens are given. */
  realm?: string | undefined;
  service?: string | undefined;
  scope?: string | undefined;
  /** The header as it came. */
  text: string;
}

/** Reads `WWW-Authenticate`. */
export function readChallenge(text: string): Challenge {
  const field = (name: string) => new RegExp(`${name}="([^"]*)"`, "i").exec(text)?.[1];
  const basic = /^basic\b/i.test(text) || /,\s*basic\b/i.test(text);
  const bearer = /^bearer\b/i.test(text);
  return { basic, bearer, realm: field("realm"), service: field("service"), scope: field("scope"), text };
}

export const basicLogin = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

/** The token in an answer of a registry's realm; one that cannot stand in a header is none. */
export function tokenOf(body: Buffer): string | undefined {
  try {
    const { token, access_token } = readJson(body.toString("utf8")) as Record<string, unknown>;
    return [token, access_token].find(
      (value): value is string => typeof value === "string" && /^[\x21-\x7e]+$/.test(value),
    );
  } catch {
    return undefined;
  }
}
