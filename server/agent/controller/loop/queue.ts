/** What waits first: a person's request, then a change of the specification, then a change of the cluster, then the clock. */
export const PRIORITY = { request: 0, spec: 1, live: 2, periodic: 3 } as const;
type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

interface Item {
  priority: number;
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
  readonly #ready: string[][] = [[], [], [], []];
  readonly #work: (key: string) => Promise<void>;
  #free: number;
  #stopped = false;
  #idle: (() => void)[] = [];
  #running = 0;

  constructor(workers: number, work: (key: string) => Promise<void>) {
    this.#free = workers;
    this.#work = work;
  }

  /** Puts a key in, now or after a delay; of several additions the earliest and the most urgent count. */
  add(key: string, priority: Priority, delayMs = 0): void {
    if (this.#stopped) return;
    let item = this.#items.get(key);
    if (!item) {
      item = { priority, at: 0, running: false, waiting: false };
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
    return this.#ready.reduce((sum, keys) => sum + keys.length, 0);
  }

  /** Takes nothing new and resolves when the last worker is done, or after `withinMs`. */
  async stop(withinMs = 60_000): Promise<void> {
    this.#stopped = true;
    for (const item of this.#items.values()) clearTimeout(item.timer);
    for (const keys of this.#ready) keys.length = 0;
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
      const keys = this.#ready[item.priority]!;
      const at = keys.indexOf(key);
      if (at >= 0) keys.splice(at, 1);
    }
    item.waiting = true;
    item.priority = priority;
    if (!item.running) this.#ready[priority]!.push(key);
    this.#next();
  }

  #next(): void {
    while (this.#free > 0 && !this.#stopped) {
      const key = this.#ready.find((keys) => keys.length > 0)?.shift();
      if (key === undefined) return;
      const item = this.#items.get(key)!;
      item.waiting = false;
      item.running = true;
      this.#free--;
      this.#running++;
      void this.#work(key).finally(() => {
        this.#free++;
        this.#running--;
        item.running = false;
        if (item.waiting && !this.#stopped) this.#ready[item.priority]!.push(key);
        else if (!item.waiting && !item.timer) this.#items.delete(key);
        if (this.#running === 0 && this.#stopped) for (const resolve of this.#idle.splice(0)) resolve();
        this.#next();
      });
    }
  }
}
