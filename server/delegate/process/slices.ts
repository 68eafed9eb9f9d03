import { setImmediate as turn } from "node:timers/promises";

/** Long enough to look at a thousand files, short enough for the delegate's other work. */
const SLICE_MS = 5;

/** Lets long work in calls that block be done in short pieces: looking at a file through Node's own threads takes ten times as long. */
export class Slices {
  #since = performance.now();

  get over(): boolean {
    return performance.now() - this.#since > SLICE_MS;
  }

  /** To be awaited when a piece is over. */
  async next(): Promise<void> {
    await turn();
    this.#since = performance.now();
  }
}
