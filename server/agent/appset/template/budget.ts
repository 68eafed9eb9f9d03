import { TemplateError } from "./value.ts";

/** What one template may cost. The largest that people write take some hundred steps. */
export const LIMITS = { steps: 200_000, bytes: 1_048_576, depth: 100, ms: 1_000 };

/** Counts what a template does, and ends it when that is too much. */
export class Budget {
  #steps = 0;
  #bytes = 0;
  readonly #until: number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#until = now() + LIMITS.ms;
  }
  readonly #now: () => number;

  step(count = 1): void {
    this.#steps += count;
    if (this.#steps > LIMITS.steps) throw new TemplateError(`the template takes more than ${LIMITS.steps} steps`);
    // A clock is read once in a while: it costs more than a step.
    if ((count > 50 || this.#steps % 64 === 0) && this.#now() > this.#until) {
      throw new TemplateError(`the template takes more than ${LIMITS.ms / 1_000} s`);
    }
  }

  /** Text that is about to be made. Texts inside the template count a tenth: they are made and thrown away. */
  grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > LIMITS.bytes * 10) throw new TemplateError("the template makes more than 10 MiB of text");
    if (bytes > LIMITS.bytes) throw new TemplateError("the template makes a text of more than 1 MiB");
    this.step(bytes >> 10);
  }
}
