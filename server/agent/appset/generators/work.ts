import { TemplateError } from "../template/value.ts";

// What one set may take of the program that all tenants share. 10,000 applications of a usual template take some two seconds.
const TOTAL_MS = 10_000;
// Between two turns of the others: a generator fills in its values without one.
const SLICE_MS = 2_000;
const TURN_MS = 20;
// What one set of parameters costs beside its templates: copies, selectors, keys.
const PARAMS_MS = 0.01;

/** Counts what all templates and parameters of one set take together, and lets others work in between. */
export class Work {
  #total = 0;
  #slice = 0;

  charge(ms: number): void {
    this.#total += ms;
    this.#slice += ms;
    const limit = this.#total > TOTAL_MS ? TOTAL_MS : SLICE_MS;
    if (this.#total > TOTAL_MS || this.#slice > SLICE_MS)
      throw new TemplateError(
        `the set takes more than ${limit / 1_000} s: it has too many parameters, or templates that do too much`,
      );
  }

  /** Parameters that were made, whether or not anything comes of them. */
  count(params: number): void {
    this.charge(params * PARAMS_MS);
  }

  /** Gives the others a turn when one is due. */
  async turn(): Promise<void> {
    if (this.#slice < TURN_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#slice = 0;
  }
}
