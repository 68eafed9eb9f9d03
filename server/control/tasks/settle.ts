import { ENDED, type TaskEvent, transition } from "../domain/tasks.ts";
import { agentTopic } from "../store/deliveries.ts";
import type { Tx } from "../store/sql.ts";
import { AVOID } from "./lease.ts";
import type { TaskRow } from "./rows.ts";

export interface Settled {
  reason?: string | undefined;
  message?: string | undefined;
  outputs?: Record<string, unknown> | undefined;
  lastLog?: number | undefined;
}

/**
 * Applies an event to a task whose row is locked, and gives its new state; undefined when the event does not apply. The only
 * place that writes a task's state after it was leased.
 */
export async function settle(tx: Tx, task: TaskRow, event: TaskEvent, with_: Settled = {}): Promise<TaskRow["state"] | undefined> {
  const next = transition(task.state, event);
  if (!next) return undefined;
  const ended = ENDED.includes(next.state);
  const reason = with_.reason ?? next.reason ?? null;
  const message = with_.message ?? next.message ?? null;
  await tx.query(
    `update tasks set state = $3, reason = $4, message = $5, outputs = coalesce($6::jsonb, outputs), log_final = coalesce($7, log_final),
       ended_at = case when $8 then outpost_now() end,
       cancel_requested_at = case when $9 then coalesce(cancel_requested_at, outpost_now()) else cancel_requested_at end
     where account = $1 and id = $2`,
    [
      task.account,
      task.id,
      next.state,
      reason,
      message,
      with_.outputs ? JSON.stringify(with_.outputs) : null,
      with_.lastLog === undefined ? null : task.logBase + with_.lastLog,
      ended,
      event.type === "cancel",
    ],
  );
  if (next.state !== "Running") {
    await tx.query(
      "update attempts set ended_at = outpost_now(), reason = $4 where account = $1 and task = $2 and number = $3 and ended_at is null",
      [task.account, task.id, task.attempt, reason],
    );
    // The fence stays: whoever had the lease still carries this number, and the next lease is one higher.
    await tx.query(
      `update tasks set lease_worker = null, lease_instance = null, lease_session = null, lease_expires_at = null, deadline_at = null,
         avoid_worker = case when $3 then lease_instance end, avoid_until = case when $3 then outpost_now() + make_interval(secs => ${AVOID.seconds}) end
       where account = $1 and id = $2`,
      [task.account, task.id, next.state === "Queued"],
    );
  }
  tx.notify(task.account, `task:${task.id}`);
  if (next.state === "Queued") tx.notify(task.account, task.agentUid ? agentTopic(task.agentUid) : "tasks");
  if (event.type === "cancel" && task.leaseWorker) tx.notify(task.account, `worker:${task.leaseWorker}`);
  return next.state;
}
