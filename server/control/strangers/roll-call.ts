/** What unknown names may take of the store. */
export interface RollCallLimits {
  /** Names in one query. */
  batch: number;
  /** Names that wait: in all, and of one address. */
  waiting: number;
  each: number;
  /** From the end of a query to the next one. */
  pauseMs: number;
}

interface Asked {
  name: string;
  address: string;
  settle(exists: boolean): void;
  fail(error: unknown): void;
}

/**
 * Asks the store which of many names exist, all of them with one query at a time and a pause after it: a flood of made-up names costs some queries a
 * second however large it is, and a name that is real waits no longer than pause and query. The first name after a while does not wait.
 */
export class RollCall {
  readonly #find: (names: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly #limits: RollCallLimits;
  #waiting: Asked[] = [];
  readonly #of = new Map<string, number>();
  #busy = false;

  constructor(find: (names: readonly string[]) => Promise<ReadonlySet<string>>, limits: RollCallLimits) {
    this.#find = find;
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether the name exists; "full" when too many wait already. */
  async exists(name: string, address: string): Promise<boolean | "full"> {
    const own = this.#of.get(address) ?? 0;
    if (this.#waiting.length >= this.#limits.waiting || own >= this.#limits.each) return "full";
    this.#of.set(address, own + 1);
    const answer = new Promise<boolean>((settle, fail) => this.#waiting.push({ name, address, settle, fail }));
    if (!this.#busy) void this.#call();
    return answer;
  }

  async #call(): Promise<void> {
    this.#busy = true;
    const asked = this.#waiting.splice(0, this.#limits.batch);
    for (const { address } of asked) {
      const left = this.#of.get(address)! - 1;
      if (left > 0) this.#of.set(address, left);
      else this.#of.delete(address);
    }
    try {
      const found = await this.#find([...new Set(asked.map(({ name }) => name))]);
      for (const { name, settle } of asked) settle(found.has(name));
    } catch (error) {
      for (const { fail } of asked) fail(error);
    }
    setTimeout(() => {
      this.#busy = false;
      if (this.#waiting.length > 0) void this.#call();
    }, this.#limits.pauseMs).unref();
  }
}
