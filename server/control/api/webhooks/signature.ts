import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Secret } from "../../../base/secret.ts";

/** A call before anything of it is believed: its header, the `secret` of its address, and its bytes, unparsed. */
export interface Incoming {
  headers: IncomingHttpHeaders;
  secret?: string | undefined;
  bytes: Uint8Array;
}

/** Where hosts put a secret, or what they make with it. */
const PROOFS = [
  "authorization",
  "x-forgejo-signature",
  "x-gitea-signature",
  "x-gitlab-token",
  "x-gogs-signature",
  "x-hub-signature",
  "x-hub-signature-256",
  "x-outpost-signature",
];

/** Whether the head of a call has anything by which some provider could take it for signed. */
export function maybeSigned(headers: IncomingHttpHeaders, url: string): boolean {
  return PROOFS.some((name) => headers[name] !== undefined) || /[?&]secret=/.test(url);
}

/** Whether a text is the secret, in a time that tells nothing of either. */
export function isSecret(given: string | undefined, secret: Secret): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const equal = timingSafeEqual(digest(given ?? ""), digest(secret.reveal()));
  return given !== undefined && equal;
}

/** Whether one of these header fields is the HMAC-SHA-256 of the bytes, as hexadecimal digits behind a prefix. */
export function isSigned(
  { headers, bytes }: Incoming,
  secret: Secret,
  fields: readonly [name: string, prefix: string][],
): boolean {
  const want = createHmac("sha256", secret.reveal()).update(bytes).digest();
  return fields.some(([name, prefix]) => {
    const value = headers[name];
    if (typeof value !== "string" || !value.startsWith(prefix)) return false;
    const digits = value.slice(prefix.length);
    return /^[0-9a-fA-F]{64}$/.test(digits) && timingSafeEqual(Buffer.from(digits, "hex"), want);
  });
}

/** `Authorization: Bearer …`. */
export function bearer({ headers }: Incoming): string | undefined {
  return /^bearer ([^\s]{1,256})$/i.exec(headers.authorization ?? "")?.[1];
}

/** The password of `Authorization: Basic …`. */
export function basicPassword({ headers }: Incoming): string | undefined {
  const encoded = /^basic ([A-Za-z0-9+/=]{1,1024})$/i.exec(headers.authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const pair = Buffer.from(encoded, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 ? undefined : pair.slice(colon + 1);
}
