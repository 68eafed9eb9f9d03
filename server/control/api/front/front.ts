import type { IncomingMessage, ServerResponse } from "node:http";
import { parseCredential } from "../../access/apikey.ts";
import { Problem } from "../../domain/problem.ts";
import { networkOf } from "../../strangers/address.ts";
import { checkAccept } from "../http/accept.ts";
import { findRoute, type Route } from "../route.ts";
import type { Services } from "../services.ts";
import { refuse } from "./refuse.ts";
import { refuseWebhook } from "./webhooks.ts";
import { greet, refuseUngreeted } from "./workers.ts";

/** What ends with a proof that fits, or counts as a failure of the network. */
const PROVES = new Set(["enrolWorker", "openSession"]);

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
  if (route.operation === "receiveWebhook") return refuseWebhook(s, asked);
  if (route.operation === "workerHello") return greet(s, asked);
  if (PROVES.has(route.operation)) return refuseUngreeted(s, asked);
  if (route.row.access === "public") return false;
  const credential = parseCredential(req.headers.authorization);
  const unknown = route.row.access === "worker" ? NO_SESSION : NO_KEY;
  if (!credential) return refuse(s, asked, unknown);
  // The store is asked for genuine tokens of tasks only.
  if (credential.kind === "task")
    return s.signer.fitsTaskToken(credential, credential.mac) ? false : refuse(s, asked, unknown);
  if (door.isKnown(credential)) return false;
  if (door.looksForged(credential)) return refuse(s, asked, unknown);
  return door.exists(s.db, credential, network).then(
    (found) => !found && refuse(s, asked, unknown),
    // Too many wait, or the store does not answer.
    (error: unknown) => error instanceof Problem && refuse(s, asked, error),
  );
}

/** Undefined for a request without a route or with an unacceptable answer type: `app.ts` gives the error. */
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

export function unauthenticated(worker: boolean): Problem {
  return worker
    ? new Problem("session_expired", "This session does not exist or has ended. Open one with the worker's key.")
    : new Problem(
        "unauthenticated",
        "Give a valid API key: `Authorization: Bearer opk_…`. It may have been revoked or have expired.",
        {
          headers: { "WWW-Authenticate": "Bearer" },
        },
      );
}

export function forwardedFor(req: IncomingMessage): string | undefined {
  const text = req.headers["x-forwarded-for"];
  return Array.isArray(text) ? text.join(",") : text;
}
