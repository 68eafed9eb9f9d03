import type { Outcome } from "../../../base/outcome.ts";
import { done } from "../../../base/outcome.ts";
import type { Secret } from "../../../base/secret.ts";

export interface AccessToken {
  token: Secret;
  /** When it ends, as its giver says. */
  ends: number;
}

// A token that ends while a clone runs would fail it.
export const SPARE_MS = 5 * 60_000;
const MAX_KNOWN = 1_000;

/** Tokens of a while: asked for once however many want one, and again shortly before each ends. */
export class Tokens {
  readonly #known = new Map<string, AccessToken>();
  readonly #asking = new Map<string, Promise<Outcome<Secret>>>();

  get(id: string, ask: () => Promise<Outcome<AccessToken>>): Promise<Outcome<Secret>> {
    const before = this.#known.get(id);
    if (before && before.ends - SPARE_MS > Date.now()) return Promise.resolve(done(before.token));
    let running = this.#asking.get(id);
    if (!running) {
      running = ask()
        .then((got) => {
          if (got.kind !== "done") return got;
          if (this.#known.size >= MAX_KNOWN) this.#known.clear();
          this.#known.set(id, got.value);
          return done(got.value.token);
        })
        .finally(() => this.#asking.delete(id));
      this.#asking.set(id, running);
    }
    return running;
  }

  /** A host did not take it. */
  refused(token: Secret | undefined): void {
    for (const [id, known] of this.#known) if (known.token === token) this.#known.delete(id);
  }

  clear(): void {
    this.#known.clear();
  }
}

/** Of this program. */
export const tokens = new Tokens();
