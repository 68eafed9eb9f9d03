import type { IncomingMessage } from "node:http";
import type { OperationId } from "../../../../openapi/contract/operations.ts";
import { parseJson } from "../../../base/json/json.ts";
import { Problem } from "../../domain/problem.ts";
import type { StrangerBodies } from "../../strangers/bodies.ts";

/** A worker sends the state of thousands of objects at once, or a chart's objects as the answer to a question; a person's request has one object in it. */
const MAX_BYTES = { exchange: 16 * 1024 * 1024, other: 1024 * 1024 };
const LIMITS = {
  exchange: { depth: 64, members: 2_000_000, exact: true },
  other: { depth: 64, members: 50_000, exact: true },
};

/** What a worker says before it is known: its keys, or what it is able to do. */
const STRANGER = { max: 256 * 1024, deadlineMs: 10_000 };
/** A slow link takes its time for sixteen megabytes. */
const KNOWN_DEADLINE_MS = 120_000;

/** Who sends it, and what the bodies of such callers may take together. */
export interface Sender {
  bodies: StrangerBodies;
  sender: string;
  isKnown: boolean;
  /** Called before something is built from so many bytes. @throws Problem when there is no room for it now. */
  begin?(bytes: number): void;
}

/** Reads a body within its limits and parses it; undefined without a body. Nothing is parsed before its size was checked. */
export async function readBody(req: IncomingMessage, operation: OperationId, from: Sender): Promise<unknown> {
  const size = operation === "exchange" || operation === "completeTask" ? "exchange" : "other";
  const max = MAX_BYTES[size];
  const announced = Number(req.headers["content-length"] ?? 0);
  if (announced > max) throw tooLarge(max);
  const bounds = from.isKnown ? { max, deadlineMs: KNOWN_DEADLINE_MS } : STRANGER;
  const bytes = await from.bodies.read(req, { ...bounds, sender: from.sender, announced });
  if (bytes.length === 0) return undefined;
  from.begin?.(bytes.length);
  const parsed = parseJson(bytes, LIMITS[size]);
  if (parsed.ok) return parsed.value;
  if (parsed.reason === "syntax") throw new Problem("invalid_json", `The body is not JSON: ${parsed.detail}.`);
  if (parsed.reason === "bounds") throw new Problem("invalid_request", `The body is too intricate: ${parsed.detail}.`);
  throw new Problem("invalid_request", `The body cannot be read: ${parsed.detail}.`, { pointer: parsed.pointer ?? "" });
}

export function hasBody(req: IncomingMessage): boolean {
  return req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"] ?? 0) > 0;
}

function tooLarge(max: number): Problem {
  // The rest is not read: the connection goes with it.
  return new Problem("body_too_large", `The body may have ${max / 1024 / 1024} MiB at most.`, {
    headers: { Connection: "close" },
  });
}
