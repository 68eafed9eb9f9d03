import type { Database } from "../store/database/sql.ts";

/** Waits for the next commit that touches one of some topics. What happens between two waits is remembered, so nothing is slept through. */
export class Waiter {
  readonly #stops: (() => void)[];
  readonly #woken = new Set<string>();
  #resolve: (() => void) | undefined;

  constructor(db: Database, account: string, topics: readonly string[]) {
    this.#stops = topics.map((topic) =>
      db.listen(account, topic, () => {
        this.#woken.add(topic);
        this.#resolve?.();
      }),
    );
  }

  /** Whether the topic was named since the last wait began to be answered. */
  woken(topic: string): boolean {
    return this.#woken.delete(topic);
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#woken.size > 0 || signal.aborted) {
      this.#woken.clear();
      return;
    }
    await new Promise<void>((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", finish);
        this.#resolve = undefined;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal.addEventListener("abort", finish, { once: true });
      this.#resolve = finish;
    });
    // "keys" is kept for woken(); everything else has done its work by ending the wait.
    for (const topic of this.#woken) if (topic !== "keys") this.#woken.delete(topic);
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }
}
