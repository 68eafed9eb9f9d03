import { Problem } from "../../domain/problem.ts";
import { Rates } from "../../strangers/rates.ts";

/** GitHub's own limit of a payload. */
export const MAX_BYTES = 25 * 1024 * 1024;
/** A host sends what it has at once; GitHub itself gives up after 10 s. */
export const DEADLINE_MS = 30_000;

/** How often a webhook may be called: the most at once, and how many more each second. Agents find what is refused by polling. */
export class HookBounds {
  readonly #calls: Rates;

  constructor(now?: () => number) {
    this.#calls = new Rates({ burst: 200, perSecond: 20 }, now);
  }

  /** Number of remembered webhooks. */
  get addresses(): number {
    return this.#calls.size;
  }

  /**
   * Counts a call of a webhook's address.
   * @throws Problem when there were too many of them.
   */
  admit(address: string): void {
    if (this.#calls.take(address)) return;
    throw new Problem("too_many_requests", "This webhook is called too often. Agents find the changes by polling too.", {
      retryAfterSeconds: 1,
    });
  }
}
