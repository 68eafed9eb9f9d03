import type { IncomingHttpHeaders } from "node:http";
import { parseJson } from "../../../base/json/json.ts";
import { Problem } from "../../domain/problem.ts";

// A push of thousands of commits with the paths of each is the largest that hosts send.
const LIMITS = { depth: 32, members: 500_000 };

/**
 * The payload of a call whose signature is good.
 * @throws Problem when it is no JSON object, or too intricate.
 */
export function parsePayload(bytes: Uint8Array, headers: IncomingHttpHeaders): object {
  const form = headers["content-type"] === "application/x-www-form-urlencoded";
  const parsed = parseJson(form ? fromForm(bytes) : bytes, LIMITS);
  if (!parsed.ok)
    throw new Problem(
      parsed.reason === "syntax" ? "invalid_json" : "invalid_request",
      `The payload ${parsed.reason === "syntax" ? "is not JSON" : "cannot be taken"}: ${parsed.detail}.`,
    );
  if (parsed.value === null || typeof parsed.value !== "object" || Array.isArray(parsed.value))
    throw new Problem("invalid_request", "The payload is not a JSON object.");
  return parsed.value;
}

/** GitHub can put the JSON into the field `payload` of a form. */
function fromForm(bytes: Uint8Array): Uint8Array {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  const field = text.split("&", 64).find((part) => part.startsWith("payload="));
  if (field === undefined) throw new Problem("invalid_request", "The form has no field `payload`.");
  try {
    return Buffer.from(decodeURIComponent(field.slice("payload=".length).replaceAll("+", " ")));
  } catch {
    throw new Problem("invalid_request", "The form has a broken percent-encoding.");
  }
}
