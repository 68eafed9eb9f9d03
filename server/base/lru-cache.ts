interface Entry<V> {
  value: V;
  weight: number;
  at: number;
}

/**
 * A cache of answers by key: those used last, up to a total weight. What was not asked for in `ms` goes with the
 * next entry, so that a program holds only what it works with. The newest entry stays, whatever its weight.
 */
export class LruCache<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #most: number;
  readonly #ms: number;
  readonly #now: () => number;
  #weight = 0;

  constructor({ most, ms, now = Date.now }: { most: number; ms: number; now?: () => number }) {
    this.#most = most;
    this.#ms = ms;
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    entry.at = this.#now();
    return entry.value;
  }

  set(key: string, value: V, weight = 1): void {
    const at = this.#now();
    this.#drop(key);
    this.#entries.set(key, { value, weight, at });
    this.#weight += weight;
    for (const [old, entry] of this.#entries) {
      if (old === key || (this.#weight <= this.#most && at - entry.at < this.#ms)) return;
      this.#drop(old);
    }
  }

  #drop(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}
