import type { NextFunction, Request, Response } from "express";
import { Problem } from "../../domain/problem.ts";
import { networkOf } from "../../strangers/address.ts";
import { sendContract } from "../contract.ts";
import { forwardedFor } from "../front/front.ts";
import { record } from "../front/record.ts";
import { checkAccept } from "../http/accept.ts";
import { sendPage } from "../http/page.ts";
import { isOverTls, originOf } from "../origin.ts";
import { findRoute } from "../route.ts";
import type { Services } from "../services.ts";
import { stateOf } from "./state.ts";

/** Answers to these never end, so an answer without a body makes no sense. */
const ENDLESS = /^\/v1\/((tasks\/)?watch\b|applications\/[^/]*\/logs\b)/;

/** Finds the client's address and the operation. */
export const begin = (s: Services) => (req: Request, res: Response, next: NextFunction) => {
  const state = stateOf(res);
  state.address = s.strangers.proxies.clientOf(req.socket.remoteAddress ?? "", forwardedFor(req));
  state.network = networkOf(state.address);
  res.setHeader("Request-Id", state.id);
  res.setHeader("X-Content-Type-Options", "nosniff");
  // Behind a proxy that speaks TLS: browsers never come back over plain HTTP.
  if (isOverTls(req, s.publicUrl, s.strangers.proxies)) res.setHeader("Strict-Transport-Security", "max-age=31536000");
  res.on("finish", () => record(s, req, state, res.statusCode));
  // Node leaves the body of an answer to HEAD away by itself.
  if (req.method === "HEAD" && !ENDLESS.test(req.originalUrl)) req.method = "GET";
  if (req.headers.host === undefined) throw new Problem("invalid_request", "The request has no Host header.");
  if (req.method === "GET" && /^\/(\?|$)/.test(req.originalUrl)) return sendPage(res, originOf(req, s.publicUrl));
  if (req.method === "GET" && /^\/openapi\.json(\?|$)/.test(req.originalUrl)) return sendContract(req, res);
  state.route = findRoute(req.method, req.originalUrl);
  checkAccept(req, state.route.row);
  next();
};
