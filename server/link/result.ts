import type { Schemas } from "../../openapi/client.ts";
import type { Outcome } from "../base/outcome.ts";
import { pause } from "../base/process/pause.ts";
import type { Lease } from "./leases.ts";
import type { Session } from "./session.ts";
import { Backoff } from "./transport/retry.ts";

export type TaskResult = Omit<Schemas["TaskResult"], "fence">;

/** Reports a task's end until the service has it or refuses it; a repeat under the same fence changes nothing there. */
export async function sendResult(
  session: Session,
  lease: Lease,
  result: TaskResult,
  signal: AbortSignal,
): Promise<Outcome<void>> {
  const backoff = new Backoff();
  const path = `/v1/worker/tasks/${encodeURIComponent(lease.task)}/result`;
  for (;;) {
    const answer = await session.call<void>(path, { body: { fence: lease.fence, ...result }, signal });
    if (answer.kind === "done" || answer.kind === "stop" || signal.aborted) return answer;
    await pause(backoff.next(answer), signal);
  }
}
