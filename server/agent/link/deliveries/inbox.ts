import type { Failure, Outcome } from "../../../base/outcome.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import type { Log } from "../../../link/log.ts";
import type { Report } from "../../../link/reports.ts";
import { Backoff } from "../../../link/transport/retry.ts";

export type Handle = (object: WorkerObject) => Promise<Outcome<undefined>>;
export interface InboxOptions {
  handle: Handle;
  report(object: WorkerObject, part: Pick<Report, "generation" | "outcome" | "reason" | "message">): void;
  log: Log;
}

interface Entry {
  object: WorkerObject;
  backoff: Backoff;
  running: boolean;
  throws: number;
  refused?: string;
  timer?: NodeJS.Timeout;
}

// Requests to one API server at once; more only makes each slower.
const PARALLEL = 10;
// A failing object is tried this often before it is set aside; others continue in any case.
const THROWS = 3;
// A refused object may become possible later: a right was granted, an object in the way removed.
const AGAIN_MS = 60_000;

/** Deliveries in work: one for each object, the newest one counts, one at a time. */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #waiting: string[] = [];
  #running = 0;
  #stopped = false;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Takes a delivery. False when this one is in work, or is older than the one in work. */
  put(object: WorkerObject): boolean {
    const at = `${object.collection}/${object.uid}`;
    const entry = this.#entries.get(at);
    if (entry && !entry.refused && entry.object.generation >= object.generation) return false;
    clearTimeout(entry?.timer);
    this.#entries.set(at, { object, backoff: new Backoff(), running: entry?.running ?? false, throws: 0 });
    if (!entry?.running) this.#queue(at);
    return true;
  }

  /** Looks again now, because something has changed in the cluster. True when there is something in work. */
  poke(collection: WorkerObject["collection"], uid: string): boolean {
    const at = `${collection}/${uid}`;
    const entry = this.#entries.get(at);
    if (!entry) return false;
    if (!entry.running && entry.timer) {
      clearTimeout(entry.timer);
      delete entry.timer;
      this.#queue(at);
    }
    return true;
  }

  stop(): void {
    this.#stopped = true;
    for (const entry of this.#entries.values()) clearTimeout(entry.timer);
  }

  #queue(at: string): void {
    if (!this.#waiting.includes(at)) this.#waiting.push(at);
    this.#next();
  }

  #next(): void {
    while (!this.#stopped && this.#running < PARALLEL && this.#waiting.length) {
      const at = this.#waiting.shift()!;
      const entry = this.#entries.get(at);
      if (!entry || entry.running) continue;
      this.#running++;
      entry.running = true;
      void this.#work(at, entry.object).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  async #work(at: string, object: WorkerObject): Promise<void> {
    let outcome: Outcome<undefined>;
    try {
      outcome = await this.#options.handle(object);
    } catch (error) {
      const entry = this.#entries.get(at)!;
      this.#options.log.error({ object: object.key, error: (error as Error).stack }, "a delivery threw");
      outcome = {
        kind: ++entry.throws >= THROWS ? "stop" : "again",
        reason: "InternalError",
        message: "a defect of the agent; its log has more",
      };
    }
    const entry = this.#entries.get(at)!;
    entry.running = false;
    if (this.#stopped) return;
    // A newer one came meanwhile: only that counts.
    if (entry.object !== object) return this.#queue(at);
    this.#settle(at, entry, outcome);
  }

  #settle(at: string, entry: Entry, outcome: Outcome<undefined>): void {
    const { object } = entry;
    const { generation } = object;
    if (outcome.kind === "done") {
      this.#entries.delete(at);
      this.#options.report(object, { generation, outcome: object.op === "delete" ? "deleted" : "applied" });
      return;
    }
    const { reason, message } = outcome;
    if (outcome.kind === "stop" && entry.refused !== `${reason} ${message}`) {
      entry.refused = `${reason} ${message}`;
      this.#options.log.warn({ object: object.key, reason }, message);
      this.#options.report(object, { generation, outcome: "refused", reason, message });
    }
    const wait = waitOf(outcome, entry);
    entry.timer = setTimeout(() => {
      delete entry.timer;
      this.#queue(at);
    }, wait);
  }
}

/** Refused objects are tried again late, in case their dependencies have changed. */
function waitOf(outcome: Failure, { backoff }: Entry): number {
  if (outcome.kind === "stop") return AGAIN_MS;
  return outcome.kind === "later" ? outcome.afterMs : backoff.next(outcome);
}
