import { FairLines } from "./fair-lines.ts";

/** So much work at once, shared fairly among those for whom it is done. */
export class FairSlots {
  readonly #lines: FairLines<() => void>;

  constructor(slots: number) {
    this.#lines = new FairLines(slots);
  }

  get waiting(): number {
    return this.#lines.waiting;
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      this.#lines.push(name, resolve);
      this.#next();
    });
    try {
      return await work();
    } finally {
      this.#lines.end(name);
      this.#next();
    }
  }

  #next(): void {
    for (let next = this.#lines.next(); next; next = this.#lines.next()) next.item();
  }
}
