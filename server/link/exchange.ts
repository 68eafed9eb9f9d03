import type { Schemas } from "../../openapi/client.ts";
import { type Validate, validateWorkerObject, validateWorkerTask } from "../../openapi/contract/validators.js";
import { done, type Failure, type Outcome } from "../base/outcome.ts";
import { pause } from "../base/process/pause.ts";
import { openSigned, UNSIGNED } from "./identity/verify.ts";
import type { Log } from "./log.ts";
import type { Report, Reports } from "./reports.ts";
import type { Open, Session } from "./session.ts";
import { Backoff } from "./transport/retry.ts";

export type WorkerObject = Schemas["WorkerObject"];
export type WorkerTask = Schemas["WorkerTask"];

/** How a program handles the service's answers. No handler may wait for work to be done. */
export interface Worker {
  /** All objects this worker holds, for the first exchange of each session. */
  known?(): Promise<Schemas["Known"][]>;
  /** Takes an object; false when this very state is in work already. */
  object?(object: WorkerObject): boolean;
  /** Takes a task; false for one that was taken before under this fence. */
  task(task: WorkerTask, open: Open): boolean;
  cancel(task: string): void;
  /** How many more tasks it takes now. */
  free(open: Open): number;
  draining?(): boolean;
  /** What it has left for tasks now. */
  headroom?(): Schemas["Headroom"] | undefined;
  /** `known` was sent in a session that has just been opened: report everything again. */
  resync?(open: Open): void;
  failed?(failure: Failure): void;
}

/** News for the service that travel in requests of their own, so that no other news wait for them. */
export interface Source {
  /** Resolves when there is something to say, or the signal ends. */
  ready(signal: AbortSignal): Promise<void>;
  /** The next message of this session, of at most so many parts; undefined if it has to wait. */
  batch(open: Open, limit: number | undefined): Batch | undefined;
}

export interface Batch {
  body: Partial<Schemas["ExchangeRequest"]>;
  /** The number of parts that can be sent one by one. */
  size: number;
  /** Names the first part, for the log. */
  first: string;
  /** The service has it, or will never take it. */
  settled(): void;
}

export interface ExchangeOptions {
  session: Session;
  reports: Reports;
  /** Further messages. */
  sources?: readonly Source[];
  worker: Worker;
  log: Log;
  signal: AbortSignal;
  waitSeconds?: number;
}

// Under the 30 s after which common proxies cut idle connections.
const WAIT_SECONDS = 25;
// A full worker polls again soon: an open poll cannot learn that room was made meanwhile.
const FULL_WAIT_SECONDS = 1;
// An answer later than this after its time is a half-open connection.
const SLACK_MS = 15_000;
// Changes of one moment travel together.
const GATHER_MS = 20;
const IDLE_MS = 1_000;

/**
 * Runs poll and push until the signal ends. They are requests of their own so that none waits for another, and a poll that may carry a lease is
 * never aborted.
 */
export async function runExchange(options: ExchangeOptions): Promise<void> {
  const state: State = { ...options, refused: 0, synced: undefined };
  const sources = [ofReports(options.reports), ...(options.sources ?? [])];
  await Promise.all([poll(state), ...sources.map((source) => push(state, source))]);
}

interface State extends ExchangeOptions {
  refused: number;
  /** The session whose first exchange was done. */
  synced: Open | undefined;
}

async function poll(state: State): Promise<void> {
  const { session, worker, signal, log } = state;
  const backoff = new Backoff();
  let said = "";
  while (!signal.aborted) {
    const open = await session.current();
    if (signal.aborted) return;
    const started = performance.now();
    let answer: Awaited<ReturnType<typeof exchange>>;
    if (open.kind !== "done") answer = open;
    else {
      const first = state.synced !== open.value;
      const known = first ? await worker.known?.() : undefined;
      const draining = worker.draining?.() === true;
      const free = draining ? 0 : worker.free(open.value);
      const usual = free === 0 ? FULL_WAIT_SECONDS : (state.waitSeconds ?? WAIT_SECONDS);
      const wait = first || draining ? 0 : usual;
      const headroom = session.older ? undefined : worker.headroom?.();
      const told = {
        ...(known ? { known } : {}),
        ...(draining ? { draining } : {}),
        ...(headroom ? { headroom } : {}),
      };
      answer = await exchange(state, open.value, { wait, free, ...told });
      if (answer.kind === "done" && first) {
        state.synced = open.value;
        worker.resync?.(open.value);
      }
    }
    if (answer.kind !== "done") {
      if (answer.reason === "Cancelled") continue;
      if (answer.reason === "session_expired" || answer.reason === "unauthenticated") {
        if (open.kind === "done") session.expire(open.value);
        if (backoff.failures === 0) {
          backoff.next(answer);
          continue;
        }
      }
      // One line for each different trouble, not one for each try.
      const text = `${answer.reason}: ${answer.message}`;
      if (text !== said) log.warn({ reason: answer.reason }, `no session with the service: ${answer.message}`);
      said = text;
      worker.failed?.(answer);
      await session.wait(backoff.next(answer), signal);
      continue;
    }
    if (said) log.info({}, "the session with the service is back");
    said = "";
    backoff.reset();
    // What the service repeats (an object or a cancellation that is in work here) must not make a busy loop of the poll.
    const early = answer.value.fresh === 0 && !answer.value.more && performance.now() - started < IDLE_MS;
    if (early && state.synced === session.open && (answer.value.repeated > 0 || worker.draining?.()))
      await pause(IDLE_MS, signal);
  }
}

async function push(state: State, source: Source): Promise<void> {
  const { session, signal, log } = state;
  const backoff = new Backoff();
  let limit: number | undefined;
  while (!signal.aborted) {
    await source.ready(signal);
    await pause(GATHER_MS, signal);
    if (signal.aborted) return;
    const open = await session.current();
    const batch = open.kind === "done" ? source.batch(open.value, limit) : undefined;
    if (open.kind === "done" && !batch) {
      await pause(IDLE_MS, signal);
      continue;
    }
    const answer =
      open.kind === "done" ? await exchange(state, open.value, { wait: 0, free: 0, ...batch!.body }) : open;
    if (answer.kind === "done") {
      batch!.settled();
      backoff.reset();
      limit = undefined;
      continue;
    }
    if (answer.reason === "session_expired" || answer.reason === "unauthenticated") {
      if (open.kind === "done") session.expire(open.value);
      if (backoff.failures === 0) {
        backoff.next(answer);
        continue;
      }
    }
    // One bad report must not hold up the others: the batch is halved until the bad one is alone, which is then dropped with a log line.
    if (batch && answer.kind === "stop" && /^(body_too_large|invalid_|agent_)/.test(answer.reason)) {
      if (batch.size > 1) {
        limit = Math.ceil(batch.size / 2);
        continue;
      }
      log.error(
        { reason: answer.reason, object: batch.first },
        `the service refuses a report, which is left out: ${answer.message}`,
      );
      batch.settled();
      continue;
    }
    await pause(backoff.next(answer), signal);
  }
}

/** The status of the objects that the service delivered. */
const ofReports = (reports: Reports): Source => ({
  ready: (signal) => reports.ready(signal),
  batch: (_, limit) => {
    const batch = reports.batch(limit);
    if (batch.length === 0) return undefined;
    return {
      body: { reports: batch },
      size: batch.length,
      first: nameOf(batch[0]),
      settled: () => reports.sent(batch),
    };
  },
});

interface Taken {
  fresh: number;
  repeated: number;
  more: boolean;
}

async function exchange(state: State, open: Open, body: Schemas["ExchangeRequest"]) {
  const { session, worker, signal, log } = state;
  const answer = await session.transport.call<Schemas["ExchangeAnswer"]>("POST", "/v1/worker/exchange", {
    body,
    bearer: open.bearer,
    deadlineMs: body.wait * 1000 + SLACK_MS,
    signal,
  });
  if (answer.kind !== "done") return answer;
  let asked = false;
  const read = async <T extends { worker: string }>(signed: unknown, validate: Validate<T>): Promise<Outcome<T>> => {
    const opened = openSigned(signed, open.identity.enrolment, validate);
    if (opened.kind === "done" || opened.reason !== UNSIGNED.key || asked) return opened;
    // The service may have replaced its key: its greeting says whether the new one can be trusted. Asked once an answer.
    asked = true;
    const greeted = await session.greet(open);
    return greeted.kind === "done" ? openSigned(signed, open.identity.enrolment, validate) : greeted;
  };
  const taken: Taken = { fresh: 0, repeated: 0, more: answer.value.more === true };
  const count = (took: boolean) => (took ? taken.fresh++ : taken.repeated++);
  const refuse = (what: string, failure: { reason: string; message: string }) => {
    taken.repeated++;
    if (state.refused++ % 100 === 0)
      log.error(
        { reason: failure.reason, refused: state.refused },
        `${what} from the service was not taken: ${failure.message}`,
      );
  };
  for (const signed of answer.value.objects ?? []) {
    const object = await read(signed, validateWorkerObject);
    if (object.kind !== "done") refuse("an object", object);
    else if (worker.object) count(worker.object(object.value));
  }
  for (const signed of answer.value.tasks ?? []) {
    const task = await read(signed, validateWorkerTask);
    if (task.kind !== "done") refuse("a task", task);
    else count(worker.task(task.value, open));
  }
  for (const task of answer.value.cancel ?? []) {
    worker.cancel(String(task));
    taken.repeated++;
  }
  return done(taken);
}

const nameOf = (report: Report | undefined) => (report ? `${report.collection}/${report.key}` : "");
