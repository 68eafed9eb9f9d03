import { createHmac } from "node:crypto";
import { GIT_CALLS } from "./hook-git.ts";
import { OTHER_CALLS } from "./hook-others.ts";

/** A call as a host makes it: header fields, payload, and what should be read from it. */
export interface HookCall {
  provider: string;
  /** What happened. */
  name: string;
  headers: Record<string, string>;
  payload: Record<string, unknown>;
  /** Addresses of which each one must be among those that are read, whatever their spelling. */
  want: { addresses: string[]; refs?: string[]; revision?: string } | "Ignored" | "PayloadInvalid";
}

/** Calls of every provider. */
export const HOOK_CALLS: HookCall[] = [...GIT_CALLS, ...OTHER_CALLS];

/** A call as it goes out: with the secret where the provider has it. `form` sends GitHub's payload as a field of a form. */
export function signHook(
  { provider, headers, payload }: Pick<HookCall, "provider" | "headers" | "payload">,
  secret: string,
  raw: string | Uint8Array = JSON.stringify(payload),
): { headers: Record<string, string>; raw: string | Uint8Array; query: string } {
  const hmac = createHmac("sha256", secret).update(raw).digest("hex");
  const signature: Record<string, Record<string, string>> = {
    github: { "x-hub-signature-256": `sha256=${hmac}` },
    ghcr: { "x-hub-signature-256": `sha256=${hmac}` },
    gitlab: { "x-gitlab-token": secret },
    gitea: { [headers["x-gogs-event"] ? "x-gogs-signature" : "x-gitea-signature"]: hmac },
    bitbucket: { "x-hub-signature": `sha256=${hmac}` },
    bitbucketServer: { "x-hub-signature": `sha256=${hmac}` },
    azureDevOps: { authorization: `Basic ${Buffer.from(`outpost:${secret}`).toString("base64")}` },
    harbor: { authorization: secret },
    generic: { authorization: `Bearer ${secret}` },
  };
  return {
    headers: { "content-type": "application/json", ...headers, ...signature[provider] },
    raw,
    query: provider === "dockerHub" ? `?secret=${secret}` : "",
  };
}
