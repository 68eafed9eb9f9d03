import type { OperationId } from "../../../openapi/contract/operations.ts";
import { tryParseDuration } from "../../base/lang/duration.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import { Progress } from "../output/progress.ts";
import type { Session } from "../session/session.ts";
import type { Json } from "../show.ts";
import { follow } from "./follow.ts";
import type { Noun, Readiness } from "./nouns.ts";

/** Waits until an object is as `holds` wants it, saying on one line what is missing. Always ends by the deadline. */
export async function waitFor(s: Session, noun: Noun, id: string, timeout: string, holds: (object: Json) => Readiness): Promise<Json> {
  const api = await s.api();
  const [deadline, signal] = limit(s, timeout);
  const progress = new Progress(s.io, `${noun.word} ${id}`);
  let reason = "the service has not answered yet";
  try {
    // An object that does not exist is an error now, not after the whole timeout.
    await api.call(`get${noun.schema}` as OperationId, { path: { id } });
    for await (const change of follow(api, noun, id, signal)) {
      if (change.event === "bookmark") continue;
      if (change.event === "delete") throw new Failure(`${noun.word} ${id} was deleted while it was waited for`, EXIT.notFound);
      const now = holds(change.object);
      reason = now.reason;
      if (now.ready) {
        progress.done(reason);
        return change.object;
      }
      progress.say(reason);
      if (now.failed) throw new Failure(`${noun.word} ${id}: ${reason}`, EXIT.failed);
    }
    throw deadline.aborted
      ? new Failure(`${noun.word} ${id} did not get there within ${timeout}: ${reason}`, EXIT.timeout)
      : new Failure("interrupted", EXIT.interrupted);
  } finally {
    progress.clear();
  }
}

/** Waits until the object is gone. */
export async function waitGone(s: Session, noun: Noun, id: string, timeout: string): Promise<void> {
  const api = await s.api();
  const [deadline, signal] = limit(s, timeout);
  const progress = new Progress(s.io, `${noun.word} ${id}`);
  let reason = "being deleted";
  let there = false;
  try {
    for await (const change of follow(api, noun, id, signal)) {
      if (change.event === "delete" || (change.event === "bookmark" && !there)) return progress.done("gone");
      if (change.event !== "put") continue;
      there = true;
      reason = change.object.status?.delivery?.message ?? "waiting for the agent to delete it";
      progress.say(reason);
    }
    throw deadline.aborted
      ? new Failure(`${noun.word} ${id} is still there after ${timeout}: ${reason}`, EXIT.timeout)
      : new Failure("interrupted", EXIT.interrupted);
  } finally {
    progress.clear();
  }
}

function limit(s: Session, timeout: string): [AbortSignal, AbortSignal] {
  const ms = tryParseDuration(timeout);
  if (ms === undefined) throw usage(`--timeout takes a duration as 90s or 5m, not ${JSON.stringify(timeout)}`);
  const deadline = AbortSignal.timeout(ms);
  return [deadline, AbortSignal.any([deadline, s.io.signal])];
}
