import type { Outcome } from "../../base/outcome.ts";
import { pause } from "../../base/process/pause.ts";
import { Backoff } from "../../link/transport/retry.ts";

/** Asks again while the answer may change by itself: for so long, and as long as the task runs. */
export async function patiently<T>(
  ask: () => Promise<Outcome<T>>,
  signal: AbortSignal,
  forMs = 120_000,
): Promise<Outcome<T>> {
  const backoff = new Backoff();
  const ends = performance.now() + forMs;
  for (;;) {
    const answer = await ask();
    if (answer.kind === "done" || answer.kind === "stop" || signal.aborted) return answer;
    const wait = backoff.next(answer);
    if (performance.now() + wait > ends) return answer;
    await pause(wait, signal);
    // The last error says more than a timeout.
    if (signal.aborted) return answer;
  }
}
