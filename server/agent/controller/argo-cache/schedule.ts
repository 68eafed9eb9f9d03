import type { ResourceNode } from "./tree/node.ts";

/** What is known of an application's entries. */
export interface Entry {
  /** When to write it next, by the clock. */
  dueAt: number;
  writtenAt: number;
  /** When it changed last: its entries must not be older. */
  changedAt: number;
  /** What was written: the states, and the tree with its number of pieces. */
  states?: string;
  tree?: string;
  shards: number;
  /** The orphans that the last reconciliation found, with its time. */
  orphans?: { at: number; nodes: ResourceNode[] };
  /** How many times in a row it was found to be still changing. */
  unsettled: number;
}

// A burst of changes is one write, and no application is written more often.
const SOON_MS = 200;
const EACH_MS = 1_000;
// While Pods come and go it is written at these intervals, because Pods are not watched.
const FOLLOW_MS = [2_000, 5_000, 15_000, 60_000, 300_000];

/** Decides when each application is written: soon after a change, again while it is still changing, and before its entries expire. */
export class Schedule {
  readonly #entries = new Map<string, Entry>();
  readonly #renewMs: number;
  readonly #now: () => number;

  constructor(ttlSeconds: number, now: () => number) {
    this.#renewMs = (ttlSeconds * 1_000) / 3;
    this.#now = now;
  }

  changed(name: string): void {
    const entry = this.#entry(name);
    Object.assign(entry, { changedAt: this.#now(), unsettled: 0 });
    this.#soon(entry);
  }

  /** It is open in a browser: it may have changed without an event. */
  watched(name: string): void {
    const entry = this.#entry(name);
    entry.changedAt = this.#now();
    this.#soon(entry);
  }

  #soon(entry: Entry): void {
    entry.dueAt = Math.min(entry.dueAt, Math.max(this.#now() + SOON_MS, entry.writtenAt + EACH_MS));
  }

  /** Changes from now on are not part of the entries being written. */
  begin(name: string): Entry {
    const entry = this.#entry(name);
    entry.dueAt = Number.POSITIVE_INFINITY;
    return entry;
  }

  written(name: string, result: { unsettled: boolean }): void {
    const entry = this.#entry(name);
    const now = this.#now();
    entry.unsettled = result.unsettled ? entry.unsettled + 1 : 0;
    const follow = result.unsettled
      ? FOLLOW_MS[Math.min(entry.unsettled, FOLLOW_MS.length) - 1]!
      : Number.POSITIVE_INFINITY;
    entry.writtenAt = now;
    // Spread out, because they were all written together when the program started.
    const next = now + Math.min(follow, this.#renewMs * (0.8 + Math.random() * 0.2));
    entry.dueAt = Math.min(entry.dueAt, next);
  }

  /** The entries are gone, or can no longer be trusted. */
  lost(): void {
    let at = this.#now();
    for (const entry of this.#entries.values())
      Object.assign(entry, { dueAt: at++, states: undefined, tree: undefined });
  }

  forget(name: string): Entry | undefined {
    const entry = this.#entries.get(name);
    this.#entries.delete(name);
    return entry;
  }

  /** The due application that has waited longest, and when the next one is due. */
  next(busy: ReadonlySet<string>): { name?: string; inMs?: number } {
    let [name, at] = [undefined as string | undefined, Number.POSITIVE_INFINITY];
    for (const [one, { dueAt }] of this.#entries) if (dueAt < at && !busy.has(one)) [name, at] = [one, dueAt];
    if (name === undefined) return {};
    const inMs = at - this.#now();
    if (inMs > 0) return Number.isFinite(inMs) ? { inMs } : {};
    return { name };
  }

  get names(): string[] {
    return [...this.#entries.keys()];
  }

  #entry(name: string): Entry {
    let entry = this.#entries.get(name);
    if (!entry) {
      entry = {
        dueAt: Number.POSITIVE_INFINITY,
        writtenAt: Number.NEGATIVE_INFINITY,
        changedAt: 0,
        shards: 1,
        unsettled: 0,
      };
      this.#entries.set(name, entry);
    }
    return entry;
  }
}
