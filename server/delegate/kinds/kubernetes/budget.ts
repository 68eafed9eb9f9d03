import type { TaskContext } from "../../kind.ts";

// The end has to be explained while there is time to ask for reasons.
const SHARE = 0.05;
const [LEAST_MS, MOST_MS] = [5_000, 15_000];
// Asking takes as long for a short task, but most of its time is for its work.
const MOST_SHARE = 0.3;

/** How long a kind may wait, by `performance.now()`: a little less than its task may take, so that it can still say for what. */
export function waitUntil({ task }: TaskContext): number {
  const all = task.timeoutSeconds * 1_000;
  return performance.now() + all - Math.min(MOST_MS, all * MOST_SHARE, Math.max(LEAST_MS, all * SHARE));
}
