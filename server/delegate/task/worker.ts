import type { Worker, WorkerTask } from "../../link/exchange.ts";
import { type Lease, Leases } from "../../link/leases.ts";
import type { Log } from "../../link/log.ts";
import type { Open } from "../../link/session.ts";
import type { Headroom } from "../process/headroom.ts";
import { Stop } from "./stop.ts";
import type { Ended } from "./task.ts";

export interface TasksOptions {
  /** Carries a task out; resolves when nothing of it runs and all that can be said was said. */
  run(task: WorkerTask, stop: Stop): Promise<Ended>;
  /** After each change of `leases`. */
  leasesChanged(): void;
  /** At most as many at the same time, when the service would allow more. */
  capacity?: number | undefined;
  /** The free resources for tasks; none are taken while one of them is used up. */
  headroom(): Headroom;
  ended(task: WorkerTask, ended: Ended, seconds: number): void;
  log: Log;
}

interface Running {
  task: WorkerTask;
  stop: Stop;
}

const keyOf = ({ task, fence }: Lease) => `${task}/${fence}`;

/** The tasks that run here, as the link's worker. How many there are is never counted, only looked up. */
export class Tasks implements Worker {
  readonly leases = new Leases();
  readonly #options: TasksOptions;
  readonly #running = new Map<string, Running>();
  #draining = false;
  /** Polls that began after the drain: with the first, no answer with a task can be on its way. */
  #drained: (() => void) | undefined;
  #idle: (() => void)[] = [];

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  task(task: WorkerTask): boolean {
    // The same fence again: the answer before got lost and was repeated, or it is replayed.
    if (!this.leases.take(task)) return false;
    const { log, run, leasesChanged, ended } = this.#options;
    leasesChanged();
    for (const other of this.#of(task.task)) other.stop.end("lost");
    const running = { task, stop: new Stop() };
    this.#running.set(keyOf(task), running);
    const fields = { task: task.task, kind: task.kind, attempt: task.attempt, fence: task.fence };
    log.info(fields, "task started");
    const started = performance.now();
    void run(task, running.stop).then((how) => {
      this.leases.drop(task);
      leasesChanged();
      this.#running.delete(keyOf(task));
      const seconds = (performance.now() - started) / 1_000;
      log.info(
        { ...fields, seconds: Math.round(seconds * 10) / 10, outcome: how },
        how === "lost" ? "task given up" : "task ended",
      );
      ended(task, how, seconds);
      if (this.#running.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
    return true;
  }

  cancel(task: string): void {
    for (const { stop } of this.#of(task)) stop.end("cancelled");
  }

  /** Leases that this worker no longer holds: their processes end without a report. */
  lost(leases: readonly Lease[], why: string): void {
    for (const lease of leases) {
      const running = this.#running.get(keyOf(lease));
      if (!running) continue;
      this.#options.log.warn({ task: lease.task, fence: lease.fence }, `the lease is lost, the task is ended: ${why}`);
      running.stop.end("lost");
    }
  }

  free(open: Open): number {
    const capacity = Math.min(open.capacity, this.#options.capacity ?? open.capacity);
    return this.headroom().full ? 0 : Math.max(0, capacity - this.#running.size);
  }

  headroom(): Headroom {
    return this.#options.headroom();
  }

  draining(): boolean {
    if (this.#draining) this.#drained?.();
    return this.#draining;
  }

  /** Takes no more tasks; resolves when the poll that may still bring one has come back. */
  drain(): Promise<void> {
    this.#draining = true;
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    return this.#running.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends all processes and reports nothing: where it may, the service starts these tasks again elsewhere. */
  leave(): void {
    for (const { task, stop } of this.#running.values()) {
      this.#options.log.warn(
        { task: task.task, fence: task.fence },
        "the task is ended: the delegate leaves and its grace is over",
      );
      stop.end("leaving");
    }
  }

  #of(task: string): Running[] {
    return [...this.#running.values()].filter((running) => running.task.task === task);
  }
}
