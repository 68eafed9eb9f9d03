import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { WorkerTask } from "../link/exchange.ts";
import type { Headroom } from "./process/headroom.ts";
import type { Sandbox } from "./sandbox/protection.ts";
import type { Ended } from "./task/task.ts";

export interface Measured {
  running(): number;
  capacity(): number;
  connected(): boolean;
  /** Milliseconds since the last heartbeat that arrived. */
  sinceBeat(): number | undefined;
  headroom(): Headroom;
  sandbox: Pick<Sandbox, "level" | "findings">;
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
  new Gauge({
    name: "outpost_delegate_headroom",
    help: "What is left for tasks: idle percent of the processors, MiB of memory, MiB of the work folder's disk.",
    labelNames: ["resource"],
    registers,
    collect() {
      const { cpuPercent, memoryMiB, diskMiB } = measured.headroom();
      for (const [resource, value] of Object.entries({ cpuPercent, memoryMiB, diskMiB }))
        if (value !== undefined) this.set({ resource }, value);
    },
  });
  new Gauge({
    name: "outpost_delegate_full",
    help: "1 for the reason why no tasks are taken.",
    labelNames: ["reason"],
    registers,
    collect() {
      const { full } = measured.headroom();
      for (const reason of ["DiskFull", "MemoryLow", "CpuBusy"]) this.set({ reason }, full === reason ? 1 : 0);
    },
  });
  const protection = new Gauge({
    name: "outpost_delegate_protection",
    help: "1 where the sandbox of this level keeps tasks from it.",
    labelNames: ["level", "name"],
    registers,
  });
  const { level, findings } = measured.sandbox;
  for (const { name, on } of findings) protection.set({ level, name }, on ? 1 : 0);
  const tasks = new Counter({
    name: "outpost_delegate_tasks_total",
    help: "Tasks that ended here. `rejected`: not begun, for what was asked; `lost`: without a result, because the lease was.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "outpost_delegate_task_seconds",
    help: "How long tasks took, from lease to acknowledged result.",
    labelNames: ["kind", "outcome"],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200],
    registers,
  });
  return {
    ended: ({ kind }, outcome, took) => {
      tasks.inc({ kind, outcome });
      seconds.observe({ kind, outcome }, took);
    },
    text: () => registry.metrics(),
  };
}
