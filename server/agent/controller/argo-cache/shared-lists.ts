import type { Listed } from "../cluster/below.ts";

// Applications that share a namespace are often written one after the other. No list is held longer.
const HELD_MS = 2_000;

/** Answers of the last moments, so that applications of one namespace list its Pods once. */
export class SharedLists {
  readonly #known = new Map<string, { at: number; listed: Promise<Listed> }>();

  /** For an application that changed at this time: no list that began before it. */
  since(changedAt: number): (key: string, list: () => Promise<Listed>) => Promise<Listed> {
    return (key, list) => {
      const known = this.#known.get(key);
      if (known && known.at >= changedAt) return known.listed;
      const made = { at: Date.now(), listed: list() };
      this.#known.set(key, made);
      const forget = () => {
        const timer = setTimeout(() => this.#known.get(key) === made && this.#known.delete(key), HELD_MS);
        timer.unref();
      };
      made.listed.then(forget, forget);
      return made.listed;
    };
  }
}
