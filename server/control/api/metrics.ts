import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export interface Metrics {
  registry: Registry;
  requests: Counter<"operation" | "status">;
  seconds: Histogram<"operation">;
  watchers: Gauge;
  polls: Gauge;
  tasks: Counter<"kind" | "state">;
  leases: Counter<"kind">;
  queued: Gauge<"level">;
  longestQueue: Gauge<"level">;
  oldestWait: Gauge<"level">;
  running: Gauge<"level">;
  waiting: Gauge;
  discovered: Gauge<"origin">;
  mostDiscovered: Gauge;
  denied: Counter<"code">;
  strangers: Counter<"why">;
  webhooks: Counter<"provider" | "outcome">;
}

/** The service's metrics. Labels are operation ids and states, never ids of objects, so their number is bounded. */
export function makeMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ["level"] as const, registers });
  return {
    registry,
    requests: new Counter({
      name: "outpost_requests_total",
      help: "Requests by operation and status.",
      labelNames: ["operation", "status"],
      registers,
    }),
    seconds: new Histogram({
      name: "outpost_request_seconds",
      help: "Time to answer, without long polls and watches.",
      labelNames: ["operation"],
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    }),
    watchers: new Gauge({ name: "outpost_watchers", help: "Open watches.", registers }),
    polls: new Gauge({ name: "outpost_worker_polls", help: "Workers that wait in an exchange.", registers }),
    tasks: new Counter({
      name: "outpost_tasks_ended_total",
      help: "Attempts of tasks by the state in which they left the task.",
      labelNames: ["kind", "state"],
      registers,
    }),
    queued: gauge("outpost_tasks_queued", "Tasks that wait, by the level of their scope."),
    longestQueue: gauge("outpost_tasks_queued_longest", "Tasks that wait in the fullest scope of a level."),
    oldestWait: gauge("outpost_tasks_oldest_wait_seconds", "How long the oldest task waits."),
    running: gauge("outpost_tasks_running", "Tasks that run: leases held by workers."),
    waiting: new Gauge({
      name: "outpost_delegates_waiting",
      help: "Workers of delegates that wait for tasks here.",
      registers,
    }),
    discovered: new Gauge({
      name: "outpost_discovered_objects",
      help: "Objects that agents found and that the service shows without managing them, by origin.",
      labelNames: ["origin"],
      registers,
    }),
    mostDiscovered: new Gauge({
      name: "outpost_discovered_objects_most",
      help: "Such objects of the agent that has most of them.",
      registers,
    }),
    leases: new Counter({
      name: "outpost_task_leases_total",
      help: "Tasks given to workers.",
      labelNames: ["kind"],
      registers,
    }),
    webhooks: new Counter({
      name: "outpost_webhook_requests_total",
      help: "Calls of webhooks by their provider and what became of them; `none` where no webhook was found yet.",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    strangers: new Counter({
      name: "outpost_strangers_refused_total",
      help: "Callers without a valid credential that were refused: `token`, `proof`, `worker`, `nonce`, or a `connection` that made room.",
      labelNames: ["why"],
      registers,
    }),
    denied: new Counter({
      name: "outpost_denied_total",
      help: "Requests refused for want of a credential or right.",
      labelNames: ["code"],
      registers,
    }),
  };
}
