import type { ApprovalGiven } from "../domain/approval.ts";
import type { Schemas } from "../domain/nouns.ts";
import type { Scope } from "../domain/scope.ts";
import type { TaskState } from "../domain/tasks.ts";
import type { ArtifactRow } from "../store/artifacts.ts";
import type { Row, Sql } from "../store/database/sql.ts";

type Task = Schemas["Task"];

/** A task as it is stored, with its attempts. */
export interface TaskRow extends Scope {
  id: string;
  kind: string;
  params: Record<string, any>;
  selectors: string[];
  agentUid: string | undefined;
  timeoutSeconds: number;
  maxAttempts: number;
  idempotent: boolean;
  name: string | undefined;
  queueTimeoutSeconds: number;
  retryOn: string[];
  retryDelaySeconds: number;
  queuedAt: Date;
  requestedBy: string | undefined;
  retryOf: string | undefined;
  run: string | undefined;
  step: string | undefined;
  /** Who has approved its run before its step began. */
  approval: ApprovalGiven | undefined;
  shape: string;
  /** The replica that lost or failed it last; it is skipped until then. */
  avoid: { instance: string; until: Date } | undefined;
  /** `id/instance` of the worker of the newest attempt, and when it began. */
  attemptWorker: string | undefined;
  attemptStartedAt: Date | undefined;
  /** The attempts that have ended. */
  tries: Task["attempts"];
  state: TaskState;
  reason: string | undefined;
  message: string | undefined;
  outputs: Record<string, any> | undefined;
  fence: number;
  attempt: number;
  leaseWorker: string | undefined;
  leaseInstance: string | undefined;
  cancelRequested: boolean;
  logLast: number;
  logBase: number;
  logBytes: number;
  logFinal: number | undefined;
  createdAt: Date;
  startedAt: Date | undefined;
  endedAt: Date | undefined;
}

export function toTask(r: Row): TaskRow {
  return {
    account: r.account,
    org: r.org,
    project: r.project,
    id: r.id,
    kind: r.kind,
    params: r.params,
    selectors: r.selectors,
    agentUid: r.agent_uid ?? undefined,
    timeoutSeconds: r.timeout_seconds,
    maxAttempts: r.max_attempts,
    idempotent: r.idempotent,
    name: r.name ?? undefined,
    queueTimeoutSeconds: r.queue_timeout_seconds,
    retryOn: r.retry_on,
    retryDelaySeconds: r.retry_delay_seconds,
    queuedAt: r.queued_at,
    requestedBy: r.requested_by ?? undefined,
    retryOf: r.retry_of ?? undefined,
    run: r.run ?? undefined,
    step: r.step ?? undefined,
    approval: r.approval ?? undefined,
    shape: r.shape,
    avoid: r.avoid_worker && r.avoid_until ? { instance: r.avoid_worker, until: r.avoid_until } : undefined,
    attemptWorker: r.attempt_worker ?? undefined,
    attemptStartedAt: r.attempt_started_at ?? undefined,
    tries: r.tries,
    state: r.state,
    reason: r.reason ?? undefined,
    message: r.message ?? undefined,
    outputs: r.outputs ?? undefined,
    fence: Number(r.fence),
    attempt: r.attempt,
    leaseWorker: r.lease_worker ?? undefined,
    leaseInstance: r.lease_instance ?? undefined,
    cancelRequested: r.cancel_requested_at !== null,
    logLast: Number(r.log_last),
    logBase: Number(r.log_base),
    logBytes: Number(r.log_bytes),
    logFinal: r.log_final === null ? undefined : Number(r.log_final),
    createdAt: r.created_at,
    startedAt: r.started_at ?? undefined,
    endedAt: r.ended_at ?? undefined,
  };
}

/** Locks the row: one writer at a time changes a task's state. */
export async function tryLockTask(sql: Sql, account: string, id: string): Promise<TaskRow | undefined> {
  const rows = await sql.query("select * from tasks where account = $1 and id = $2 for update", [account, id]);
  return rows[0] && toTask(rows[0]);
}

export async function tryFindTask(sql: Sql, account: string, id: string): Promise<TaskRow | undefined> {
  const rows = await sql.query("select * from tasks where account = $1 and id = $2", [account, id]);
  return rows[0] && toTask(rows[0]);
}

/** The result of each attempt; a running one is in the row itself. */
export function attemptsOf(t: TaskRow): Task["attempts"] {
  const iso = (at: string) => new Date(at).toISOString();
  const ended = t.tries.map((a) => ({
    ...a,
    startedAt: iso(a.startedAt),
    ...(a.endedAt ? { endedAt: iso(a.endedAt) } : {}),
  }));
  if (t.state !== "Running" || !t.attemptStartedAt) return ended;
  return [...ended, { number: t.attempt, worker: t.attemptWorker ?? "", startedAt: t.attemptStartedAt.toISOString() }];
}

export const viewArtifact = ({ name, size, sha256, createdAt }: ArtifactRow): Schemas["TaskArtifact"] => ({
  name,
  size,
  sha256,
  createdAt: createdAt.toISOString(),
});

/** The task on the wire. */
export function viewTask(
  t: TaskRow,
  more: { artifacts?: readonly ArtifactRow[] | undefined; explanation?: Task["explanation"] } = {},
  now = new Date(),
): Task {
  const { artifacts, explanation } = more;
  const waits = t.state === "Queued" && t.queuedAt > now;
  return {
    id: t.id,
    ...(t.org ? { org: t.org } : {}),
    ...(t.project ? { project: t.project } : {}),
    kind: t.kind,
    params: t.params,
    selectors: t.selectors,
    timeoutSeconds: t.timeoutSeconds,
    maxAttempts: t.maxAttempts,
    idempotent: t.idempotent,
    ...(t.name !== undefined ? { name: t.name } : {}),
    queueTimeoutSeconds: t.queueTimeoutSeconds,
    retryOn: t.retryOn,
    retryDelaySeconds: t.retryDelaySeconds,
    ...(waits ? { notBefore: t.queuedAt.toISOString() } : {}),
    ...(t.requestedBy ? { requestedBy: t.requestedBy } : {}),
    ...(t.retryOf ? { retryOf: t.retryOf } : {}),
    ...(t.run ? { run: t.run } : {}),
    ...(t.step ? { step: t.step } : {}),
    ...(artifacts?.length ? { artifacts: artifacts.map(viewArtifact) } : {}),
    state: t.state,
    ...(t.reason ? { reason: t.reason } : {}),
    ...(t.message ? { message: t.message } : {}),
    ...(t.outputs ? { outputs: t.outputs } : {}),
    attempts: attemptsOf(t),
    ...(explanation ? { explanation } : {}),
    createdAt: t.createdAt.toISOString(),
    ...(t.startedAt ? { startedAt: t.startedAt.toISOString() } : {}),
    ...(t.endedAt ? { endedAt: t.endedAt.toISOString() } : {}),
  };
}
