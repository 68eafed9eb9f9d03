import { ENDED, type TaskEvent, type TaskState, type Transition, transition } from "../domain/tasks.ts";
import type { Row, Tx } from "../store/database/sql.ts";
import { announce } from "./create.ts";
import { AVOID_SECONDS } from "./queue/lease.ts";
import type { TaskRow } from "./rows.ts";

export interface Settled {
  reason?: string | undefined;
  message?: string | undefined;
  outputs?: Record<string, unknown> | undefined;
  lastLog?: number | undefined;
  /** The worker whose word it is. */
  by?: string | undefined;
}

/**
 * Applies an event to a task whose row is locked, and gives its new state; undefined when the event does not apply. It and
 * `settleHeld` below are all that writes a task's state after it was leased.
 */
export async function settle(
  tx: Tx,
  task: TaskRow,
  event: TaskEvent,
  with_: Settled = {},
): Promise<TaskState | undefined> {
  const next = transition(task.state, event);
  if (!next) return undefined;
  await tx.query(statement(""), values(task, next, with_, event.type === "cancel"));
  tell(tx, task, next.state);
  if (event.type === "cancel" && task.leaseWorker) tx.notify(task.account, `worker:${task.leaseWorker}`);
  return next.state;
}

/**
 * Ends a task for the worker that holds its lease, in one statement and without looking at the row first: the way of nearly every
 * task, and half of what a task costs. Undefined when this worker does not hold the lease.
 */
export async function settleHeld(
  on: Tx,
  held: { account: string; id: string; worker: string; fence: number },
  next: Transition,
  with_: Settled,
): Promise<Row | undefined> {
  const guard =
    "and state = 'Running' and fence = $13 and lease_worker = $14 and lease_expires_at > c.n returning kind, run";
  const [row] = await on.query(statement(guard), [...values(held, next, with_, false), held.fence, held.worker]);
  if (row)
    tell(
      on,
      { account: held.account, id: held.id, run: row.run ?? undefined, agentUid: undefined, shape: "" },
      next.state,
    );
  return row;
}

function tell(on: Tx, task: Pick<TaskRow, "account" | "id" | "run" | "agentUid" | "shape">, state: TaskState): void {
  on.notify(task.account, `task:${task.id}`);
  if (task.run) on.notify(task.account, "runs");
  if (state === "Queued") announce(on, task);
}

// The clock is read once: it is a function, and reading it costs about as much as the row. The fence stays: the former holder still carries this number, and the next lease is one higher.
const statement = (guard: string) =>
  `update tasks set state = $3, reason = $4, message = $5, outputs = coalesce($6::jsonb, outputs), log_final = coalesce(log_base + $7::bigint, log_final),
     ended_at = case when $8 then c.n end, ended_by = coalesce($10, ended_by),
     cancel_requested_at = case when $9 then coalesce(cancel_requested_at, c.n) else cancel_requested_at end,
     tries = case when $11 and state = 'Running' then tries || jsonb_strip_nulls(jsonb_build_object('number', attempt, 'worker', attempt_worker,
       'startedAt', attempt_started_at, 'endedAt', c.n, 'reason', $4::text)) else tries end,
     queued_at = case when $3 = 'Queued' then c.n + make_interval(secs => $12) else queued_at end,
     avoid_worker = case when $3 = 'Queued' then lease_instance end,
     avoid_until = case when $3 = 'Queued' then c.n + make_interval(secs => $12 + ${AVOID_SECONDS}) end,
     lease_worker = case when not $11 then lease_worker end, lease_instance = case when not $11 then lease_instance end,
     lease_session = case when not $11 then lease_session end, lease_expires_at = case when not $11 then lease_expires_at end,
     deadline_at = case when not $11 then deadline_at end
   from (select outpost_now() n) c where account = $1 and id = $2 ${guard}`;

function values(task: { account: string; id: string }, next: Transition, with_: Settled, cancel: boolean): unknown[] {
  return [
    task.account,
    task.id,
    next.state,
    with_.reason ?? next.reason ?? null,
    with_.message ?? next.message ?? null,
    with_.outputs ? JSON.stringify(with_.outputs) : null,
    with_.lastLog ?? null,
    ENDED.includes(next.state),
    cancel,
    with_.by ?? null,
    next.state !== "Running",
    next.delaySeconds ?? 0,
  ];
}
