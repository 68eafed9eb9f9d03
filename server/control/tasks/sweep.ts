import type { Database } from "../store/sql.ts";
import { type TaskRow, tryLockTask } from "./rows.ts";
import { settle } from "./settle.ts";

// A worker ends a task at its timeout and reports that; only one that does not is overruled.
const TIMEOUT_GRACE_SECONDS = 10;

/** Ends leases that ran out and tasks that ran for too long. Any replica may do it, several at once: each task's row is locked and looked at again. */
export async function sweepTasks(db: Database, account: string): Promise<TaskRow["state"][]> {
  const due = await db.query(
    `select id from tasks where account = $1 and state = 'Running'
       and (lease_expires_at <= outpost_now() or deadline_at < outpost_now() - make_interval(secs => ${TIMEOUT_GRACE_SECONDS})) order by lease_expires_at limit 100`,
    [account],
  );
  const states: TaskRow["state"][] = [];
  for (const { id } of due) {
    const state = await db.transaction(async (tx) => {
      const task = await tryLockTask(tx, account, id);
      const [now] = await tx.query(
        `select lease_expires_at <= outpost_now() as expired, deadline_at < outpost_now() - make_interval(secs => ${TIMEOUT_GRACE_SECONDS}) as late
         from tasks where account = $1 and id = $2 and state = 'Running'`,
        [account, id],
      );
      if (!task || !now) return undefined;
      if (now.late) return settle(tx, task, { type: "timeout" });
      if (!now.expired) return undefined;
      const { idempotent, attempt, maxAttempts, cancelRequested } = task;
      return settle(tx, task, { type: "expire", idempotent, attempt, maxAttempts, cancelRequested });
    });
    if (state) states.push(state);
  }
  return states;
}
