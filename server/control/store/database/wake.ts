/** Listeners by account and topic; the in-process half of LISTEN/NOTIFY. */
export class Wakers {
  readonly #listeners = new Map<string, Set<() => void>>();
  /** Those of all topics that begin with a prefix, which ends in `:`. */
  readonly #prefixes = new Map<string, Set<(rest: string) => void>>();

  add(account: string, topic: string, wake: () => void): () => void {
    const key = `${account} ${topic}`;
    const set = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, set);
    set.add(wake);
    return () => {
      set.delete(wake);
      if (set.size === 0) this.#listeners.delete(key);
    };
  }

  addAll(account: string, prefix: string, wake: (rest: string) => void): () => void {
    const key = `${account} ${prefix}`;
    const set = this.#prefixes.get(key) ?? new Set();
    this.#prefixes.set(key, set);
    set.add(wake);
    return () => {
      set.delete(wake);
      if (set.size === 0) this.#prefixes.delete(key);
    };
  }

  wake(account: string, topic: string): void {
    const colon = topic.indexOf(":") + 1;
    if (colon > 0 && this.#prefixes.size > 0)
      for (const wake of this.#prefixes.get(`${account} ${topic.slice(0, colon)}`) ?? []) wake(topic.slice(colon));
    for (const wake of this.#listeners.get(`${account} ${topic}`) ?? []) wake();
  }

  /** After a lost connection it is not known what was missed: all listeners look again. */
  wakeAll(): void {
    for (const set of this.#listeners.values()) for (const wake of set) wake();
  }
}
