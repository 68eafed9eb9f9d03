import { type Caller, stillValid } from "../../access/authenticate.ts";
import type { Database } from "../../store/database/sql.ts";
import { eventsAfter, logBounds } from "../../store/events.ts";
import { Waiter } from "../waiter.ts";
import { Change, type Selection } from "./change.ts";
import { Subscription } from "./subscription.ts";

const BATCH = 500;
/** A commit wakes the tail; after a wake-up that was lost it looks by itself. */
const LOOK_MS = 3_000;
/** Watchers with one key ask together whether it is still valid. */
const VALID_MS = 3_000;

/**
 * The one reader of an account's log in this process. It hands each event to those watchers that want it, so a write costs one read, and work for
 * its watchers, whatever the number of the others. It runs while there are watchers.
 */
export class Tail {
  /** Every event up to here was handed out. */
  position = 0;
  /** Settled when the position is known. */
  readonly ready: Promise<void>;
  readonly #db: Database;
  readonly #account: string;
  readonly #end: () => void;
  readonly #subscriptions = new Set<Subscription>();
  /** By collection and id; those of every id under `collection` alone. */
  readonly #index = new Map<string, Set<Subscription>>();
  readonly #valid = new Map<string, Promise<boolean>>();
  readonly #stop = new AbortController();
  readonly #forget: () => void;

  constructor(db: Database, account: string, end: () => void) {
    this.#db = db;
    this.#account = account;
    this.#end = end;
    this.#forget = db.listen(account, "keys", () => {
      this.#valid.clear();
      for (const one of this.#subscriptions) one.recheck();
    });
    this.ready = logBounds(db, account).then(({ version }) => {
      this.position = version;
    });
    void this.#run();
  }

  /** A watcher of new events; it reads the log by itself until it has caught up. */
  subscribe(selection: Selection): Subscription {
    const subscription = new Subscription(selection, () => this.#leave(subscription));
    this.#subscriptions.add(subscription);
    for (const key of keysOf(selection)) {
      const set = this.#index.get(key) ?? new Set();
      this.#index.set(key, set.add(subscription));
    }
    return subscription;
  }

  /** Whether a watcher's credential still opens the service, not older than VALID_MS or the last change of keys. */
  isValid(caller: Caller): Promise<boolean> {
    if (caller.kind === "task") return stillValid(this.#db, caller);
    const known = this.#valid.get(caller.hash);
    if (known) return known;
    const asked = stillValid(this.#db, caller);
    this.#valid.set(caller.hash, asked);
    const forget = () => this.#valid.get(caller.hash) === asked && this.#valid.delete(caller.hash);
    asked.catch(forget);
    setTimeout(forget, VALID_MS).unref();
    return asked;
  }

  #leave(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
    for (const key of keysOf(subscription.selection)) {
      const set = this.#index.get(key);
      set?.delete(subscription);
      if (set?.size === 0) this.#index.delete(key);
    }
    if (this.#subscriptions.size > 0) return;
    this.#end();
    this.#forget();
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const waiter = new Waiter(this.#db, this.#account, ["events"]);
    const { signal } = this.#stop;
    try {
      await this.ready;
      while (!signal.aborted) if ((await this.#read()) < BATCH) await waiter.wait(LOOK_MS, signal);
    } catch {
      // The store is away. The streams end; their clients resume from the log.
      this.#end();
      for (const one of this.#subscriptions) one.end();
    } finally {
      waiter.close();
    }
  }

  /** Hands out the next events, in one go: a watcher that catches up sees either all of a batch here or none of it. */
  async #read(): Promise<number> {
    const batch = await eventsAfter(this.#db, this.#account, this.position, BATCH);
    const isGap = batch.length > 0 && batch[0]!.version > this.position + 1;
    if (isGap) for (const one of this.#subscriptions) one.fallBehind();
    for (const event of batch) {
      const change = new Change(event);
      for (const key of [event.collection, `${event.collection} ${event.id}`])
        for (const one of this.#index.get(key) ?? []) one.offer(change);
    }
    this.position = batch.at(-1)?.version ?? this.position;
    return batch.length;
  }
}

const keysOf = ({ collections, id }: Selection): string[] =>
  [...collections].map((one) => (id === undefined ? one : `${one} ${id}`));

const tails = new WeakMap<Database, Map<string, Tail>>();

/** The tail of an account, started for its first watcher. */
export function tailOf(db: Database, account: string): Tail {
  const mine = tails.get(db) ?? new Map<string, Tail>();
  tails.set(db, mine);
  const found = mine.get(account);
  if (found) return found;
  const tail: Tail = new Tail(db, account, () => mine.get(account) === tail && mine.delete(account));
  mine.set(account, tail);
  return tail;
}
