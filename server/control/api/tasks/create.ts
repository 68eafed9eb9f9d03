import { nameOf } from "../../access/authenticate.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { checkParams } from "../../domain/params.ts";
import { createAudited, createTaskRow, type NewTask } from "../../tasks/create.ts";
import { viewTask } from "../../tasks/rows.ts";
import { checkScopeExists } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { acceptedLine } from "../write.ts";
import { writeTask } from "./write.ts";

export const createTask =
  (s: Services): Handler<"createTask"> =>
  async (call) => {
    const task = newTask(call.body, call);
    if (call.headers.idempotencyKey === undefined) {
      await s.bounds.admit(s.db, call.scope);
      const made = await createAudited(s.db, task, acceptedLine(call));
      if (made) return { status: 201, body: viewTask(made) };
      // A missing organisation or project is refused here.
      await checkScopeExists(s.db, call.scope);
    }
    return writeTask(s, call, async (tx) => {
      await checkScopeExists(tx, call.scope);
      await s.bounds.admit(tx, call.scope);
      return { status: 201 as const, body: viewTask(await createTaskRow(tx, task)) };
    });
  };

/** A request with the contract's defaults filled in, its parameters checked. */
export function newTask(r: Schemas["TaskRequest"], call: Pick<Call<"createTask">, "scope" | "caller">): NewTask {
  checkParams(r.kind, r.params);
  return {
    ...call.scope,
    kind: r.kind,
    params: r.params,
    selectors: r.selectors ?? [],
    timeoutSeconds: r.timeoutSeconds ?? 600,
    maxAttempts: r.maxAttempts ?? 3,
    idempotent: r.idempotent ?? false,
    name: r.name,
    queueTimeoutSeconds: r.queueTimeoutSeconds,
    retryOn: r.retryOn,
    retryDelaySeconds: r.retryDelaySeconds,
    requestedBy: nameOf(call.caller),
  };
}
