import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import express, { type Express, type Request } from "express";
import { networkOf } from "../strangers/address.ts";
import { refuseAtFront } from "./front/front.ts";
import { validators } from "./front/validate.ts";
import { answerBrokenRequests } from "./http/sockets.ts";
import { admit } from "./request/admit.ts";
import { begin } from "./request/begin.ts";
import { carryOut } from "./request/carry-out.ts";
import { fail } from "./request/fail.ts";
import { type State, stateOf } from "./request/state.ts";
import { takeBody } from "./request/take-body.ts";
import type { Services } from "./services.ts";

export interface AppOptions {
  /** Check every answer against the contract too: in tests. */
  validateResponses?: boolean;
  /** Requests of known callers in work at the same time, without long polls and watches; further ones get 429. */
  maxInFlight?: number;
}

const PROBES = new Set(["getHealth", "getReadiness", "getMetrics"]);

const SERVER: ServerOptions = {
  maxHeaderSize: 16 * 1024,
  // Slow senders: the head within 10 s, the whole request within 60 s; looked at every second.
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 1_000,
  // Our handler answers with a Problem.
  requireHostHeader: false,
  // Longer than any client that we know of keeps a connection it does not use: one that is used at its last moment would be reset.
  keepAliveTimeout: 95_000,
};

/**
 * The HTTP server. What can be refused by its head alone is refused first (`front/`); the rest goes through the steps of `stepsOf`. Every
 * refusal on the way is a Problem and ends in `fail`.
 */
export function createApp(s: Services, options: AppOptions = {}): Server {
  const app = stepsOf(s, options);
  const server = createServer(SERVER, (req: IncomingMessage, res: ServerResponse) => {
    const at: Pick<State, "id" | "started"> = { id: randomUUID(), started: performance.now() };
    (res as ServerResponse & { locals: object }).locals = at;
    const refused = refuseAtFront(s, req, res, at);
    if (refused === false) app(req, res);
    else if (refused !== true) void refused.then((is) => is || app(req, res));
  });
  answerBrokenRequests(server);
  server.on("connection", (socket) => {
    const address = s.strangers.proxies.clientOf(socket.remoteAddress ?? "", undefined);
    // A proxy's connections carry requests of many clients.
    if (!s.strangers.proxies.has(address)) s.strangers.sockets.opened(socket, networkOf(address));
  });
  return server;
}

/** Route → authenticate → read the body within limits → validate → authorize → carry out. */
function stepsOf(s: Services, { maxInFlight = 500, validateResponses = false }: AppOptions): Express {
  const app = express();
  app.set("etag", false);
  app.set("query parser", "simple");
  app.disable("x-powered-by");
  app.use(begin(s));
  app.use(admit(s, maxInFlight));
  app.use(takeBody(s));
  app.use(fitsContract(s, validateResponses));
  app.use(carryOut(s));
  app.use(fail(s));
  return app;
}

/** Validates the request. Probes have nothing to validate and should not wait for the validator to be built. */
function fitsContract(s: Services, validateResponses: boolean): express.RequestHandler {
  const validate = express.Router();
  validate.use(
    validators(
      (res) => stateOf(res).route!,
      validateResponses ? (error, body, req) => badAnswer(s, error, body, req) : undefined,
    ),
  );
  return (req, res, next) => {
    if (PROBES.has(stateOf(res).route!.operation)) next();
    else validate(req, res, next);
  };
}

function badAnswer(s: Services, error: Error, _body: unknown, req: unknown): void {
  s.log.error({ err: error, path: (req as Request).originalUrl.split("?")[0] }, "an answer does not fit the contract");
  throw error;
}
