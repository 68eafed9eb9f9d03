import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Misconfigured } from "../protocol/provider.ts";
import { reason } from "../schema/diagnostics.ts";

export interface Given {
  readonly endpoint?: string | undefined;
  readonly apiKey?: string | undefined;
}

/** What the CLI writes at `outpost login`. */
interface File {
  readonly current?: string;
  readonly contexts?: Record<string, { readonly endpoint?: string; readonly apiKey?: string }>;
}

/** The CLI's file is small; a larger one is something else. */
const maxFile = 1024 * 1024;

/**
 * Endpoint and key: from the provider block, then OUTPOST_ENDPOINT and OUTPOST_API_KEY, then the CLI's current login. The login's key is
 * used only for the login's own endpoint, so that a key never goes to another service.
 */
export function resolveProfile(
  given: Given,
  env: NodeJS.ProcessEnv = process.env,
): { endpoint: string; apiKey: string } {
  const endpoint = given.endpoint || env.OUTPOST_ENDPOINT;
  const apiKey = given.apiKey || env.OUTPOST_API_KEY;
  if (endpoint && apiKey) return { endpoint: checked(endpoint), apiKey };
  const login = readLogin(env);
  const found = endpoint || login?.endpoint;
  if (!found)
    throw new Misconfigured(
      "No endpoint: set `endpoint` in the provider block, or OUTPOST_ENDPOINT, or sign in with `outpost login`.",
    );
  const key =
    apiKey || (login?.endpoint !== undefined && checked(login.endpoint) === checked(found) ? login.apiKey : undefined);
  if (!key)
    throw new Misconfigured(
      `No API key for ${checked(found)}: set \`api_key\` in the provider block, or OUTPOST_API_KEY, or sign in with \`outpost login\`.`,
    );
  return { endpoint: checked(found), apiKey: key };
}

function readLogin(env: NodeJS.ProcessEnv): { endpoint?: string; apiKey?: string } | undefined {
  const path = env.OUTPOST_CONFIG || join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "outpost", "config.json");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
  try {
    if (text.length > maxFile) throw new Error("it is too long");
    const file = JSON.parse(text) as File;
    const name = env.OUTPOST_CONTEXT || file.current;
    if (name !== undefined && file.contexts && Object.hasOwn(file.contexts, name)) return file.contexts[name];
    if (env.OUTPOST_CONTEXT) throw new Error(`it has no context ${JSON.stringify(name)}, which OUTPOST_CONTEXT names`);
    return undefined;
  } catch (error) {
    throw new Misconfigured(`${path} cannot be used: ${reason(error)}`);
  }
}

function checked(endpoint: string): string {
  let url: URL;
  try {
    url = new URL(endpoint);
  } catch {
    throw new Misconfigured(
      `\`endpoint\` is not an address: ${JSON.stringify(endpoint)}. It looks like https://outpost.example.com.`,
    );
  }
  if ((url.protocol !== "https:" && url.protocol !== "http:") || url.username || url.password || url.search || url.hash)
    throw new Misconfigured("`endpoint` must be an http or https address without credentials, query or fragment.");
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
