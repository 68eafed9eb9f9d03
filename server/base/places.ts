/** How many of something may be in work at once: in all, and for one name. */
export interface PlaceLimits {
  total: number;
  each: number;
}

/** Places for requests in work. A name is a caller or an address. */
export class Places {
  readonly #limits: PlaceLimits;
  readonly #byName = new Map<string, number>();
  #taken = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes a place; undefined when all are taken. The returned function gives it back, once, however often it is called. */
  tryTake(name: string): (() => void) | undefined {
    const own = this.#byName.get(name) ?? 0;
    if (this.#taken >= this.#limits.total || own >= this.#limits.each) return undefined;
    this.#taken++;
    this.#byName.set(name, own + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#taken--;
      const left = this.#byName.get(name)! - 1;
      if (left > 0) this.#byName.set(name, left);
      else this.#byName.delete(name);
    };
  }
}
