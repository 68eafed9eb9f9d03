import { digest } from "../../base/canonical.ts";
import { nameOf } from "../access/authenticate.ts";
import { Problem } from "../domain/problem.ts";
import { keyOf } from "../domain/scope.ts";
import { addAudit } from "../store/audit.ts";
import { claimKey, storeAnswer } from "../store/idempotency.ts";
import { type Writer, writing } from "../store/writer.ts";
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
export async function write<R extends AnyReply>(s: Services, call: WriteCall, work: (w: Writer) => Promise<R>): Promise<R> {
  return writing(s.db, call.scope.account, async (w) => {
    const key = call.headers.idempotencyKey;
    if (key === undefined) return audited(w, call, await work(w));
    const name = digest(`${nameOf(call.caller)}\n${call.operation}\n${key}`);
    const seen = await claimKey(w, w.account, name, digest({ params: call.params, query: call.query, body: call.body }));
    if (seen) {
      if (seen.body_hash !== digest({ params: call.params, query: call.query, body: call.body }))
        throw new Problem(
          "idempotency_mismatch",
          "This Idempotency-Key came with another request within the last 24 hours. Use a new key for a new request.",
        );
      return JSON.parse(s.signer.decrypt(key, seen.answer)) as R;
    }
    const reply = await audited(w, call, await work(w));
    await storeAnswer(w, w.account, name, reply.status, s.signer.encrypt(key, JSON.stringify(reply)));
    return reply;
  });
}

async function audited<R>(w: Writer, call: WriteCall, reply: R): Promise<R> {
  const { account, org, project } = call.scope;
  await addAudit(w, {
    account,
    org,
    project,
    actor: nameOf(call.caller),
    address: call.address,
    operation: call.operation,
    target: targetOf(call),
    outcome: "accepted",
    request: call.requestId,
  });
  return reply;
}

/** What a call is about, for the audit trail. */
export function targetOf(call: Pick<WriteCall, "params" | "scope" | "body">): string | undefined {
  const { id, task, token } = call.params as Record<string, string | undefined>;
  const named = id ?? (call.body as { id?: string } | undefined)?.id;
  const target = named ? keyOf(call.scope, named) : task;
  return token ? `${target}/${token}` : target;
}
