import type { Change, Selection } from "./change.ts";

/** Changes that wait for one watcher. One that is slower reads them from the log later, so a slow reader costs a position and no memory. */
const QUEUE = 256;

export interface Told {
  change: Change;
  kind: "put" | "delete";
}

/** One watcher at the tail. */
export class Subscription {
  readonly selection: Selection;
  /** It reads the log by itself: at first, and after it was too slow. Nothing is kept for it meanwhile. */
  isBehind = true;
  hasEnded = false;
  readonly #leave: () => void;
  #queue: Told[] = [];
  #recheck = false;
  #wake: (() => void) | undefined;

  constructor(selection: Selection, leave: () => void) {
    this.selection = selection;
    this.#leave = leave;
  }

  offer(change: Change): void {
    if (this.isBehind) return;
    const kind = change.kindFor(this.selection);
    if (!kind) return;
    if (this.#queue.push({ change, kind }) > QUEUE) this.fallBehind();
    this.#wake?.();
  }

  fallBehind(): void {
    this.isBehind = true;
    this.#queue = [];
    this.#wake?.();
  }

  /** Keys have changed. */
  recheck(): void {
    this.#recheck = true;
    this.#wake?.();
  }

  end(): void {
    this.hasEnded = true;
    this.#wake?.();
  }

  take(): Told[] {
    const taken = this.#queue;
    this.#queue = [];
    return taken;
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && !this.isBehind;
  }

  /** Whether keys have changed since this was last asked. */
  takeRecheck(): boolean {
    const asked = this.#recheck;
    this.#recheck = false;
    return asked;
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.isIdle || this.#recheck || this.hasEnded || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", finish);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal.addEventListener("abort", finish, { once: true });
      this.#wake = finish;
    });
  }

  close(): void {
    this.#leave();
  }
}
