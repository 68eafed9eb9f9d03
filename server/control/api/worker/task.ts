import { type Completed, completeTaskRow } from "../../tasks/complete.ts";
import { appendLogs } from "../../tasks/logs.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { contact, sessionOf } from "./exchange.ts";

export const appendTaskLogs =
  (s: Services): Handler<"appendTaskLogs"> =>
  async (call) => {
    const session = sessionOf(call);
    await contact(s, session);
    return {
      status: 200,
      body: { last: await s.db.transaction((tx) => appendLogs(tx, session, call.params.task, call.body)) },
    };
  };

/** Counts an attempt that has ended, and remembers who did well with what: a worker that failed a kind of task lately is asked last for more. */
export function countEnd(s: Services, account: string, { kind, state, worker }: Completed): void {
  s.metrics.tasks.inc({ kind, state });
  if (worker && state !== "Cancelled") s.dispatchers.of(account).queue.ended(worker, kind, state === "Succeeded");
}

export const completeTask =
  (s: Services): Handler<"completeTask"> =>
  async (call) => {
    const session = sessionOf(call);
    await contact(s, session);
    const ended = await completeTaskRow(s.db, session, call.params.task, call.body);
    if (ended) countEnd(s, session.account, ended);
    return { status: 204 };
  };
