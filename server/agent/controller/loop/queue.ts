import { FairLines } from "../../../base/process/fair-lines.ts";

/** The order of the queue: a person's request, then a change of the specification, then a change of the cluster, then the schedule. */
export const PRIORITY = { request: 0, spec: 1, live: 2, periodic: 3 } as const;
type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

interface Item {
  priority: number;
  /** The line in which it waits. */
  line: string;
  timer?: NodeJS.Timeout;
  at: number;
  running: boolean;
  waiting: boolean;
}

/**
 * Keys, each worked on by one worker at a time and waiting at most once:
 *
 *   idle → waiting   add
 *   waiting → running   a worker is free; the lowest priority number goes first
 *   running → waiting   added meanwhile
 *   running → idle   otherwise; nothing is kept of it, as keys come and go for as long as this runs
 */
export class Queue {
  readonly #items = new Map<string, Item>();
  readonly #ready: FairLines<string>;
  readonly #work: (key: string) => Promise<void>;
  readonly #lineOf: (key: string) => string;
  #stopped = false;
  #idle: (() => void)[] = [];
  #running = 0;

  /** Workers are shared fairly among the lines: one with many keys, or with slow ones, does not hold up the others. */
  constructor(workers: number, work: (key: string) => Promise<void>, lineOf: (key: string) => string = () => "") {
    this.#ready = new FairLines(workers);
    this.#work = work;
    this.#lineOf = lineOf;
  }

  /** Puts a key in, now or after a delay; of several additions the earliest and the most urgent count. */
  add(key: string, priority: Priority, delayMs = 0): void {
    if (this.#stopped) return;
    let item = this.#items.get(key);
    if (!item) {
      item = { priority, line: "", at: 0, running: false, waiting: false };
      this.#items.set(key, item);
    }
    if (delayMs > 0 && !item.waiting) {
      const at = Date.now() + delayMs;
      if (item.timer && item.at <= at) return;
      clearTimeout(item.timer);
      item.at = at;
      item.timer = setTimeout(() => this.#wait(key, priority), delayMs);
      return;
    }
    this.#wait(key, priority);
  }

  /** Forgets the timer of a key that is gone. */
  forget(key: string): void {
    const item = this.#items.get(key);
    if (!item || item.running || item.waiting) return;
    clearTimeout(item.timer);
    this.#items.delete(key);
  }

  /** How many wait, run, or will wait later. */
  get size(): number {
    return this.#items.size;
  }

  get depth(): number {
    return this.#ready.waiting;
  }

  /** Accepts nothing new; resolves when the last worker is done, or after `withinMs`. */
  async stop(withinMs = 60_000): Promise<void> {
    this.#stopped = true;
    for (const item of this.#items.values()) clearTimeout(item.timer);
    this.#ready.clear();
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #wait(key: string, priority: Priority): void {
    const item = this.#items.get(key);
    if (!item || this.#stopped) return;
    clearTimeout(item.timer);
    item.timer = undefined;
    if (item.waiting) {
      if (priority >= item.priority) return;
      this.#ready.remove(item.line, key, item.priority);
    }
    item.waiting = true;
    item.priority = priority;
    if (!item.running) this.#enter(key, item);
    this.#next();
  }

  #enter(key: string, item: Item): void {
    item.line = this.#lineOf(key);
    this.#ready.push(item.line, key, item.priority);
  }

  #next(): void {
    while (!this.#stopped) {
      const next = this.#ready.next();
      if (!next) return;
      const { name: line, item: key } = next;
      const item = this.#items.get(key)!;
      item.waiting = false;
      item.running = true;
      this.#running++;
      void this.#work(key).finally(() => {
        this.#ready.end(line);
        this.#running--;
        item.running = false;
        if (item.waiting && !this.#stopped) this.#enter(key, item);
        else if (!item.waiting && !item.timer) this.#items.delete(key);
        if (this.#running === 0 && this.#stopped) for (const resolve of this.#idle.splice(0)) resolve();
        this.#next();
      });
    }
  }
}
