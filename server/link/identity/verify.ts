import type { Schemas } from "../../../openapi/client.ts";
import type { Validate } from "../../../openapi/contract/validators.js";
import { canonical } from "../../base/json/canonical.ts";
import { readJson } from "../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { verify } from "./keys.ts";

/** Why something that came as signed work was not taken. */
export const UNSIGNED = {
  shape: "SignedShapeInvalid",
  key: "SignedByOtherKey",
  signature: "SignatureInvalid",
  body: "SignedBodyInvalid",
  worker: "SignedForOther",
} as const;

// Twice the largest request the service takes; the signature is checked before anything in it is parsed.
const MAX_BODY = 8 * 1024 * 1024;

export interface Trust {
  serviceKeyId: string;
  serviceKey: string;
  worker: string;
}

/**
 * Opens what the service signed: the signature first, then that the text is the one canonical form of its content, the schema with
 * unknown fields refused, and that it is meant for this worker.
 */
export function openSigned<T extends { worker: string }>(
  signed: unknown,
  trust: Trust,
  validate: Validate<T>,
): Outcome<T> {
  if (!isSigned(signed))
    return stop(UNSIGNED.shape, "a signed body came without body, signature and key id, or with more than these");
  if (signed.keyId !== trust.serviceKeyId)
    return stop(
      UNSIGNED.key,
      `the work is signed with key ${signed.keyId.slice(0, 64)}, not with the service's key ${trust.serviceKeyId}`,
    );
  if (signed.body.length > MAX_BODY) return stop(UNSIGNED.body, `the signed body has more than ${MAX_BODY} characters`);
  if (!verify(trust.serviceKey, `outpost/signed/v1\n${signed.body}`, signed.signature))
    return stop(UNSIGNED.signature, "the signature does not fit the body");
  let value: unknown;
  try {
    value = readJson(signed.body);
  } catch {
    return stop(UNSIGNED.body, "the signed body is not JSON");
  }
  if (!isCanonical(value, signed.body))
    return stop(UNSIGNED.body, "the signed body is not canonical JSON, or nests too deep");
  if (!validate(value)) {
    const fault = validate.errors?.[0];
    return stop(
      UNSIGNED.body,
      `the signed body does not fit the contract: ${fault?.instancePath ?? ""} ${fault?.message ?? ""}; this worker may be older than the service`,
    );
  }
  if (value.worker !== trust.worker) return stop(UNSIGNED.worker, "the work is signed for another worker");
  return done(value);
}

function isCanonical(value: unknown, text: string): boolean {
  try {
    return canonical(value) === text;
  } catch {
    // More levels than the stack has: one such body must not end the session.
    return false;
  }
}

function isSigned(value: unknown): value is Schemas["Signed"] {
  if (value === null || typeof value !== "object") return false;
  const { body, signature, keyId, ...rest } = value as Record<string, unknown>;
  return (
    typeof body === "string" &&
    typeof signature === "string" &&
    typeof keyId === "string" &&
    Object.keys(rest).length === 0
  );
}
