import { fillUp } from "./api/discovered/again.ts";
import { rescope } from "./api/discovered/mappings.ts";
import { removeReleased } from "./api/nouns/delete.ts";
import type { Services } from "./api/services.ts";
import { countEnd } from "./api/worker/task.ts";
import { trimAudit } from "./audit-trim.ts";
import { moveRuns } from "./runner.ts";
import { trimArtifacts } from "./store/artifacts.ts";
import { writing } from "./store/database/writer.ts";
import { trimEvents } from "./store/events.ts";
import { allReleased } from "./store/objects/moves.ts";
import { trimDeployments } from "./store/services/deployments.ts";
import { markAway } from "./tasks/presence.ts";
import { sweepQueue, sweepTasks } from "./tasks/sweep.ts";

const TICK_MS = 1_000;
const TRIM_EVERY_TICKS = 60;
const UPKEEP_EVERY_TICKS = 5;
/** Tasks that waited for too long are looked for among all that wait: 100 ms with 100,000 of them. */
const QUEUE_EVERY_TICKS = 3;
/** Ended tasks go in portions, so that no statement holds many rows for long. */
const TRIM_TASKS = 5_000;
/** A watcher that was away for less than an hour, or has missed fewer than 10,000 events, resumes. */
const KEEP_EVENTS = { seconds: 3_600, count: 10_000 };

/** The work of the clock: leases end, silent workers count as away, old rows are deleted. Every replica may run it. */
export function startSweeper(s: Services): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let tick = 0;
  const next = () => {
    if (stopped) return;
    timer = setTimeout(() => {
      running = sweep(s, tick++)
        .catch((err: unknown) => s.log.warn({ err }, "the sweep failed; the next one repeats it"))
        .then(next);
    }, TICK_MS);
  };
  next();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}

export async function sweep(s: Services, tick: number): Promise<void> {
  await s.signer.refresh();
  for (const { account } of await s.db.query<{ account: string }>("select account from accounts")) {
    for (const ended of await sweepTasks(s.db, account)) countEnd(s, account, ended);
    if (tick % QUEUE_EVERY_TICKS === 0)
      for (const ended of await sweepQueue(s.db, account)) countEnd(s, account, ended);
    await moveRuns(s, account);
    await markAway(s.db, account);
    await rescope(s, account);
    await fillUp(s.db, account, s.limits.discovered);
    // The last task of an organisation has ended, or an agent never came back to give up what had moved.
    if (tick % TRIM_EVERY_TICKS === 0)
      await writing(s.db, account, async (w) => removeReleased(w, await allReleased(w, account)));
  }
  if (tick % TRIM_EVERY_TICKS === 0) await trimAll(s);
  if (tick % UPKEEP_EVERY_TICKS === 0) await s.db.upkeep?.();
}

export async function trimAll({ db, limits, log }: Services): Promise<void> {
  await trimEvents(db, KEEP_EVENTS.seconds, KEEP_EVENTS.count);
  await db.query("delete from idempotency where created_at < outpost_now() - interval '24 hours'");
  await db.query("delete from nonces where expires_at < outpost_now()");
  await db.query("delete from sessions where expires_at < outpost_now()");
  // A replica of a delegate that is gone for an hour does not come back: the next one makes its own identity.
  await db.query(
    "delete from workers w where kind = 'delegate' and not connected and coalesce(last_seen_at, enrolled_at) < outpost_now() - interval '1 hour'",
  );
  await trimDeployments(db, limits.deploymentSeconds);
  await db.query("delete from runs where ended_at < outpost_now() - make_interval(secs => $1)", [
    limits.retentionSeconds,
  ]);
  // Questions to agents are no part of the history.
  await db.query("delete from tasks where agent_uid is not null and ended_at < outpost_now() - interval '10 minutes'");
  await db.query(
    `delete from tasks where (account, id) in (
       select account, id from tasks where created_at < outpost_now() - make_interval(secs => $1) and ended_at < outpost_now() - make_interval(secs => $1) limit ${TRIM_TASKS})`,
    [limits.retentionSeconds],
  );
  await db.query(
    "delete from task_logs l where not exists (select 1 from tasks t where t.account = l.account and t.id = l.task) and l.at < outpost_now() - interval '10 minutes'",
  );
  await trimArtifacts(db);
  // A folder that cannot be written keeps its lines in the database, and nothing else waits for that.
  await trimAudit(db, { retentionSeconds: limits.auditSeconds, exportDir: limits.auditDir }).catch((err: unknown) =>
    log.error(
      { err, dir: limits.auditDir },
      "the audit trail could not be trimmed; nothing of it is removed until this works",
    ),
  );
}
