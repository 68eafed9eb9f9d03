import { Secret } from "../../base/secret.ts";
import type { RenderRequest, RepoAccess } from "./types.ts";

/** What a client asks. Secrets are written out here and nowhere else: the text leaves the process only sealed. */
export type Call = { call: "render"; request: RenderRequest } | { call: "refs"; repo: RepoAccess };

const SECRETS = ["password", "sshPrivateKey"] as const;

export function encodeCall(call: Call): string {
  return JSON.stringify(
    call.call === "refs" ? { ...call, repo: open(call.repo) } : { ...call, request: { ...call.request, repo: open(call.request.repo) } },
  );
}

export function decodeCall(text: string): Call {
  const call = JSON.parse(text) as Call;
  if (call.call === "refs") close(call.repo);
  else close(call.request.repo);
  return call;
}

function open(repo: RepoAccess): Record<string, unknown> {
  const plain: Record<string, unknown> = { ...repo };
  for (const name of SECRETS) if (repo[name]) plain[name] = repo[name].reveal();
  return plain;
}

function close(repo: RepoAccess): void {
  for (const name of SECRETS) {
    const value = repo[name] as unknown;
    if (typeof value === "string") repo[name] = new Secret(value);
  }
}

/** A request is taken for this long after it was made. */
export const FRESH_MS = 300_000;
export const MAX_CALL_BYTES = 4_000_000;
export const MAX_ANSWER_BYTES = 128_000_000;
