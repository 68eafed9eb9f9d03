/** Why a task's processes are ended before they end by themselves. The first reason counts. */
export type Why =
  | "cancelled"
  | "timedOut"
  | "MemoryExceeded"
  | "ProcessesExceeded"
  | "DiskExceeded"
  | "lost"
  | "leaving";

/** The way to end one running task. */
export class Stop {
  readonly #work = new AbortController();
  readonly #report = new AbortController();
  why: Why | undefined;
  message: string | undefined;

  /** Ends with the work: the processes are to go. */
  get work(): AbortSignal {
    return this.#work.signal;
  }

  /** Ends when nothing may be reported any more: the lease has another holder or none. */
  get report(): AbortSignal {
    return this.#report.signal;
  }

  end(why: Why, message?: string): void {
    if (!this.why) {
      this.why = why;
      this.message = message;
    }
    if (why === "lost" || why === "leaving") {
      this.why = why;
      this.#report.abort();
    }
    this.#work.abort();
  }
}
