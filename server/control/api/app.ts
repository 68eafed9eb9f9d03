import { randomUUID } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import express, { type NextFunction, type Request, type Response } from "express";
import { Places } from "../../base/places.ts";
import { follow } from "../../base/process/signal.ts";
import { actorOf, type Caller, nameOf } from "../access/authenticate.ts";
import { decide } from "../access/decide.ts";
import { notFound, Problem } from "../domain/problem.ts";
import type { Scope } from "../domain/scope.ts";
import { addAudit } from "../store/audit.ts";
import { networkOf } from "../strangers/address.ts";
import { checkAccept, checkContentType, isUpload, takesBody } from "./accept.ts";
import { hasBody, readBody } from "./body.ts";
import { answerEarly } from "./early-response.ts";
import { forwardedFor, isDenied, refuseAtFront, unauthenticated } from "./front/front.ts";
import { record } from "./front/record.ts";
import { validators } from "./front/validate.ts";
import { handlers } from "./handlers.ts";
import { isOverTls, originOf } from "./origin.ts";
import { sendPage } from "./page.ts";
import { toProblem } from "./problems.ts";
import { findRoute, type Route } from "./route.ts";
import type { Services } from "./services.ts";
import { answerBrokenRequests } from "./sockets.ts";
import type { AnyCall, AnyReply } from "./typed.ts";
import { targetOf } from "./write.ts";

export interface AppOptions {
  /** Check every answer against the contract too: in tests. */
  validateResponses?: boolean;
  /** Requests of known callers in work at the same time, without long polls and watches; more are told to come again. */
  maxInFlight?: number;
}

/** What is known of a request on its way through the steps below. */
interface State {
  id: string;
  started: number;
  route?: Route;
  caller?: Caller | undefined;
  scope?: Scope;
  /** The client's address, and the network that counts as one client. */
  address: string;
  network: string;
  /** What the front has read already. */
  read?: { body: unknown };
  /** Gives back the place that the request holds. */
  leave?: () => void;
}

const PROBES = new Set(["getHealth", "getReadiness", "getMetrics"]);

/** The part of the places that one caller may hold: the others still get in. */
const ONE_CALLER = 0.6;
/** Long polls, watches and questions to agents. A program may watch thousands of objects, and one key may serve several programs. */
const WAIT_PLACES = { total: 20_000, each: 5_000 };

/**
 * The HTTP server: refused at once (`front/`)? → route → who is it → body within limits → does it fit the contract → may they → do it. Every refusal on the way is
 * a Problem and ends in `fail`. A request takes a place only once its caller is known: what strangers may use is bounded in `strangers/`.
 */
export function createApp(s: Services, options: AppOptions = {}): Server {
  const table = handlers(s) as unknown as Record<string, (call: AnyCall) => Promise<AnyReply>>;
  const { maxInFlight = 500 } = options;
  const places = new Places({ total: maxInFlight, each: Math.ceil(maxInFlight * ONE_CALLER) });
  const waits = new Places(WAIT_PLACES);
  const app = express();
  app.set("etag", false);
  app.set("query parser", "simple");
  app.disable("x-powered-by");

  const state = (res: Response): State => res.locals as State;

  app.use((req: Request, res: Response, next: NextFunction) => {
    const address = s.strangers.proxies.clientOf(req.socket.remoteAddress ?? "", forwardedFor(req));
    Object.assign(res.locals, { address, network: networkOf(address) });
    res.setHeader("Request-Id", state(res).id);
    res.setHeader("X-Content-Type-Options", "nosniff");
    // Behind a proxy that speaks TLS: browsers never come back over plain HTTP.
    if (isOverTls(req, s.publicUrl, s.strangers.proxies)) res.setHeader("Strict-Transport-Security", "max-age=31536000");
    res.on("finish", () => record(s, req, state(res), res.statusCode));
    // Node leaves the body of an answer to HEAD away by itself. An endless answer without a body makes no sense.
    if (req.method === "HEAD" && !/^\/v1\/((tasks\/)?watch\b|applications\/[^/]*\/logs\b)/.test(req.originalUrl)) req.method = "GET";
    if (req.headers.host === undefined) throw new Problem("invalid_request", "The request has no Host header.");
    if (req.method === "GET" && /^\/(\?|$)/.test(req.originalUrl)) return sendPage(res, originOf(req, s.publicUrl));
    const route = findRoute(req.method, req.originalUrl);
    state(res).route = route;
    checkAccept(req, route.row);
    next();
  });

  app.use(
    step(async (req, res) => {
      const { network, route } = state(res);
      const { operation, row } = route!;
      const { access, task = false, waits: isWaiting = false } = row;
      if (access === "public") return;
      const caller = await s.strangers.door.authenticate(s.db, s.signer, req.headers.authorization, network);
      state(res).caller = caller;
      const fits = { key: access !== "worker", worker: access === "worker", task };
      if (!caller || !fits[caller.kind]) throw unauthenticated(access === "worker");
      s.strangers.sockets.known(req.socket);
      const leave = (isWaiting ? waits : places).tryTake(`${caller.account} ${nameOf(caller)}`);
      if (!leave) throw new Problem("too_many_requests", "The service is busy. Try again in a moment.", { retryAfterSeconds: 1 });
      state(res).leave = leave;
      // The caller may have left while it was looked up.
      if (res.closed) leave();
      else res.on("close", leave);
    }),
  );

  app.use(
    step(async (req, res) => {
      const { operation, row } = state(res).route!;
      const { takes, required } = takesBody(row);
      const given = hasBody(req);
      if (!takes) {
        checkContentType(req, row, false);
        // A body that nobody asked for is not read; the connection cannot be used again.
        if (given) res.setHeader("Connection", "close");
        return;
      }
      if (isUpload(row)) {
        // An empty file is a file. The validator is shown something that fits, the handler gets the bytes.
        checkContentType(req, row, true);
        req.body = req.headers["content-type"] === "application/octet-stream" ? "" : {};
        return;
      }
      checkContentType(req, row, given);
      const { network, read } = state(res);
      if (read) req.body = read.body;
      else
        req.body = given
          ? await readBody(req, operation, row.access === "public" ? { bodies: s.strangers.bodies, sender: network } : undefined)
          : undefined;
      if (req.body === undefined) {
        if (required) throw new Problem("invalid_json", "The operation needs a JSON body.");
        req.body = {};
      }
    }),
  );

  const validate = express.Router();
  validate.use(
    validators((res) => state(res).route!, options.validateResponses ? (error, body, req) => badAnswer(s, error, body, req) : undefined),
  );
  app.use((req: Request, res: Response, next: NextFunction) => {
    // Probes have nothing to validate, and should not wait for the validator to be built.
    if (PROBES.has(state(res).route!.operation)) next();
    else validate(req, res, next);
  });

  app.use(async (req: Request, res: Response) => {
    const { route, caller, id } = state(res);
    const { operation, row } = route!;
    const query = req.query as Record<string, any>;
    const scope = { account: caller?.account ?? "", org: query.org ?? "", project: query.project ?? "" };
    state(res).scope = scope;
    if (scope.project && !scope.org) throw new Problem("invalid_request", "`project` needs `org`: a project is in an organisation.");
    const decision = decide(row, actorOf(caller), scope);
    if (decision === "unauthenticated") throw unauthenticated(row.access === "worker");
    if (decision === "hidden") throw Object.assign(notFound(), { denied: true });
    if (caller?.kind === "task" && query.inherited)
      throw new Problem("forbidden", "A task sees its own scope only: leave out `inherited`.");
    if (decision === "forbidden")
      throw new Problem(
        "forbidden",
        `This operation needs the role ${row.access} in this scope; the key has ${caller?.kind === "key" ? caller.key.role : "none"}.`,
      );
    const gone = new AbortController();
    const leave = follow(gone, s.stopping);
    res.on("close", () => {
      leave();
      gone.abort();
    });
    const text = (name: string) => req.headers[name] as string | undefined;
    const reply = await table[operation]!({
      operation,
      params: route!.params,
      query,
      body: req.body,
      ...(isUpload(row) ? { upload: { bytes: req, announced: sizeOf(req), headers: req.headers } } : {}),
      headers: {
        ifMatch: text("if-match"),
        ifNoneMatch: text("if-none-match"),
        idempotencyKey: text("idempotency-key"),
        lastEventId: text("last-event-id"),
      },
      caller,
      scope,
      requestId: id,
      address: state(res).address,
      network: state(res).network,
      origin: originOf(req, s.publicUrl),
      signal: gone.signal,
    });
    await send(res, reply);
  });

  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) => fail(s, error, req, res, state(res)));

  const server = createServer(
    {
      maxHeaderSize: 16 * 1024,
      // Slow senders: the head within 10 s, the whole request within 60 s; looked at every second.
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 1_000,
      // Ours says so as a Problem.
      requireHostHeader: false,
      // Longer than any client that we know of keeps a connection it does not use: who takes one at its last moment would be reset.
      keepAliveTimeout: 95_000,
    },
    (req, res) => {
      const at: Pick<State, "id" | "started"> = { id: randomUUID(), started: performance.now() };
      (res as ServerResponse & { locals: object }).locals = at;
      const refused = refuseAtFront(s, req, res, at);
      if (refused === false) app(req, res);
      else if (refused !== true) void refused.then((is) => is || app(req, res));
    },
  );
  answerBrokenRequests(server);
  server.on("connection", (socket) => {
    const address = s.strangers.proxies.clientOf(socket.remoteAddress ?? "", undefined);
    // A proxy's connections carry requests of many clients.
    if (!s.strangers.proxies.has(address)) s.strangers.sockets.opened(socket, networkOf(address));
  });
  return server;
}

/** A step that goes on to the next one when its promise resolves. */
function step(work: (req: Request, res: Response) => Promise<void>) {
  return (req: Request, res: Response, next: NextFunction): void => {
    work(req, res).then(() => next(), next);
  };
}

async function send(res: Response, reply: AnyReply): Promise<void> {
  if (reply.stream) return reply.stream(res);
  res.status(reply.status);
  for (const [name, value] of Object.entries(reply.headers ?? {})) res.setHeader(name, value);
  if (!res.hasHeader("Cache-Control")) res.setHeader("Cache-Control", "no-cache");
  if (reply.text !== undefined) {
    res.setHeader("Content-Type", reply.type?.includes("charset") ? reply.type : `${reply.type}; charset=utf-8`);
    res.end(reply.text);
  } else if (reply.body === undefined) res.end();
  else res.json(reply.body);
}

/** The one place where a failure becomes an answer, an audit line and a log line. */
async function fail(s: Services, error: unknown, req: Request, res: Response, state: State): Promise<void> {
  const known = toProblem(error);
  if (!known) s.log.error({ err: error, request: state.id, operation: state.route?.operation }, "a defect: please report it");
  const problem = known ?? new Problem("internal", "The service has a defect here; its log has more under this request id.");
  await auditFailure(s, problem, state).catch((failure: unknown) => s.log.error({ err: failure }, "no audit line could be written"));
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  for (const [name, value] of Object.entries(problem.details.headers ?? {})) res.setHeader(name, value);
  if (problem.details.retryAfterSeconds !== undefined) res.setHeader("Retry-After", String(problem.details.retryAfterSeconds));
  res.status(problem.status);
  res.setHeader("Content-Type", "application/problem+json");
  res.setHeader("Cache-Control", "no-store");
  const text = JSON.stringify(problem.body(state.id));
  // What is left of an unread body would be taken for the next request.
  state.leave?.();
  if (req.complete) res.end(text);
  else answerEarly(req, res, text, { places: s.strangers.lingering, network: state.network });
}

async function auditFailure(s: Services, problem: Problem, { route, caller, scope, id, address }: State): Promise<void> {
  const denied = isDenied(problem.code) || "denied" in problem;
  if (denied) s.metrics.denied.inc({ code: problem.code });
  // Without a valid credential nobody's trail is written to: else anyone could fill it.
  if (!route || !caller || (!denied && (route.row.method === "GET" || caller.kind === "worker")) || problem.status >= 500) return;
  const at = scope ?? { account: caller.account, org: "", project: "" };
  await addAudit(s.db, {
    ...at,
    actor: nameOf(caller),
    address,
    operation: route.operation,
    target: targetOf({ params: route.params, scope: at, body: undefined }),
    outcome: denied ? "denied" : "refused",
    code: problem.code,
    request: id,
  });
}

function badAnswer(s: Services, error: Error, _body: unknown, req: unknown): void {
  s.log.error({ err: error, path: (req as Request).originalUrl.split("?")[0] }, "an answer does not fit the contract");
  throw error;
}

function sizeOf(req: Request): number | undefined {
  const length = req.headers["content-length"];
  return length === undefined ? undefined : Number(length);
}
