import type { Schemas } from "./nouns.ts";

export type TaskState = Schemas["Task"]["state"];

/**
 * What can happen to a task. `lease*` events are the server's clock speaking, the others a person or the worker that holds the lease.
 *
 *              lease    result    cancel      expire                              timeout
 *   Queued     Running  -         Cancelled   -                                   -
 *   Running    -        its end   (asked)     Queued | Unknown | Failed | Cancelled   TimedOut
 *   ended      -        -         -           -                                   -
 *
 * `cancel` of a running task only asks: the worker ends the processes and reports, or its lease runs out.
 */
export type TaskEvent =
  | { type: "lease" }
  | { type: "result"; outcome: Schemas["TaskResult"]["outcome"] }
  | { type: "cancel" }
  | { type: "expire"; idempotent: boolean; attempt: number; maxAttempts: number; cancelRequested: boolean }
  | { type: "timeout" };

export interface Transition {
  state: TaskState;
  reason?: string;
  message?: string;
}

const RESULTS: Record<Schemas["TaskResult"]["outcome"], TaskState> = {
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
  timedOut: "TimedOut",
};

/** The only place that decides a task's next state; undefined means that the event does not apply in this state. */
export function transition(state: TaskState, event: TaskEvent): Transition | undefined {
  if (state === "Queued") {
    if (event.type === "lease") return { state: "Running" };
    if (event.type === "cancel") return { state: "Cancelled", reason: "CancelledInQueue", message: "Cancelled before a worker took it." };
    return undefined;
  }
  if (state !== "Running") return undefined;
  switch (event.type) {
    case "result":
      return { state: RESULTS[event.outcome] };
    case "cancel":
      return { state: "Running", reason: "CancelRequested", message: "The worker is ending it." };
    case "timeout":
      return { state: "TimedOut", reason: "DeadlineExceeded", message: "It ran longer than its timeout and its worker did not end it." };
    case "expire":
      return expire(event);
    default:
      return undefined;
  }
}

function expire(event: Extract<TaskEvent, { type: "expire" }>): Transition {
  if (event.cancelRequested)
    return { state: "Cancelled", reason: "WorkerLost", message: "Its worker was lost after the task was cancelled." };
  if (!event.idempotent)
    return {
      state: "Unknown",
      reason: "WorkerLost",
      message:
        "Its worker was lost while it ran. It may have had effects, so it is not run again; look at them and create it anew if that is right.",
    };
  if (event.attempt >= event.maxAttempts)
    return { state: "Failed", reason: "AttemptsExhausted", message: `Its worker was lost in each of ${event.attempt} attempts.` };
  return { state: "Queued", reason: "WorkerLost", message: "Its worker was lost; another attempt follows." };
}

export const ENDED: readonly TaskState[] = ["Succeeded", "Failed", "Cancelled", "Unknown", "TimedOut"];
