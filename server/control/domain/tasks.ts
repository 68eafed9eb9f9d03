import type { Schemas } from "./nouns.ts";

export type TaskState = Schemas["Task"]["state"];

/**
 * What can happen to a task. `lease*` events are the server's clock speaking, the others a person or the worker that holds the lease.
 *
 *              lease    result    cancel      expire                              timeout
 *   Queued     Running  -         Cancelled   -                                   TimedOut (waited for too long)
 *   Running    -        its end   (asked)     Queued | Unknown | Failed | Cancelled   TimedOut (ran for too long)
 *                       | Queued
 *   ended      -        -         -           -                                   -
 *
 * `cancel` of a running task only asks: the worker ends the processes and reports, or its lease runs out. A result puts the task back
 * into the queue when `retryOn` names it and attempts are left. A timeout that the worker did not report never does: it may still run.
 */
export type TaskEvent =
  | { type: "lease" }
  | { type: "result"; outcome: Schemas["TaskResult"]["outcome"]; retry?: Retry }
  | { type: "cancel" }
  | { type: "expire"; idempotent: boolean; attempt: number; maxAttempts: number; cancelRequested: boolean }
  | { type: "timeout"; why?: string };

/** When a task that its worker has ended is tried again. */
export interface Retry {
  on: readonly string[];
  delaySeconds: number;
  attempt: number;
  maxAttempts: number;
  cancelRequested: boolean;
}

export interface Transition {
  state: TaskState;
  reason?: string;
  message?: string;
  /** Back in the queue: how long it waits there before anybody may take it. */
  delaySeconds?: number;
}

/** The longest pause between two attempts. */
const MAX_DELAY_SECONDS = 3_600;

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
    if (event.type === "cancel")
      return { state: "Cancelled", reason: "CancelledInQueue", message: "Cancelled before a worker took it." };
    if (event.type === "timeout")
      return {
        state: "TimedOut",
        reason: "NoWorkerInTime",
        message: event.why ?? "No worker took it within its queue timeout.",
      };
    return undefined;
  }
  if (state !== "Running") return undefined;
  switch (event.type) {
    case "result":
      return result(event.outcome, event.retry);
    case "cancel":
      return { state: "Running", reason: "CancelRequested", message: "The worker is ending it." };
    case "timeout":
      return {
        state: "TimedOut",
        reason: "DeadlineExceeded",
        message: "It ran longer than its timeout and its worker did not end it.",
      };
    case "expire":
      return expire(event);
    default:
      return undefined;
  }
}

function result(outcome: Schemas["TaskResult"]["outcome"], retry: Retry | undefined): Transition {
  const state = RESULTS[outcome];
  if (!retry?.on.includes(state) || retry.cancelRequested || retry.attempt >= retry.maxAttempts) return { state };
  return { state: "Queued", delaySeconds: Math.min(retry.delaySeconds * 2 ** (retry.attempt - 1), MAX_DELAY_SECONDS) };
}

function expire(event: Extract<TaskEvent, { type: "expire" }>): Transition {
  if (event.cancelRequested)
    return { state: "Cancelled", reason: "WorkerLost", message: "Its worker was lost after the task was cancelled." };
  if (!event.idempotent)
    return {
      state: "Unknown",
      reason: "WorkerLost",
      message:
        "Its worker was lost while it ran. It may have had effects, so it is not run again; look at them and create it again if that is right.",
    };
  if (event.attempt >= event.maxAttempts)
    return {
      state: "Failed",
      reason: "AttemptsExhausted",
      message: `Its worker was lost in each of ${event.attempt} attempts.`,
    };
  return { state: "Queued", reason: "WorkerLost", message: "Its worker was lost; another attempt follows." };
}

export const ENDED: readonly TaskState[] = ["Succeeded", "Failed", "Cancelled", "Unknown", "TimedOut"];
