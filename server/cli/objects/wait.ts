import type { OperationId } from "../../../openapi/contract/operations.ts";
import { tryParseDuration } from "../../base/lang/duration.ts";
import { pause } from "../../base/process/pause.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import { Progress } from "../output/progress.ts";
import type { Session } from "../session/session.ts";
import type { Json } from "../show.ts";
import { follow } from "./follow.ts";
import type { Noun, Readiness } from "./nouns.ts";

/** The first look comes soon, because an agent that is away says nothing by itself; the later ones ask the cluster, which costs more. */
const FIRST_LOOK_MS = 1_000;
const NEXT_LOOK_MS = 3_000;

export interface Goal {
  timeout: string;
  holds(object: Json): Readiness;
  /** Looks for the cause while nothing moves; its message replaces that of `holds`, and `failed` ends the wait. */
  explain?(object: Json): Promise<Readiness | undefined>;
}

/** Waits until an object is as `holds` wants it, saying on one line what is missing. Always ends by the deadline. */
export async function waitFor(s: Session, noun: Noun, id: string, { timeout, holds, explain }: Goal): Promise<Json> {
  const api = await s.api();
  const [deadline, interrupted] = limit(s, timeout);
  const over = new AbortController();
  const signal = AbortSignal.any([interrupted, over.signal]);
  const progress = new Progress(s.io, `${noun.word} ${id}`);
  let reason = "the service has not answered yet";
  let told = "";
  let current: Json | undefined;
  let hopeless: string | undefined;
  const look = async () => {
    for (let ms = FIRST_LOOK_MS; !signal.aborted; ms = NEXT_LOOK_MS) {
      await pause(ms, signal);
      const seen = current;
      const cause = seen && !signal.aborted ? await explain!(seen) : undefined;
      // The object has changed since: the cause may be old.
      if (!cause || seen !== current || signal.aborted) continue;
      reason = cause.reason;
      progress.say(reason);
      if (!cause.failed) continue;
      hopeless = cause.reason;
      over.abort();
    }
  };
  const looking = explain && look();
  // A fault in it is thrown below, where it is awaited.
  looking?.catch(() => undefined);
  try {
    // An object that does not exist is an error now, not after the whole timeout.
    await api.call(`get${noun.schema}` as OperationId, { path: { id } });
    for await (const change of follow(api, noun, { id }, signal)) {
      if (change.event === "bookmark") continue;
      if (change.event === "delete")
        throw new Failure(`${noun.word} ${id} was deleted while it was waited for`, EXIT.notFound);
      const now = holds(change.object);
      current = change.object;
      // The same state has the same cause.
      if (now.reason !== told) reason = now.reason;
      told = now.reason;
      if (now.ready) {
        progress.done(now.reason);
        return change.object;
      }
      if (now.failed) throw new Failure(`${noun.word} ${id}: ${now.reason}`, EXIT.failed);
      progress.say(reason);
    }
    if (hopeless) throw new Failure(`${noun.word} ${id}: ${hopeless}`, EXIT.failed);
    throw deadline.aborted
      ? new Failure(`${noun.word} ${id} did not get there within ${timeout}: ${reason}`, EXIT.timeout)
      : new Failure("interrupted", EXIT.interrupted);
  } finally {
    over.abort();
    await looking;
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
    for await (const change of follow(api, noun, { id }, signal)) {
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
  if (ms === undefined) throw usage(`--timeout must be a duration such as 90s or 5m, not ${JSON.stringify(timeout)}`);
  const deadline = AbortSignal.timeout(ms);
  return [deadline, AbortSignal.any([deadline, s.io.signal])];
}
