import type { Log } from "../../link/log.ts";

const MINUTE_MS = 60_000;
/** More defects than this in a minute: nothing works any more, and a new process may do better. */
const MOST = 100;

/**
 * An error that no code took is a defect of the delegate; without this it would end the tasks of every scope with it. It is logged and the
 * tasks continue; the task that it belongs to ends by its deadline at the latest. Returns a function that undoes this.
 */
export function lastResort(log: Log, leave: () => void = () => process.exit(1)): () => void {
  let [count, since] = [0, 0];
  const take = (error: unknown) => {
    const now = performance.now();
    if (now - since > MINUTE_MS) [count, since] = [0, now];
    const text = error instanceof Error ? error.stack : String(error);
    log.error({ error: text }, "a defect of the delegate: an error that nothing took; its tasks go on");
    if (++count > MOST) leave();
  };
  process.on("uncaughtException", take);
  return () => void process.off("uncaughtException", take);
}
