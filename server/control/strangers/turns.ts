/** A flood that outruns the event loop is worked off in so many turns, so that it does not pile up. */
const MOST_TURNS = 64;

/**
 * Work for strangers, a piece in each turn of the event loop. A flood's calls arrive in bunches; what callers with a key send meanwhile is
 * read between two of its answers, and not behind all of them.
 */
export class Turns {
  #waiting: (() => void)[] = [];

  add(work: () => void): void {
    if (this.#waiting.push(work) === 1) setImmediate(() => this.#turn());
  }

  #turn(): void {
    const now = this.#waiting.splice(0, Math.ceil(this.#waiting.length / MOST_TURNS));
    if (this.#waiting.length > 0) setImmediate(() => this.#turn());
    for (const work of now) work();
  }
}
