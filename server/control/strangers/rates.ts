/** How often something may happen: at most `burst` at once, and `perSecond` more each second. */
export interface Rate {
  burst: number;
  perSecond: number;
}

// A name costs some bytes for as long as it is busy; made-up names must not fill the memory.
const MAX_NAMES = 10_000;

/** A rate for each name. */
export class Rates {
  readonly #left = new Map<string, { left: number; at: number }>();
  readonly #rate: Rate;
  readonly #now: () => number;

  constructor(rate: Rate, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Number of remembered names. */
  get size(): number {
    return this.#left.size;
  }

  /** Whether one more of a name would be taken; nothing is counted. */
  hasLeft(name: string): boolean {
    return this.#leftOf(name, this.#now()) >= 1;
  }

  /** Counts one more of a name; false when there were too many. One that is refused is not counted: else a flood would keep everybody out for good. */
  take(name: string): boolean {
    const now = this.#now();
    const left = this.#leftOf(name, now);
    this.#left.delete(name);
    // The name that was silent for longest goes first; it has most of its burst again anyway.
    if (this.#left.size >= MAX_NAMES) this.#left.delete(this.#left.keys().next().value!);
    this.#left.set(name, { left: left >= 1 ? left - 1 : left, at: now });
    return left >= 1;
  }

  #leftOf(name: string, now: number): number {
    const { burst, perSecond } = this.#rate;
    const before = this.#left.get(name);
    return Math.min(burst, (before?.left ?? burst) + ((now - (before?.at ?? now)) / 1_000) * perSecond);
  }
}
