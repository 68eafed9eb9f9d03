import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

export interface Metrics {
  registry: Registry;
  requests: Counter<"operation" | "status">;
  seconds: Histogram<"operation">;
  watchers: Gauge;
  polls: Gauge;
  tasks: Counter<"state">;
  denied: Counter<"code">;
}

/** The service's metrics. Labels are operation ids and states, never ids of objects, so their number is bounded. */
export function makeMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
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
      help: "Tasks by the state in which they ended.",
      labelNames: ["state"],
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
