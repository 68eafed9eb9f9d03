// A push of several refs comes as several calls; what comes within this time of a look is answered by one more.
const QUIET_MS = 100;

interface Open<T> {
  answer: Promise<T>;
  again: boolean;
}

/**
 * Lets a burst of the same calls do their work twice at most each 100 ms: the first at once, and once more for all that came since it
 * began. So no call waits, and work always begins after each call.
 */
export class Bursts<T> {
  readonly #open = new Map<string, Open<T>>();
  readonly #failed: (error: unknown) => void;
  #stopped = false;

  /** `failed` hears of what went wrong after the callers had their answer. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  run(key: string, work: () => Promise<T>): Promise<T> {
    const open = this.#open.get(key);
    if (open) {
      open.again = true;
      return open.answer;
    }
    const made: Open<T> = { answer: work(), again: false };
    this.#open.set(key, made);
    void this.#follow(key, made, work);
    return made.answer;
  }

  /** Waits for what is in work; begins nothing more of its own. */
  async close(): Promise<void> {
    this.#stopped = true;
    await Promise.allSettled([...this.#open.values()].map(({ answer }) => answer));
  }

  async #follow(key: string, open: Open<T>, work: () => Promise<T>): Promise<void> {
    // The first caller is told of a failure by his own answer.
    await open.answer.catch(() => undefined);
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS).unref());
      if (!open.again || this.#stopped) break;
      open.again = false;
      open.answer = work();
      await open.answer.catch(this.#failed);
    }
    this.#open.delete(key);
  }
}
