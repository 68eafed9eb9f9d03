// The heartbeat of the session waits no longer than this for a list of thousands.
const SLICE_MS = 40;

interface Turn {
  work: () => void;
  /** What it is about, for the time that it waits. */
  about: string | undefined;
}

/** Does things in their order: at once while there is little to do, else in slices with room for everything else between them. */
export class Turns {
  readonly #queue: Turn[] = [];
  #head = 0;
  #began: number | undefined;
  #ended: (() => void)[] = [];

  run(work: () => void, about?: string): void {
    if (this.#began === undefined) {
      this.#began = performance.now();
      setImmediate(() => this.#next());
    }
    if (this.#queue.length === 0 && performance.now() - this.#began < SLICE_MS) work();
    else this.#queue.push({ work, about });
  }

  /** The awaited places. */
  *waiting(): Generator<string> {
    for (let i = this.#head; i < this.#queue.length; i++)
      if (this.#queue[i]!.about !== undefined) yield this.#queue[i]!.about!;
  }

  /** Resolves when nothing waits. */
  get idle(): Promise<void> {
    return this.#began === undefined ? Promise.resolve() : new Promise((resolve) => this.#ended.push(resolve));
  }

  #next(): void {
    const began = performance.now();
    while (this.#head < this.#queue.length && performance.now() - began < SLICE_MS) this.#queue[this.#head++]!.work();
    if (this.#head < this.#queue.length) {
      setImmediate(() => this.#next());
      return;
    }
    this.#queue.length = 0;
    this.#head = 0;
    this.#began = undefined;
    for (const end of this.#ended.splice(0)) end();
  }
}
