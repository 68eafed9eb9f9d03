import type { Database } from "../../store/database/sql.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import { repeatLeases, type WorkerTask } from "./lease.ts";
import { type Offer, Queue } from "./queue-snapshot.ts";
import { type Standing, standingsOf } from "./worker-state.ts";

/** While callers wait the queue is looked at again this often, as a wake-up may have been lost. */
const LOOK_MS = 1_000;
/** Where those who wait stand is looked at so often, for all of them in one statement. */
const CHECK_MS = 2_000;
/** Passes are so far apart under load: each then serves more. The first after a pause begins at once. */
const PACE_MS = 4;

/** What a delegate's worker asks for. */
export interface Asking {
  session: SessionRow;
  /** How many tasks it takes; 0 when it is full or leaving, and only waits for word of those it has. */
  free: number;
  /** It says itself that it is leaving; another of its polls that does not is sent away then. */
  draining?: boolean | undefined;
  /** It does not wait: it is answered after one pass. */
  once?: boolean | undefined;
}

export interface Given {
  tasks: WorkerTask[];
  /** Its running tasks that were cancelled. */
  cancel: string[];
  /** Its session is over. */
  ended: boolean;
}

interface Waiting extends Asking {
  offer: Offer | undefined;
  /** Where it stands must be looked at. */
  fresh: boolean;
  /** In the pass that is under way. */
  busy: boolean;
  /** Its time is over; it is answered after the pass. */
  late: boolean;
  answer(given?: Partial<Given>): void;
}

/**
 * Where the workers of an account that are connected to this replica wait for tasks. A task that is queued wakes the dispatcher, not the workers:
 * it leases for all of them in one statement and answers those who got something. With 500 workers that each looked for
 * themselves, every task would cost 500 statements; here it costs one or two.
 */
export class Dispatcher {
  readonly #db: Database;
  readonly #account: string;
  readonly #failed: (error: unknown) => void;
  readonly #waiting = new Set<Waiting>();
  readonly #stops: (() => void)[];
  readonly queue: Queue;
  #passing: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #looked = 0;
  #checked = 0;
  #passed = 0;

  constructor(db: Database, account: string, failed: (error: unknown) => void) {
    this.#db = db;
    this.#account = account;
    this.#failed = failed;
    this.queue = new Queue(account);
    this.#stops = [
      db.listenAll(account, "queue:", (shape) => {
        this.queue.queued(shape);
        this.#kick();
      }),
      // A replica of the version before does not say what it has queued.
      db.listen(account, "tasks", () => {
        this.queue.doubt();
        this.#kick();
      }),
      db.listen(account, "sessions", () => this.#renew(() => true)),
      db.listenAll(account, "worker:", (worker) => this.#renew((w) => w.session.worker === worker)),
    ];
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Waits until there is something for this worker, or until the signal. */
  ask(asking: Asking, signal: AbortSignal): Promise<Given> {
    return new Promise((resolve) => {
      const leave = () => {
        waiting.late = true;
        if (!waiting.busy) waiting.answer();
      };
      const waiting: Waiting = {
        ...asking,
        offer: undefined,
        fresh: true,
        busy: false,
        late: false,
        answer: (given = {}) => {
          signal.removeEventListener("abort", leave);
          this.#waiting.delete(waiting);
          resolve({ tasks: [], cancel: [], ended: false, ...given });
        },
      };
      if (signal.aborted && !asking.once) return resolve({ tasks: [], cancel: [], ended: false });
      // A poll that comes twice would take tasks twice: of one session the newest has the word.
      for (const other of this.#waiting)
        if (other.session.session === asking.session.session) {
          other.free = 0;
          if (other.offer) other.offer.room = 0;
        }
      this.#waiting.add(waiting);
      signal.addEventListener("abort", leave, { once: true });
      this.#timer ??= setInterval(() => this.#kick(), LOOK_MS);
      this.#kick();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const stop of this.#stops) stop();
    for (const waiting of this.#waiting) {
      waiting.late = true;
      if (!waiting.busy) waiting.answer();
    }
    await this.#passing;
  }

  #renew(which: (w: Waiting) => boolean): void {
    let any = false;
    for (const w of this.#waiting)
      if (which(w)) {
        w.fresh = true;
        any = true;
      }
    if (any) this.#kick();
  }

  #kick(): void {
    this.#again = true;
    this.#passing ??= this.#run().finally(() => {
      this.#passing = undefined;
      if (this.#again && this.#waiting.size > 0) this.#kick();
    });
  }

  async #run(): Promise<void> {
    try {
      while (this.#again) {
        const early = PACE_MS - (performance.now() - this.#passed);
        // At least until the end of this turn, so that simultaneous requests are served together.
        await new Promise<void>((resolve) => (early > 0 ? setTimeout(resolve, early) : setImmediate(resolve)));
        this.#again = false;
        if (this.#waiting.size === 0) {
          clearInterval(this.#timer);
          this.#timer = undefined;
          return;
        }
        await this.#pass();
        this.#passed = performance.now();
      }
    } catch (error) {
      this.#again = false;
      this.#failed(error);
    }
  }

  async #pass(): Promise<void> {
    const now = Date.now();
    if (now - this.#looked >= LOOK_MS) {
      this.#looked = now;
      this.queue.doubt();
    }
    if (now - this.#checked >= CHECK_MS) {
      this.#checked = now;
      for (const w of this.#waiting) w.fresh = true;
    }
    const all = [...this.#waiting].filter((w) => !w.late);
    for (const w of all) w.busy = true;
    try {
      await this.#place(all.filter((w) => w.fresh));
      const byOffer = new Map(
        all.filter((w) => this.#waiting.has(w) && w.offer && w.offer.room > 0).map((w) => [w.offer!, w]),
      );
      if (byOffer.size === 0) return;
      const { leased, again, wasted } = await this.queue.pass(this.#db, [...byOffer.keys()]);
      const got = new Map<Waiting, WorkerTask[]>();
      for (const { offer, task } of leased) {
        const w = byOffer.get(offer)!;
        got.set(w, [...(got.get(w) ?? []), task]);
        this.#db.notify(this.#account, `task:${task.task}`);
      }
      for (const [w, tasks] of got) w.answer({ tasks });
      if (again) this.#again = true;
      // Perhaps those who asked have gone, or their delegate has changed: then they are no takers.
      if (wasted) this.#checked = Math.min(this.#checked, now - CHECK_MS / 2);
    } finally {
      for (const w of all) {
        w.busy = false;
        if (this.#waiting.has(w) && (w.late || w.once)) w.answer();
      }
    }
  }

  /** Looks where some stand, and answers those who need not wait: their session is over, a task of theirs was cancelled, an answer got lost. */
  async #place(some: readonly Waiting[]): Promise<void> {
    if (some.length === 0) return;
    for (const w of some) w.fresh = false;
    const standings = await standingsOf(
      this.#db,
      this.#account,
      some.map((w) => w.session),
    );
    for (const w of some) {
      const standing = standings.get(w.session.session);
      if (!standing) w.answer({ ended: true });
      else await this.#answer(w, standing);
    }
  }

  async #answer(w: Waiting, { offer, draining, closed, cancelled, lost }: Standing): Promise<void> {
    const again = lost && w.free > 0 ? await repeatLeases(this.#db, w.session) : [];
    if (cancelled.length > 0 || again.length > 0) return w.answer({ tasks: again, cancel: cancelled });
    // A poll that waits while its worker is leaving has nothing to wait for.
    if (draining && !w.draining) return w.answer();
    // Someone who waits on keeps the offer that a pass may know already.
    w.offer = Object.assign(w.offer ?? offer, offer, { room: closed ? 0 : Math.min(offer.room, w.free) });
  }
}

/** The dispatchers of this replica. */
export class Dispatchers {
  readonly #db: Database;
  readonly #failed: (error: unknown) => void;
  readonly #dispatchers = new Map<string, Dispatcher>();

  constructor(db: Database, failed: (error: unknown) => void) {
    this.#db = db;
    this.#failed = failed;
  }

  of(account: string): Dispatcher {
    const dispatcher = this.#dispatchers.get(account) ?? new Dispatcher(this.#db, account, this.#failed);
    this.#dispatchers.set(account, dispatcher);
    return dispatcher;
  }

  /** Workers of delegates that wait here. */
  get size(): number {
    return [...this.#dispatchers.values()].reduce((n, dispatcher) => n + dispatcher.size, 0);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.close()));
  }
}
