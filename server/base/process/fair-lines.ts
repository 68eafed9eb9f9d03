interface Line<T> {
  /** By priority, the lowest number first. */
  waiting: T[][];
  count: number;
  running: number;
}

// A caller without a request for so long loses its turn.
const KNOWN_MS = 600_000;
// Of several, one may have three times as many places as are free: alone three of four, and n together leave one of 3n + 1.
const SHARE = 3;

/**
 * What waits for one of some places, in a line for each name. The next one is of the name that has the fewest places, and among equals of the one that
 * had none for the longest. While several names are known, some places stay free for those that ask for nothing at the moment.
 */
export class FairLines<T> {
  readonly #lines = new Map<string, Line<T>>();
  #free: number;
  #names = new Set<string>();
  #namesBefore = new Set<string>();
  #since = performance.now();

  constructor(places: number) {
    this.#free = places;
  }

  get waiting(): number {
    let sum = 0;
    for (const { count } of this.#lines.values()) sum += count;
    return sum;
  }

  push(name: string, item: T, priority = 0): void {
    this.#know(name);
    let line = this.#lines.get(name);
    if (!line) {
      line = { waiting: [], count: 0, running: 0 };
      this.#lines.set(name, line);
    }
    line.waiting[priority] ??= [];
    line.waiting[priority].push(item);
    line.count++;
  }

  /** Takes one out of its line. */
  remove(name: string, item: T, priority = 0): void {
    const line = this.#lines.get(name);
    const items = line?.waiting[priority];
    const at = items?.indexOf(item) ?? -1;
    if (!line || !items || at < 0) return;
    items.splice(at, 1);
    line.count--;
    this.#drop(name, line);
  }

  /** Empties all lines. */
  clear(): void {
    for (const [name, line] of this.#lines) {
      line.waiting.length = 0;
      line.count = 0;
      this.#drop(name, line);
    }
  }

  /** The next one, which has a place until `end` is called with its name. */
  next(): { name: string; item: T } | undefined {
    if (this.#free <= 0) return undefined;
    const most = this.#several ? SHARE * this.#free : Number.POSITIVE_INFINITY;
    let [found, best]: [string | undefined, Line<T> | undefined] = [undefined, undefined];
    for (const [name, line] of this.#lines) {
      if (line.count === 0 || line.running >= most || (best && line.running >= best.running)) continue;
      [found, best] = [name, line];
    }
    if (found === undefined || !best) return undefined;
    const item = best.waiting.find((items) => items?.length)!.shift()!;
    best.count--;
    best.running++;
    this.#free--;
    if (this.#lines.size > 1) {
      this.#lines.delete(found);
      this.#lines.set(found, best);
    }
    return { name: found, item };
  }

  end(name: string): void {
    const line = this.#lines.get(name);
    if (!line) return;
    line.running--;
    this.#free++;
    this.#drop(name, line);
  }

  #drop(name: string, line: Line<T>): void {
    if (line.count === 0 && line.running === 0) this.#lines.delete(name);
  }

  #know(name: string): void {
    const now = performance.now();
    if (now - this.#since > KNOWN_MS) {
      this.#namesBefore = this.#names;
      this.#names = new Set();
      this.#since = now;
    }
    this.#names.add(name);
  }

  get #several(): boolean {
    if (this.#names.size > 1 || this.#namesBefore.size > 1) return true;
    for (const name of this.#namesBefore) return !this.#names.has(name);
    return false;
  }
}
