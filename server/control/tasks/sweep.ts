import { explain, summarize } from "../domain/explain.ts";
import { contains } from "../domain/scope.ts";
import type { TaskEvent } from "../domain/tasks.ts";
import type { Database } from "../store/database/sql.ts";
import type { Completed } from "./complete.ts";
import { candidates } from "./explain.ts";
import { tryLockTask } from "./rows.ts";
import { settle } from "./transition.ts";

// A worker ends a task at its timeout and reports that; only one that does not is overruled.
const TIMEOUT_GRACE_SECONDS = 10;

/** Ends leases that ran out and tasks that ran for too long. Any replica may do it, several at once: each task's row is locked and looked at again. */
export async function sweepTasks(db: Database, account: string): Promise<Completed[]> {
  const due = await db.query(
    `select id from tasks where account = $1 and state = 'Running'
       and (lease_expires_at <= outpost_now() or deadline_at < outpost_now() - make_interval(secs => ${TIMEOUT_GRACE_SECONDS})) order by lease_expires_at limit 100`,
    [account],
  );
  const ended: Completed[] = [];
  for (const { id } of due) {
    const one = await db.transaction(async (tx) => {
      const task = await tryLockTask(tx, account, id);
      const [now] = await tx.query(
        `select lease_expires_at <= outpost_now() as expired, deadline_at < outpost_now() - make_interval(secs => ${TIMEOUT_GRACE_SECONDS}) as late
         from tasks where account = $1 and id = $2 and state = 'Running'`,
        [account, id],
      );
      if (!task || !now) return undefined;
      if (!now.late && !now.expired) return undefined;
      const { kind, idempotent, attempt, maxAttempts, cancelRequested } = task;
      const event: TaskEvent = now.late
        ? { type: "timeout" }
        : { type: "expire", idempotent, attempt, maxAttempts, cancelRequested };
      const state = await settle(tx, task, event);
      return state && { kind, state, worker: task.leaseWorker };
    });
    if (one) ended.push(one);
  }
  return ended;
}

/** Ends tasks that no worker took in time, with the last word on why. */
export async function sweepQueue(db: Database, account: string): Promise<Completed[]> {
  const due = await db.query(
    `select id from tasks where account = $1 and state = 'Queued' and agent_uid is null
       and created_at < outpost_now() - interval '1 second' and queued_at < outpost_now() - make_interval(secs => queue_timeout_seconds) limit 100`,
    [account],
  );
  if (due.length === 0) return [];
  const workers = await candidates(db, account);
  const ended: Completed[] = [];
  for (const { id } of due) {
    const one = await db.transaction(async (tx) => {
      const task = await tryLockTask(tx, account, id);
      if (!task || task.state !== "Queued") return undefined;
      const reasons = explain(
        workers.filter((w) => contains(w, task)),
        task,
      );
      const why = `No worker took it within ${task.queueTimeoutSeconds} s. ${summarize(reasons, task)}`;
      const state = await settle(tx, task, { type: "timeout", why });
      return state && { kind: task.kind, state };
    });
    if (one) ended.push(one);
  }
  return ended;
}
