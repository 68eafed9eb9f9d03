/** How many look-ups for strangers run at once, and how many may wait: in all, and of one address. */
export interface GateLimits {
  running: number;
  waiting: number;
  each: number;
}

type Start = () => void;

/**
 * A narrow way to the store. Requests whose credential is not known yet pass here, so that a flood of forged ones takes a few connections
 * of the store and leaves the rest to callers with valid keys. Addresses take turns.
 */
export class Gate {
  readonly #limits: GateLimits;
  readonly #waiting = new Map<string, Start[]>();
  #running = 0;
  #count = 0;

  constructor(limits: GateLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#count;
  }

  /** Runs `work` when it is this address's turn; "full" when too many wait already. */
  async pass<T>(address: string, work: () => Promise<T>): Promise<T | "full"> {
    if (this.#running >= this.#limits.running) {
      const line = this.#waiting.get(address) ?? [];
      if (this.#count >= this.#limits.waiting || line.length >= this.#limits.each) return "full";
      this.#count++;
      this.#waiting.set(address, line);
      // The leaver hands its place over, so that no newcomer slips in between.
      await new Promise<void>((resolve) => line.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #next(): void {
    const [turn] = this.#waiting;
    if (!turn) {
      this.#running--;
      return;
    }
    const [address, line] = turn;
    const start = line.shift()!;
    this.#count--;
    // To the end: the other addresses come first.
    this.#waiting.delete(address);
    if (line.length > 0) this.#waiting.set(address, line);
    start();
  }
}
