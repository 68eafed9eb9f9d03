import type { Failure } from "../../base/outcome.ts";

/**
 * The one place that decides when a request to the service is sent again.
 *
 *   later   when the service said (Retry-After), plus up to 20 % so that a fleet does not come back in one moment
 *   again   back-off from 0.25 s, doubled up to 30 s, each shortened by up to half at random
 *   stop    the answer will not change by itself (a revoked token, another cluster); still asked again once a minute, because
 *           people mend such things and should not have to restart a worker for it
 *
 * A 500 is `again`, not `stop`: load balancers and proxies produce it for services that are only restarting.
 */
const FIRST_MS = 250;
const LONGEST_MS = 30_000;
const STOPPED_MS = 60_000;

export class Backoff {
  #failures = 0;
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** How long to wait after this failure. */
  next(failure: Failure): number {
    const doubled = FIRST_MS * 2 ** Math.min(this.#failures++, 20);
    if (failure.kind === "later") return failure.afterMs * (1 + this.#random() / 5);
    const longest = failure.kind === "stop" ? STOPPED_MS : Math.min(doubled, LONGEST_MS);
    return longest * (0.5 + this.#random() / 2);
  }
}

/** `Retry-After` as seconds or as a date, in milliseconds; at most an hour. */
export function retryAfterMs(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 3_600_000) : undefined;
}
