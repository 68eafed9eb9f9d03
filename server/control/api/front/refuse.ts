import type { IncomingMessage, ServerResponse } from "node:http";
import type { ProblemCode } from "../../../../openapi/contract/codes.ts";
import type { Problem } from "../../domain/problem.ts";
import { hasBody } from "../http/body.ts";
import { answerEarly } from "../http/early-response.ts";
import { isOverTls } from "../origin.ts";
import type { Route } from "../route.ts";
import type { Services } from "../services.ts";
import { record } from "./record.ts";

/** What the front knows of a request. */
export interface Asked {
  req: IncomingMessage;
  res: ServerResponse;
  id: string;
  started: number;
  route: Route;
  network: string;
}

/** Answers a request with a problem. Always true: the request is dealt with. */
export function refuse(s: Services, asked: Asked, problem: Problem): true {
  const { req, res, id, network } = asked;
  if (isDenied(problem.code)) s.metrics.denied.inc({ code: problem.code });
  const text = JSON.stringify(problem.body(id));
  const { headers = {}, retryAfterSeconds } = problem.details;
  const fields = {
    ...everyAnswer(s, asked),
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
  s.strangers.turns.add(answer);
  return true;
}

/** Closes the connection of a request that had to make room: an answer costs more than the request did. Always true. */
export function cut(s: Services, asked: Asked, problem: Problem): true {
  s.strangers.turns.add(() => {
    record(s, asked.req, asked, problem.status);
    // The request first: a connection that is destroyed under it makes an error with a stack for it.
    asked.req.destroy();
    asked.req.socket.destroy();
  });
  return true;
}

/** Header fields of every answer. */
export function everyAnswer(s: Services, { req, id }: Pick<Asked, "req" | "id">): Record<string, string> {
  return {
    "Request-Id": id,
    "X-Content-Type-Options": "nosniff",
    // Behind a proxy that speaks TLS: browsers never come back over plain HTTP.
    ...(isOverTls(req, s.publicUrl, s.strangers.proxies) ? { "Strict-Transport-Security": "max-age=31536000" } : {}),
  };
}

/** The answer for a denied caller; the metrics count them. */
export const isDenied = (code: ProblemCode): boolean =>
  code === "forbidden" || code === "unauthenticated" || code === "session_expired";
