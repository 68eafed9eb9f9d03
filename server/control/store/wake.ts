/** Listeners by account and topic; the in-process half of LISTEN/NOTIFY. */
export class Wakers {
  readonly #listeners = new Map<string, Set<() => void>>();

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

  wake(account: string, topic: string): void {
    for (const wake of this.#listeners.get(`${account} ${topic}`) ?? []) wake();
  }

  /** After a lost connection nobody knows what was missed: everybody looks again. */
  wakeAll(): void {
    for (const set of this.#listeners.values()) for (const wake of set) wake();
  }
}
