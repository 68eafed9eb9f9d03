import type { NextFunction, Request, Response } from "express";
import { actorOf, nameOf } from "../../access/authenticate.ts";
import { decide } from "../../access/decide.ts";
import { Problem } from "../../domain/problem.ts";
import { LABEL, type Scope } from "../../domain/scope.ts";
import { addAudit } from "../../store/audit.ts";
import { isDenied } from "../front/refuse.ts";
import { answerEarly } from "../http/early-response.ts";
import { toProblem } from "../http/problems.ts";
import type { Services } from "../services.ts";
import { targetOf } from "../write.ts";
import { type State, stateOf } from "./state.ts";

/** The only place that turns an error into a response, an audit line and a log line. */
export const fail = (s: Services) => async (error: unknown, req: Request, res: Response, _next: NextFunction) => {
  const state = stateOf(res);
  const known = toProblem(error);
  if (!known)
    s.log.error({ err: error, request: state.id, operation: state.route?.operation }, "a defect: please report it");
  const problem =
    known ?? new Problem("internal", "The service has a defect here; its log has more under this request id.");
  await auditFailure(s, problem, { ...state, scope: state.scope ?? scopeNamed(req, state) }).catch((failure: unknown) =>
    s.log.error({ err: failure }, "no audit line could be written"),
  );
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  for (const [name, value] of Object.entries(problem.details.headers ?? {})) res.setHeader(name, value);
  if (problem.details.retryAfterSeconds !== undefined)
    res.setHeader("Retry-After", String(problem.details.retryAfterSeconds));
  res.status(problem.status);
  res.setHeader("Content-Type", "application/problem+json");
  res.setHeader("Cache-Control", "no-store");
  const text = JSON.stringify(problem.body(state.id));
  // The rest of an unread body would be read as the next request.
  state.leave?.();
  if (req.complete) res.end(text);
  else answerEarly(req, res, text, { places: s.strangers.lingering, network: state.network });
};

async function auditFailure(
  s: Services,
  problem: Problem,
  { route, caller, scope, id, address }: State,
): Promise<void> {
  const denied = isDenied(problem.code) || "denied" in problem;
  if (denied) s.metrics.denied.inc({ code: problem.code });
  // Without a valid credential nothing is written to an audit trail: else anyone could fill it.
  if (
    !route ||
    !caller ||
    (!denied && (route.row.method === "GET" || caller.kind === "worker")) ||
    problem.status >= 500
  )
    return;
  const at = scope ?? { account: caller.account, org: "", project: "" };
  await addAudit(s.db, {
    ...at,
    actor: nameOf(caller),
    address,
    operation: route.operation,
    target: storable(targetOf({ params: route.params, scope: at, body: undefined })),
    outcome: denied ? "denied" : "refused",
    code: problem.code,
    request: id,
  });
}

/** The scope that a call named which was refused before its rights were looked at; undefined where its caller may not see that scope, or there can be none. */
function scopeNamed(req: Request, { caller, route }: State): Scope | undefined {
  const { org = "", project = "" } = req.query as Record<string, unknown>;
  if (!caller || !route?.row.scoped || !isLabel(org) || !isLabel(project) || (project && !org)) return undefined;
  const scope = { account: caller.account, org, project };
  const decision = decide(route.row, actorOf(caller), scope);
  return decision === "allowed" || decision === "forbidden" ? scope : undefined;
}

const isLabel = (text: unknown): text is string => typeof text === "string" && (text === "" || LABEL.test(text));

/** Longer than any name: a path may be as long as its sender likes, and audit lines are kept for long. */
const LONGEST_TARGET = 512;

// NUL, and half a character where the text was cut.
const UNFIT = /[\0\p{Surrogate}]/gu;

/** The target of a request, which need not fit the contract. The store refuses NUL, and a refused line would be lost. */
const storable = (target: string | undefined): string | undefined =>
  target?.slice(0, LONGEST_TARGET).replace(UNFIT, "\u2400");
