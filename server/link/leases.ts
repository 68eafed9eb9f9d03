import type { WorkerTask } from "./exchange.ts";

export interface Lease {
  task: string;
  fence: number;
}

// Fences of past tasks are remembered for this many tasks: a repeated delivery comes within seconds, not after so many others.
const REMEMBERED = 10_000;

/** The tasks this worker holds, and the newest fence it has seen of each. */
export class Leases {
  readonly #held = new Map<string, Lease>();
  readonly #seen = new Map<string, number>();

  get size(): number {
    return this.#held.size;
  }

  /** True when this lease is new; a fence that is not newer than one seen before is a repeat or a replay. */
  take({ task, fence }: Pick<WorkerTask, "task" | "fence">): boolean {
    if (fence <= (this.#seen.get(task) ?? 0)) return false;
    this.#seen.delete(task);
    this.#seen.set(task, fence);
    if (this.#seen.size > REMEMBERED) this.#seen.delete(this.#seen.keys().next().value!);
    this.#held.set(task, { task, fence });
    return true;
  }

  holds({ task, fence }: Lease): boolean {
    return this.#held.get(task)?.fence === fence;
  }

  drop({ task, fence }: Lease): void {
    if (this.#held.get(task)?.fence === fence) this.#held.delete(task);
  }

  list(): Lease[] {
    return [...this.#held.values()];
  }
}
