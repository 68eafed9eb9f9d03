import type { Schemas } from "../domain/nouns.ts";
import type { Scope } from "../domain/scope.ts";
import type { TaskState } from "../domain/tasks.ts";
import type { Row, Sql } from "../store/sql.ts";

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

/** Locks the row: whoever changes a task's state does it alone. */
export async function tryLockTask(sql: Sql, account: string, id: string): Promise<TaskRow | undefined> {
  const rows = await sql.query("select * from tasks where account = $1 and id = $2 for update", [account, id]);
  return rows[0] && toTask(rows[0]);
}

export async function tryFindTask(sql: Sql, account: string, id: string): Promise<TaskRow | undefined> {
  const rows = await sql.query("select * from tasks where account = $1 and id = $2", [account, id]);
  return rows[0] && toTask(rows[0]);
}

export async function attemptsOf(sql: Sql, account: string, tasks: readonly string[]): Promise<Map<string, Task["attempts"]>> {
  const rows = await sql.query("select * from attempts where account = $1 and task = any($2::text[]) order by task, number", [
    account,
    [...tasks],
  ]);
  const found = new Map<string, Task["attempts"]>();
  for (const r of rows) {
    const attempt = {
      number: r.number,
      worker: r.worker,
      startedAt: r.started_at.toISOString(),
      ...(r.ended_at ? { endedAt: r.ended_at.toISOString() } : {}),
      ...(r.reason ? { reason: r.reason } : {}),
    };
    found.set(r.task, [...(found.get(r.task) ?? []), attempt]);
  }
  return found;
}

/** The task on the wire. */
export function viewTask(t: TaskRow, attempts: Task["attempts"], explanation?: Task["explanation"]): Task {
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
    state: t.state,
    ...(t.reason ? { reason: t.reason } : {}),
    ...(t.message ? { message: t.message } : {}),
    ...(t.outputs ? { outputs: t.outputs } : {}),
    attempts,
    ...(explanation ? { explanation } : {}),
    createdAt: t.createdAt.toISOString(),
    ...(t.startedAt ? { startedAt: t.startedAt.toISOString() } : {}),
    ...(t.endedAt ? { endedAt: t.endedAt.toISOString() } : {}),
  };
}
