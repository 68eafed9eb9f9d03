/** The application that first claimed an object, by the object's key. */
export class Claims {
  readonly #owners = new Map<string, string>();
  readonly #keys = new Map<string, Set<string>>();

  get(key: string): string | undefined {
    return this.#owners.get(key);
  }

  has(key: string): boolean {
    return this.#owners.has(key);
  }

  set(key: string, owner: string): void {
    const before = this.#owners.get(key);
    if (before === owner) return;
    if (before !== undefined) this.#drop(key, before);
    this.#owners.set(key, owner);
    const keys = this.#keys.get(owner);
    if (keys) keys.add(key);
    else this.#keys.set(owner, new Set([key]));
  }

  /** Gives up one object. */
  giveUp(key: string, owner: string): void {
    if (this.#owners.get(key) === owner) this.#drop(key, owner);
  }

  /** Gives up what an application no longer wants; without `wanted`, all of it. */
  release(owner: string, wanted?: (key: string) => boolean): void {
    for (const key of this.#keys.get(owner) ?? []) if (!wanted?.(key)) this.#drop(key, owner);
  }

  #drop(key: string, owner: string): void {
    this.#owners.delete(key);
    const keys = this.#keys.get(owner);
    keys?.delete(key);
    if (keys?.size === 0) this.#keys.delete(owner);
  }
}
