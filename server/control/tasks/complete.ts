import type { Schemas } from "../domain/nouns.ts";
import { Problem } from "../domain/problem.ts";
import type { SessionRow } from "../store/sessions.ts";
import type { Tx } from "../store/sql.ts";
import { type TaskRow, tryLockTask } from "./rows.ts";
import { settle } from "./settle.ts";

/** Only who holds the lease now may speak of a task: same worker, same fence, and not after the lease's end. */
export async function lockHeld(tx: Tx, s: SessionRow, id: string, fence: number): Promise<TaskRow> {
  const task = await tryLockTask(tx, s.account, id);
  // A worker learns nothing about tasks that never were its own.
  if (!task || task.leaseWorker !== s.worker || task.fence !== fence || task.state !== "Running") throw stale();
  const [live] = await tx.query("select 1 from tasks where account = $1 and id = $2 and lease_expires_at > outpost_now()", [s.account, id]);
  if (!live) throw stale();
  return task;
}

export const stale = () =>
  new Problem("stale_fence", "This worker does not hold the task's lease (any more). It must end the task and forget its result.");

/** Ends a task with its worker's result. The same result under the same fence again is fine: its answer got lost. */
export async function completeTaskRow(tx: Tx, s: SessionRow, id: string, result: Schemas["TaskResult"]): Promise<string | undefined> {
  const fence = Number.isSafeInteger(result.fence) ? result.fence : -1;
  const [before] = await tx.query(
    "select 1 from tasks where account = $1 and id = $2 and fence = $3 and ended_by = $4 and state <> 'Running'",
    [s.account, id, fence, s.worker],
  );
  if (before) return undefined;
  const task = await lockHeld(tx, s, id, result.fence);
  await tx.query("update tasks set ended_by = $3 where account = $1 and id = $2", [s.account, id, s.worker]);
  return settle(
    tx,
    task,
    { type: "result", outcome: result.outcome },
    { reason: result.reason, message: result.message, outputs: result.outputs, lastLog: result.lastLog },
  );
}
