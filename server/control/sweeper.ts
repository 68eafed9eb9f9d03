import type { Services } from "./api/services.ts";
import { trimEvents } from "./store/events.ts";
import { markAway } from "./tasks/presence.ts";
import { sweepTasks } from "./tasks/sweep.ts";

const TICK_MS = 1_000;
const TRIM_EVERY_TICKS = 60;
/** A watcher that was away for less than an hour, or has missed fewer than 10,000 events, resumes. */
const KEEP_EVENTS = { seconds: 3_600, count: 10_000 };

/** What happens by the clock: leases end, silent workers count as away, what is old is forgotten. Every replica may run it. */
export function startSweeper(s: Services): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let tick = 0;
  const next = () => {
    if (stopped) return;
    timer = setTimeout(() => {
      running = sweep(s, tick++ % TRIM_EVERY_TICKS === 0)
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

export async function sweep(s: Services, trim: boolean): Promise<void> {
  for (const { account } of await s.db.query<{ account: string }>("select account from accounts")) {
    for (const state of await sweepTasks(s.db, account)) s.metrics.tasks.inc({ state });
    await markAway(s.db, account);
  }
  if (trim) await trimAll(s);
}

async function trimAll({ db }: Services): Promise<void> {
  await trimEvents(db, KEEP_EVENTS.seconds, KEEP_EVENTS.count);
  await db.query("delete from idempotency where created_at < outpost_now() - interval '24 hours'");
  await db.query("delete from nonces where expires_at < outpost_now()");
  await db.query("delete from sessions where expires_at < outpost_now()");
  // A replica of a delegate that is gone for an hour does not come back: the next one makes its own identity.
  await db.query(
    "delete from workers w where kind = 'delegate' and not connected and coalesce(last_seen_at, enrolled_at) < outpost_now() - interval '1 hour'",
  );
  // Questions to agents are nobody's history.
  await db.query("delete from tasks where agent_uid is not null and ended_at < outpost_now() - interval '10 minutes'");
  await db.query("delete from attempts a where not exists (select 1 from tasks t where t.account = a.account and t.id = a.task)");
}
