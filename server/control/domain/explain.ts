import { contains, type Scope } from "./scope.ts";

/** A delegate's replica as the queue sees it. */
export interface Candidate extends Scope {
  worker: string;
  id: string;
  instance: string;
  connected: boolean;
  draining: boolean;
  tags: readonly string[];
  capabilities: readonly string[];
  capacity: number;
  running: number;
}

export interface Wanted extends Scope {
  kind: string;
  selectors: readonly string[];
}

/** Why a worker does not take a task, in the order in which a person would mend it; undefined when it could. */
export function whyNot(worker: Candidate, task: Wanted): string | undefined {
  if (!contains(worker, task)) return "OutOfScope: it serves another organisation or project";
  if (!worker.connected) return "Disconnected: it has not been heard of for 15 s";
  if (worker.draining) return "Draining: it is shutting down and takes no new tasks";
  const tags = new Set([...worker.tags, worker.id]);
  const missing = task.selectors.filter((tag) => !tags.has(tag));
  if (missing.length) return `SelectorMismatch: it lacks ${missing.map((tag) => `\`${tag}\``).join(", ")}`;
  if (!worker.capabilities.includes(task.kind)) return `NotCapable: this version or installation cannot run ${task.kind}`;
  if (worker.capacity > 0 && worker.running >= worker.capacity) return `Full: it runs ${worker.running} of ${worker.capacity} tasks`;
  return undefined;
}

/** One line for each worker that did not take a queued task. */
export function explain(workers: readonly Candidate[], task: Wanted): { worker: string; reason: string }[] {
  return workers.map((worker) => ({
    worker: `${worker.id}/${worker.instance}`,
    reason: whyNot(worker, task) ?? "Eligible: it can take it when it asks next",
  }));
}
