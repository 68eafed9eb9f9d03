import type { Request, Response } from "express";
import { follow } from "../../../base/process/signal.ts";
import { actorOf } from "../../access/authenticate.ts";
import { decide } from "../../access/decide.ts";
import { notFound, Problem } from "../../domain/problem.ts";
import type { Scope } from "../../domain/scope.ts";
import { unauthenticated } from "../front/front.ts";
import { handlers } from "../handlers.ts";
import { isUpload } from "../http/accept.ts";
import { originOf } from "../origin.ts";
import type { Services } from "../services.ts";
import type { AnyCall, AnyReply } from "../typed.ts";
import { type State, stateOf } from "./state.ts";

/** Authorizes the call, carries it out and answers. */
export function carryOut(s: Services) {
  const table = handlers(s) as unknown as Record<string, (call: AnyCall) => Promise<AnyReply>>;
  return async (req: Request, res: Response): Promise<void> => {
    const state = stateOf(res);
    const query = req.query as Record<string, any>;
    const scope = { account: state.caller?.account ?? "", org: query.org ?? "", project: query.project ?? "" };
    state.scope = scope;
    checkRight(state, scope, query);
    const gone = new AbortController();
    const leave = follow(gone, s.stopping);
    res.on("close", () => {
      leave();
      gone.abort();
    });
    await send(res, await table[state.route!.operation]!(callOf(s, req, state, gone.signal)));
  };
}

function checkRight({ route, caller }: State, scope: Scope, query: Record<string, unknown>): void {
  const { row } = route!;
  if (scope.project && !scope.org)
    throw new Problem("invalid_request", "`project` needs `org`: a project is in an organisation.");
  const decision = decide(row, actorOf(caller), scope);
  if (decision === "unauthenticated") throw unauthenticated(row.access === "worker");
  if (decision === "hidden") throw Object.assign(notFound(), { denied: true });
  if (caller?.kind === "task" && query.inherited)
    throw new Problem("forbidden", "A task sees its own scope only: leave out `inherited`.");
  if (decision !== "forbidden") return;
  const role = caller?.kind === "key" ? caller.key.role : "none";
  throw new Problem("forbidden", `This operation needs the role ${row.access} in this scope; the key has ${role}.`);
}

/** What a handler is given. */
function callOf(
  s: Services,
  req: Request,
  { route, scope, caller, id, address, network, bodyTaken }: State,
  signal: AbortSignal,
): AnyCall {
  const { operation, row, params } = route!;
  const text = (name: string) => req.headers[name] as string | undefined;
  return {
    operation,
    params,
    query: req.query as Record<string, any>,
    body: req.body,
    ...(isUpload(row) ? { upload: { bytes: req, announced: sizeOf(req), headers: req.headers } } : {}),
    headers: {
      ifMatch: text("if-match"),
      ifNoneMatch: text("if-none-match"),
      idempotencyKey: text("idempotency-key"),
      lastEventId: text("last-event-id"),
    },
    caller,
    scope: scope!,
    requestId: id,
    address,
    network,
    origin: originOf(req, s.publicUrl),
    signal,
    bodyTaken: () => bodyTaken?.(),
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

function sizeOf(req: Request): number | undefined {
  const length = req.headers["content-length"];
  return length === undefined ? undefined : Number(length);
}
