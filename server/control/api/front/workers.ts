import type { ServerResponse } from "node:http";
import { Problem } from "../../domain/problem.ts";
import { MADE_ROOM } from "../../strangers/bodies.ts";
import { checkContentType } from "../http/accept.ts";
import { hasBody, readBody } from "../http/body.ts";
import type { Services } from "../services.ts";
import { workerGreeting } from "../worker/hello.ts";
import { record } from "./record.ts";
import { type Asked, cut, everyAnswer, refuse } from "./refuse.ts";

/** Made once: the same refusal is given over and over, and an error takes note of its stack each time. */
const TOO_OFTEN = new Problem(
  "too_many_requests",
  "Too many workers of this address ask at once. Try again in a moment.",
  {
    retryAfterSeconds: 1,
  },
);

/** A greeting as workers send it. Any other form goes through all steps, which give the error. */
const GREETING = /^\/v1\/worker\/hello\?nonce=([A-Za-z0-9_-]{16,128})$/;

/** Greets, or refuses to: anybody may ask, so it is done before Express and the contract. */
export function greet(s: Services, asked: Asked): boolean | Promise<boolean> {
  const { req, res, network } = asked;
  if (!s.strangers.mayGreet(network)) return refuse(s, asked, TOO_OFTEN);
  const nonce = req.method === "GET" && !hasBody(req) ? GREETING.exec(req.url!)?.[1] : undefined;
  if (nonce === undefined) return false;
  return workerGreeting(s, nonce).then(
    (greeting) => {
      if (res.destroyed) return true;
      record(s, req, asked, 200);
      const text = JSON.stringify(greeting);
      res.writeHead(200, {
        ...everyAnswer(s, asked),
        "Content-Type": "application/json; charset=utf-8",
        "Content-Length": Buffer.byteLength(text),
        "Cache-Control": "no-cache",
      });
      res.end(text);
      return true;
    },
    // The store does not answer: the steps of `app.ts` say so.
    () => false,
  );
}

/**
 * Reads the body of an enrolment or a session. One that does not arrive costs no more than that; of a network whose proofs were no good lately,
 * only a worker that was greeted continues: it has a nonce of the service.
 */
export async function refuseUngreeted(s: Services, asked: Asked): Promise<boolean> {
  const { req, res, route, network } = asked;
  if (!hasBody(req)) return false;
  try {
    checkContentType(req, route.row, true);
    const body = await readBody(req, route.operation, { bodies: s.strangers.bodies, sender: network, isKnown: false });
    const nonce = (body as { nonce?: unknown } | null | undefined)?.nonce;
    if (s.strangers.isDoubted(network) && !(typeof nonce === "string" && s.signer.fitsNonce(nonce, Date.now())))
      return refuse(s, asked, TOO_OFTEN);
    if (body !== undefined) Object.assign((res as ServerResponse & { locals: object }).locals, { read: { body } });
    return false;
  } catch (error) {
    if (error === MADE_ROOM) return cut(s, asked, MADE_ROOM);
    if (error instanceof Problem) return refuse(s, asked, error);
    throw error;
  }
}
