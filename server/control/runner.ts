import type { Services } from "./api/services.ts";
import { RUNS, sweepRuns } from "./tasks/runs.ts";

/**
 * Moves runs of pipelines on as soon as a task has ended, on whichever replica that was told. One look at a time for each account; what
 * happens during a look causes one more. What was missed because a replica was killed, the sweeper finds within a second.
 */
export async function startRunner(s: Services): Promise<() => Promise<void>> {
  const accounts = await s.db.query<{ account: string }>("select account from accounts");
  const stops = accounts.map(({ account }) => follow(s, account));
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

function follow(s: Services, account: string): () => Promise<void> {
  let stopped = false;
  let again = false;
  let looking: Promise<void> | undefined;
  const look = async () => {
    do {
      again = false;
      await moveRuns(s, account);
    } while (again && !stopped);
    looking = undefined;
  };
  const unlisten = s.db.listen(account, RUNS, () => {
    again = true;
    if (!stopped) looking ??= look();
  });
  return async () => {
    stopped = true;
    unlisten();
    await looking;
  };
}

/** One look for runs that can go on. */
export async function moveRuns(s: Services, account: string): Promise<void> {
  await sweepRuns(s.db, account, (run, err) =>
    s.log.warn({ err, run }, "a run could not be moved on; the next look repeats it"),
  ).catch((err: unknown) => s.log.warn({ err }, "the look for runs failed; the next one repeats it"));
}
