import { type ApprovalGiven, type ApprovalWanted, describeApproval, isApproved } from "./approval.ts";
import { contains, type Scope } from "./scope.ts";

/** A delegate's replica as the queue sees it. */
export interface Candidate extends Scope {
  worker: string;
  id: string;
  instance: string;
  version: string;
  connected: boolean;
  lastSeenAt: Date | undefined;
  draining: boolean;
  /** The delegate takes no new tasks. */
  paused: boolean;
  /** Kinds that the delegate may run; none means all it can. */
  kinds: readonly string[];
  /** The approval that its delegate asks for. */
  requiresApproval?: ApprovalWanted | undefined;
  tags: readonly string[];
  capabilities: readonly string[];
  /** What it says it lacks, by kind. */
  lacking: readonly { kind: string; why: string }[];
  capacity: number;
  running: number;
  /** Its own word that it takes nothing for now, as `DiskFull`. */
  full: string | undefined;
}

export interface Wanted extends Scope {
  kind: string;
  selectors: readonly string[];
  approval?: ApprovalGiven | undefined;
  /** The replica that lost or failed it last, and until when another has the first chance. */
  avoid?: { instance: string; until: Date } | undefined;
}

/** Why a worker does not take a task, in the order in which a person would mend it; undefined when it could. */
export function whyNot(worker: Candidate, task: Wanted, now = new Date()): string | undefined {
  if (!contains(worker, task)) return "OutOfScope: it serves another organisation or project";
  if (!worker.connected) {
    const seen = worker.lastSeenAt ? `since ${worker.lastSeenAt.toISOString()}` : "yet";
    return `Disconnected: it has not been heard of ${seen}`;
  }
  if (worker.paused) return "Paused: its delegate is paused and takes no new tasks";
  if (worker.draining) return "Draining: it is shutting down and takes no new tasks";
  const missing = missingTags(worker, task.selectors);
  if (missing.length) return `SelectorMismatch: it lacks the tag ${missing.map((tag) => `\`${tag}\``).join(", ")}`;
  if (worker.kinds.length > 0 && !worker.kinds.includes(task.kind))
    return `KindNotAllowed: its delegate may not run ${task.kind}`;
  if (worker.requiresApproval && !isApproved(worker.requiresApproval, task.approval))
    return `ApprovalRequired: its delegate takes tasks of pipeline runs with ${describeApproval(worker.requiresApproval)} only`;
  if (!worker.capabilities.includes(task.kind)) {
    const why = worker.lacking.find((l) => l.kind === task.kind)?.why;
    return why ? `NotCapable: ${why}` : `NotCapable: its version ${worker.version} does not know ${task.kind}`;
  }
  if (worker.full) return `${worker.full}: it takes no tasks for now, as it has too little left`;
  if (worker.capacity > 0 && worker.running >= worker.capacity)
    return `Full: it runs ${worker.running} of ${worker.capacity} tasks`;
  if (task.avoid?.instance === `${worker.worker}/${worker.instance}` && task.avoid.until > now)
    return `AvoidedUntil: it failed or lost this task; another has the first chance until ${task.avoid.until.toISOString()}`;
  return undefined;
}

/** Tags that a task asks for and a worker does not have; its delegate's id is one of its tags. */
export function missingTags(worker: { id: string; tags: readonly string[] }, selectors: readonly string[]): string[] {
  return selectors.filter((tag) => tag !== worker.id && !worker.tags.includes(tag));
}

export type Reasons = { worker: string; reason: string }[];
const ELIGIBLE = "Eligible: it can take it when it asks next";

/** One line for each worker that did not take a queued task. */
export function explain(workers: readonly Candidate[], task: Wanted, now = new Date()): Reasons {
  return workers.map((worker) => ({
    worker: `${worker.id}/${worker.instance}`,
    reason: whyNot(worker, task, now) ?? ELIGIBLE,
  }));
}

/** The explanation in one sentence. */
export function summarize(reasons: Reasons, task: { queuedAt: Date }, now = new Date()): string {
  if (task.queuedAt > now) return `It waits for its next attempt until ${task.queuedAt.toISOString()}.`;
  const serving = reasons.filter((r) => !r.reason.startsWith("OutOfScope"));
  if (serving.length === 0)
    return "There is no delegate in this scope or above it. Install one, or look at why its replicas have gone.";
  const able = serving.filter((r) => r.reason === ELIGIBLE).length;
  if (able > 0)
    return `It waits for its turn: ${able} of ${serving.length} worker${serving.length === 1 ? "" : "s"} can take it.`;
  const counts = new Map<string, number>();
  for (const { reason } of serving) {
    const name = reason.slice(0, reason.indexOf(":"));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([name, n]) => `${n} ${name}`);
  const none =
    serving.length === 1 ? "The only worker cannot take it" : `None of ${serving.length} workers can take it`;
  return `${none}: ${parts.join(", ")}. See the explanation for each.`;
}
