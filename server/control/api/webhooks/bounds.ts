import { Problem } from "../../domain/problem.ts";
import { Rates } from "../../strangers/rates.ts";

/** GitHub's own limit of a payload. */
export const MAX_BYTES = 25 * 1024 * 1024;
/** A host sends what it has at once; GitHub itself gives up after 10 s. */
export const DEADLINE_MS = 30_000;

/** How often a webhook may be called by one address: the most at once, and how many more each second. Agents find what is refused by polling. */
export class HookBounds {
  readonly #calls: Rates;
  readonly #unsigned: Rates;

  constructor(now?: () => number) {
    this.#calls = new Rates({ burst: 200, perSecond: 20 }, now);
    this.#unsigned = new Rates({ burst: 5, perSecond: 0.2 }, now);
  }

  /** Number of remembered webhooks and their callers. */
  get names(): number {
    return this.#calls.size + this.#unsigned.size;
  }

  /** Whether one more call of this address is read. It is counted. A stranger who knows the webhook's address shuts its host out only from an address of his own. */
  reads(hook: string, network: string): boolean {
    return this.#calls.take(`${hook} ${network}`);
  }

  /** Whether one more call that cannot be signed is read, so that the webhook's status shows it. It is counted. */
  readsUnsigned(hook: string): boolean {
    return this.#unsigned.take(hook);
  }
}

export const calledTooOften = () =>
  new Problem("too_many_requests", "This webhook is called too often. Agents still find the changes by polling.", {
    retryAfterSeconds: 1,
  });
