import type { Schemas } from "../domain/nouns.ts";
import { Problem } from "../domain/problem.ts";
import type { TaskState } from "../domain/tasks.ts";
import type { Database, Tx } from "../store/database/sql.ts";
import type { SessionRow } from "../store/identity/sessions.ts";
import { type TaskRow, tryLockTask } from "./rows.ts";
import { settle, settleHeld } from "./transition.ts";

/** Only who holds the lease now may speak of a task: same worker, same fence, and not after the lease's end. */
export async function lockHeld(tx: Tx, s: SessionRow, id: string, fence: number): Promise<TaskRow> {
  const task = await tryLockTask(tx, s.account, id);
  // A worker learns nothing about tasks that never were its own.
  if (!task || task.leaseWorker !== s.worker || task.fence !== fence || task.state !== "Running") throw stale();
  const [live] = await tx.query(
    "select 1 from tasks where account = $1 and id = $2 and lease_expires_at > outpost_now()",
    [s.account, id],
  );
  if (!live) throw stale();
  return task;
}

export const stale = () =>
  new Problem(
    "stale_fence",
    "This worker does not hold the task's lease (any more). It must end the task and forget its result.",
  );

export interface Completed {
  kind: string;
  state: TaskState;
  /** Whose attempt it was; none when it never ran. */
  worker?: string | undefined;
}

/** Ends a task with its worker's result. The same result under the same fence again is fine: its answer got lost; nothing is given then. */
export async function completeTaskRow(
  db: Database,
  s: SessionRow,
  id: string,
  result: Schemas["TaskResult"],
): Promise<Completed | undefined> {
  const fence = Number.isSafeInteger(result.fence) ? result.fence : -1;
  const with_ = {
    reason: result.reason,
    message: result.message,
    outputs: result.outputs,
    lastLog: result.lastLog,
    by: s.worker,
  };
  if (result.outcome === "succeeded") {
    const held = { account: s.account, id, worker: s.worker, fence };
    const row = await settleHeld(db, held, { state: "Succeeded" }, with_);
    if (row) return { kind: row.kind, state: "Succeeded", worker: s.worker };
  }
  return db.transaction(async (tx) => {
    const [before] = await tx.query(
      "select 1 from tasks where account = $1 and id = $2 and fence = $3 and ended_by = $4 and state <> 'Running'",
      [s.account, id, fence, s.worker],
    );
    if (before) return undefined;
    const task = await lockHeld(tx, s, id, fence);
    const { retryOn: on, retryDelaySeconds: delaySeconds, attempt, maxAttempts, cancelRequested } = task;
    const retry = { on, delaySeconds, attempt, maxAttempts, cancelRequested };
    const state = await settle(tx, task, { type: "result", outcome: result.outcome, retry }, with_);
    return state && { kind: task.kind, state, worker: s.worker };
  });
}
