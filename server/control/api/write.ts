import { digest } from "../../base/json/canonical.ts";
import { nameOf } from "../access/authenticate.ts";
import { Problem } from "../domain/problem.ts";
import { keyOf } from "../domain/scope.ts";
import { type AuditLine, addAudit, changesNoted } from "../store/audit.ts";
import type { Sql } from "../store/database/sql.ts";
import { type Writer, writing } from "../store/database/writer.ts";
import { claimKey, storeAnswer } from "../store/idempotency.ts";
import type { Services } from "./services.ts";
import type { AnyReply, Call } from "./typed.ts";

/** The part of a call that a write needs, whatever its operation. */
export type WriteCall = Pick<Call<"createTask">, "headers" | "caller" | "scope" | "requestId" | "address"> & {
  operation: string;
  params: object;
  query: object;
  body: unknown;
};

/**
 * Carries out a write: effect, event, delivery, audit line and the answer kept for the idempotency key, all in one transaction.
 * A key that was seen with the same request gives the first answer again; with another request it is refused.
 */
export async function write<R extends AnyReply>(
  s: Services,
  call: WriteCall,
  work: (w: Writer) => Promise<R>,
): Promise<R> {
  return writing(s.db, call.scope.account, (w) => recorded(s, w, call, () => work(w)));
}

/** The part of a write around its effect, inside the transaction of the caller. */
export async function recorded<R extends AnyReply>(
  s: Services,
  tx: Sql,
  call: WriteCall,
  work: () => Promise<R>,
): Promise<R> {
  const { account } = call.scope;
  const key = call.headers.idempotencyKey;
  if (key === undefined) return audited(tx, call, await work());
  const name = digest(`${nameOf(call.caller)}\n${call.operation}\n${key}`);
  const request = digest({ params: call.params, query: call.query, body: call.body });
  const seen = await claimKey(tx, account, name, request);
  if (seen) {
    if (seen.body_hash !== request)
      throw new Problem(
        "idempotency_mismatch",
        "This Idempotency-Key came with another request within the last 24 hours. Use a new key for a new request.",
      );
    const answer = s.signer.decrypt(key, seen.answer);
    if (answer === undefined)
      throw new Problem(
        "conflict",
        "The request with this Idempotency-Key was carried out, but its answer was kept under a service key that has been replaced. Read the object to see its state.",
      );
    return JSON.parse(answer) as R;
  }
  const reply = await audited(tx, call, await work());
  await storeAnswer(tx, account, name, reply.status, s.signer.encrypt(key, JSON.stringify(reply)));
  return reply;
}

async function audited<R>(w: Sql, call: WriteCall, reply: R): Promise<R> {
  await addAudit(w, { ...acceptedLine(call), changes: changesNoted(w) });
  return reply;
}

/** The audit line of a write that is carried out. */
export function acceptedLine(call: WriteCall): AuditLine {
  const { account, org, project } = call.scope;
  return {
    account,
    org,
    project,
    actor: nameOf(call.caller),
    address: call.address,
    operation: call.operation,
    target: targetOf(call),
    outcome: "accepted",
    request: call.requestId,
  };
}

/** What a call is about, for the audit trail. */
export function targetOf(call: Pick<WriteCall, "params" | "scope" | "body">): string | undefined {
  const { id, task, token, run, step } = call.params as Record<string, string | undefined>;
  const named = id ?? (call.body as { id?: string } | undefined)?.id;
  const target = named ? keyOf(call.scope, named) : (task ?? (step ? `${run}/${step}` : run));
  return token ? `${target}/${token}` : target;
}
