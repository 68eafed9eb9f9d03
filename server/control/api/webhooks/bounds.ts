import type { Readable } from "node:stream";
import { Problem } from "../../domain/problem.ts";

/** GitHub's own limit of a payload. */
export const MAX_BYTES = 25 * 1024 * 1024;
/** What all calls that are being read may hold together. */
const MAX_HELD = 128 * 1024 * 1024;
/** Calls of one address: the most at once, and how many it gains a second. A host with more to say is heard by polling. */
const BURST = 200;
const PER_SECOND = 20;
// An address costs some bytes here for as long as it is busy; made-up ones must not fill the memory.
const MAX_ADDRESSES = 10_000;

/** How much may be asked of the service by those who have shown nothing yet. */
export class HookBounds {
  readonly #calls = new Map<string, { left: number; at: number }>();
  readonly #now: () => number;
  #held = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** How many are remembered. */
  get addresses(): number {
    return this.#calls.size;
  }

  /**
   * Counts a call of an address, whether there is such a webhook or not.
   * @throws Problem when there were too many of them.
   */
  admit(address: string): void {
    const now = this.#now();
    const before = this.#calls.get(address);
    const left = Math.min(BURST, (before?.left ?? BURST) + ((now - (before?.at ?? now)) / 1_000) * PER_SECOND);
    this.#calls.delete(address);
    // The oldest goes first; whoever was silent for long has all his calls again anyway.
    if (this.#calls.size >= MAX_ADDRESSES) this.#calls.delete(this.#calls.keys().next().value!);
    this.#calls.set(address, { left: Math.max(left - 1, 0), at: now });
    if (left < 1)
      throw new Problem("too_many_requests", "This webhook is called too often. What it says is found by polling too.", {
        retryAfterSeconds: 1,
      });
  }

  /**
   * The bytes of a call, as many as are allowed.
   * @throws Problem when there are more, or they are cut off, or too much is being read already.
   */
  async read(bytes: Readable, announced: number | undefined): Promise<Buffer> {
    if ((announced ?? 0) > MAX_BYTES) throw tooLarge();
    let own = 0;
    const chunks: Buffer[] = [];
    try {
      // Destroyed, the request could not be answered.
      for await (const chunk of bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        own += chunk.length;
        this.#held += chunk.length;
        if (own > MAX_BYTES) throw tooLarge();
        if (this.#held > MAX_HELD)
          throw new Problem("too_many_requests", "Too many large calls at once. Try again in a moment.", {
            retryAfterSeconds: 1,
            headers: { Connection: "close" },
          });
        chunks.push(chunk);
      }
    } catch (error) {
      throw error instanceof Problem ? error : new Problem("invalid_request", "The body was cut off.");
    } finally {
      this.#held -= own;
    }
    return Buffer.concat(chunks, own);
  }
}

function tooLarge(): Problem {
  return new Problem("body_too_large", `The body may have ${MAX_BYTES / 1024 / 1024} MiB at most.`, { headers: { Connection: "close" } });
}
