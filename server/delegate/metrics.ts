import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { WorkerTask } from "../link/exchange.ts";
import type { Ended } from "./task.ts";

export interface Measured {
  running(): number;
  capacity(): number;
  connected(): boolean;
  /** Milliseconds since the last heartbeat that arrived. */
  sinceBeat(): number | undefined;
}

export interface Metrics {
  ended(task: WorkerTask, ended: Ended, seconds: number): void;
  text(): Promise<string>;
}

/** What Prometheus may know of a delegate. */
export function makeMetrics(measured: Measured): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `outpost_delegate_${name}`,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge("tasks_running", "Tasks that run now.", measured.running);
  gauge("capacity", "Tasks that may run at the same time; 0 before the first session.", measured.capacity);
  gauge("connected", "1 while the service answers the heartbeats.", () => (measured.connected() ? 1 : 0));
  gauge("heartbeat_age_seconds", "Seconds since the last heartbeat that arrived; -1 before the first.", () => {
    const ms = measured.sinceBeat();
    return ms === undefined ? -1 : ms / 1_000;
  });
  const tasks = new Counter({
    name: "outpost_delegate_tasks_total",
    help: "Tasks that ended here. `lost`: without a result, because the lease was.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "outpost_delegate_task_seconds",
    help: "How long tasks took, from lease to acknowledged result.",
    labelNames: ["kind"],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200],
    registers,
  });
  return {
    ended: ({ kind }, outcome, took) => {
      tasks.inc({ kind, outcome });
      seconds.observe({ kind }, took);
    },
    text: () => registry.metrics(),
  };
}
