import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProblemCode } from "../../../../openapi/contract/codes.ts";
import { parseCredential } from "../../access/apikey.ts";
import { Problem } from "../../domain/problem.ts";
import { networkOf } from "../../strangers/address.ts";
import { checkAccept } from "../accept.ts";
import { hasBody, readBody } from "../body.ts";
import { answerEarly } from "../early-response.ts";
import { isOverTls } from "../origin.ts";
import { findRoute, type Route } from "../route.ts";
import type { Services } from "../services.ts";
import { webhookRefused } from "../webhooks/refused.ts";
import { record } from "./record.ts";

/** What ends with a proof that fits, or counts as a failure of the network. */
const PROVES = new Set(["enrolWorker", "openSession"]);

/** What `refuseAtFront` knows of a request. */
interface Asked {
  req: IncomingMessage;
  res: ServerResponse;
  id: string;
  started: number;
  route: Route;
  network: string;
}

/**
 * Refuses what can be refused from the head alone, before Express, the body and the contract: calls without a credential or with one that does not
 * exist, and workers of an address that asks too often. A stranger's call may cost the service next to nothing, because callers with a key wait
 * behind it. False leaves the request to the steps of `app.ts`, which also word everything else that is wrong with it.
 */
export function refuseAtFront(
  s: Services,
  req: IncomingMessage,
  res: ServerResponse,
  { id, started }: { id: string; started: number },
): boolean | Promise<boolean> {
  if (req.headers.host === undefined) return false;
  const route = routeOf(req);
  if (!route) return false;
  const { proxies, door } = s.strangers;
  const network = networkOf(proxies.clientOf(req.socket.remoteAddress ?? "", forwardedFor(req)));
  const asked = { req, res, id, started, route, network };
  if (route.operation === "receiveWebhook") return refuseMadeUp(s, asked);
  if (route.operation === "workerHello") return s.strangers.mayGreet(network) ? false : refuse(s, asked, TOO_OFTEN);
  if (PROVES.has(route.operation)) return s.strangers.isDoubted(network) ? refuseUngreeted(s, asked) : false;
  if (route.row.access === "public") return false;
  const credential = parseCredential(req.headers.authorization);
  const unknown = route.row.access === "worker" ? NO_SESSION : NO_KEY;
  if (!credential) return refuse(s, asked, unknown);
  // The store is asked for genuine tokens of tasks only.
  if (credential.kind === "task") return s.signer.fitsTaskToken(credential, credential.mac) ? false : refuse(s, asked, unknown);
  if (door.isKnown(credential)) return false;
  if (door.looksForged(credential)) return refuse(s, asked, unknown);
  return door.exists(s.db, credential, network).then(
    (found) => !found && refuse(s, asked, unknown),
    // Too many wait, or the store does not answer.
    (error: unknown) => error instanceof Problem && refuse(s, asked, error),
  );
}

/** The address of a webhook has the service's MAC: a made-up one is seen without the store. */
function refuseMadeUp(s: Services, asked: Asked): Promise<boolean> {
  return s.signer.openHookId(asked.route.params.hook ?? "").then(
    (named) => {
      if (named) return false;
      s.metrics.webhooks.inc({ provider: "none", outcome: "SignatureInvalid" });
      return refuse(s, asked, NO_WEBHOOK);
    },
    () => false,
  );
}

/** Only a worker that was greeted has a nonce of the service in its body. */
async function refuseUngreeted(s: Services, asked: Asked): Promise<boolean> {
  const { req, res, route, network } = asked;
  try {
    const read = await readBody(req, route.operation, { bodies: s.strangers.bodies, sender: network });
    const nonce = (read as { nonce?: unknown } | null | undefined)?.nonce;
    if (typeof nonce !== "string" || !s.signer.fitsNonce(nonce, Date.now())) return refuse(s, asked, TOO_OFTEN);
    Object.assign((res as ServerResponse & { locals: object }).locals, { read: { body: read } });
    return false;
  } catch (error) {
    if (error instanceof Problem) return refuse(s, asked, error);
    throw error;
  }
}

function refuse(s: Services, asked: Asked, problem: Problem): true {
  const { req, res, id, network } = asked;
  if (isDenied(problem.code)) s.metrics.denied.inc({ code: problem.code });
  const text = JSON.stringify(problem.body(id));
  const { headers = {}, retryAfterSeconds } = problem.details;
  const fields = {
    "Request-Id": id,
    "X-Content-Type-Options": "nosniff",
    ...(isOverTls(req, s.publicUrl, s.strangers.proxies) ? { "Strict-Transport-Security": "max-age=31536000" } : {}),
    ...headers,
    ...(retryAfterSeconds === undefined ? {} : { "Retry-After": retryAfterSeconds }),
    "Content-Type": "application/problem+json",
    "Cache-Control": "no-store",
  };
  const answer = () => {
    if (res.destroyed) return;
    record(s, req, asked, problem.status);
    if (req.complete || !hasBody(req)) {
      res.writeHead(problem.status, { ...fields, "Content-Length": Buffer.byteLength(text) });
      res.end(text);
      return;
    }
    res.statusCode = problem.status;
    for (const [name, value] of Object.entries(fields)) res.setHeader(name, value);
    answerEarly(req, res, text, { places: s.strangers.lingering, network });
  };
  // In the next turn a body that came together with the head is there, and the connection can stay open.
  if (hasBody(req) && !req.complete) setImmediate(answer);
  else answer();
  return true;
}

/** Undefined for a request that has no route or takes no answer of it: `app.ts` says what is wrong. */
function routeOf(req: IncomingMessage): Route | undefined {
  try {
    const route = findRoute(req.method === "HEAD" ? "GET" : req.method!, req.url!);
    checkAccept(req, route.row);
    return route;
  } catch {
    return undefined;
  }
}

/** Made once: the same refusal is given over and over, and an error takes note of its stack each time. */
const NO_KEY = unauthenticated(false);
const NO_SESSION = unauthenticated(true);
const NO_WEBHOOK = webhookRefused();
const TOO_OFTEN = new Problem("too_many_requests", "Too many workers of this address ask at once. Try again in a moment.", {
  retryAfterSeconds: 1,
});

export function unauthenticated(worker: boolean): Problem {
  return worker
    ? new Problem("session_expired", "There is no such session (any more). Open one with the worker's key.")
    : new Problem("unauthenticated", "Give a valid API key: `Authorization: Bearer opk_…`. It may have been revoked or have expired.", {
        headers: { "WWW-Authenticate": "Bearer" },
      });
}

export function forwardedFor(req: IncomingMessage): string | undefined {
  const text = req.headers["x-forwarded-for"];
  return Array.isArray(text) ? text.join(",") : text;
}

/** What a denied caller is told; the metrics count them. */
export const isDenied = (code: ProblemCode): boolean => code === "forbidden" || code === "unauthenticated" || code === "session_expired";
