import { randomBytes } from "node:crypto";
import type { ApprovalGiven } from "../domain/approval.ts";
import type { Scope } from "../domain/scope.ts";
import { type AuditLine, auditFrom, auditValues } from "../store/audit.ts";
import type { Database, Tx } from "../store/database/sql.ts";
import { agentTopic } from "../store/objects/deliveries.ts";
import { shapeOf } from "./queue/shape.ts";
import type { TaskRow } from "./rows.ts";

export interface NewTask extends Scope {
  kind: string;
  params: Record<string, unknown>;
  selectors: readonly string[];
  /** The agent that must run it; none for any fitting delegate. */
  agentUid?: string | undefined;
  timeoutSeconds: number;
  maxAttempts: number;
  idempotent: boolean;
  name?: string | undefined;
  queueTimeoutSeconds?: number | undefined;
  retryOn?: readonly string[] | undefined;
  retryDelaySeconds?: number | undefined;
  /** Name of who asked for it, as in the audit trail. */
  requestedBy?: string | undefined;
  retryOf?: string | undefined;
  /** The pipeline run that it is a step of. */
  run?: string | undefined;
  step?: string | undefined;
  /** Who has approved the run before the step began. */
  approval?: ApprovalGiven | undefined;
}

const QUEUE_TIMEOUT_SECONDS = 86_400;
const RETRY_DELAY_SECONDS = 5;

/** The columns of a new task with their types, in the order of `valuesOf`. */
const COLUMNS = [
  ["account", "text"],
  ["id", "text"],
  ["org", "text"],
  ["project", "text"],
  ["kind", "text"],
  ["params", "jsonb"],
  ["selectors", "text[]"],
  ["agent_uid", "text"],
  ["timeout_seconds", "integer"],
  ["max_attempts", "integer"],
  ["idempotent", "boolean"],
  ["name", "text"],
  ["queue_timeout_seconds", "integer"],
  ["retry_on", "text[]"],
  ["retry_delay_seconds", "integer"],
  ["requested_by", "text"],
  ["retry_of", "text"],
  ["run", "text"],
  ["step", "text"],
  ["shape", "text"],
  ["approval", "jsonb"],
] as const;

/** The insert of one task, with whatever condition a caller puts behind `where`. */
const INSERT_TASK = `insert into tasks (${COLUMNS.map(([name]) => name).join(", ")}, state, created_at, queued_at)
     select ${COLUMNS.map(([, type], i) => `$${i + 1}::${type}`).join(", ")}, 'Queued', n, n from (select outpost_now() n) now`;
/** The first parameter that INSERT_TASK does not use. */
const NEXT_PARAMETER = COLUMNS.length + 1;

function valuesOf(t: NewTask, id: string, shape: string): unknown[] {
  return [
    t.account,
    id,
    t.org,
    t.project,
    t.kind,
    JSON.stringify(t.params),
    [...t.selectors],
    t.agentUid ?? null,
    t.timeoutSeconds,
    t.maxAttempts,
    t.idempotent,
    t.name ?? null,
    t.queueTimeoutSeconds ?? QUEUE_TIMEOUT_SECONDS,
    [...(t.retryOn ?? [])],
    t.retryDelaySeconds ?? RETRY_DELAY_SECONDS,
    t.requestedBy ?? null,
    t.retryOf ?? null,
    t.run ?? null,
    t.step ?? null,
    shape,
    t.approval ? JSON.stringify(t.approval) : null,
  ];
}

const newId = () => `t-${randomBytes(10).toString("hex")}`;

/** The row that the insert has made. Reading its forty columns back would cost a third of making it. */
function rowOf(t: NewTask, id: string, shape: string, createdAt: Date): TaskRow {
  const none = undefined;
  return {
    account: t.account,
    org: t.org,
    project: t.project,
    id,
    kind: t.kind,
    params: t.params,
    selectors: [...t.selectors],
    agentUid: t.agentUid,
    timeoutSeconds: t.timeoutSeconds,
    maxAttempts: t.maxAttempts,
    idempotent: t.idempotent,
    name: t.name,
    queueTimeoutSeconds: t.queueTimeoutSeconds ?? QUEUE_TIMEOUT_SECONDS,
    retryOn: [...(t.retryOn ?? [])],
    retryDelaySeconds: t.retryDelaySeconds ?? RETRY_DELAY_SECONDS,
    requestedBy: t.requestedBy,
    retryOf: t.retryOf,
    run: t.run,
    step: t.step,
    approval: t.approval,
    shape,
    ...{ state: "Queued", fence: 0, attempt: 0, cancelRequested: false, tries: [] },
    ...{
      logLast: 0,
      logBase: 0,
      logBytes: 0,
      logFinal: none,
      createdAt,
      queuedAt: createdAt,
      startedAt: none,
      endedAt: none,
    },
    ...{ reason: none, message: none, outputs: none, leaseWorker: none, leaseInstance: none },
    ...{ avoid: none, attemptWorker: none, attemptStartedAt: none },
  };
}

/** Queues a task and wakes who may take it. */
export async function createTaskRow(tx: Tx, t: NewTask): Promise<TaskRow> {
  const [id, shape] = [newId(), shapeOf(t)];
  const rows = await tx.query(`${INSERT_TASK} returning created_at`, valuesOf(t, id, shape));
  const task = rowOf(t, id, shape, rows[0]!.created_at);
  announce(tx, task);
  tx.notify(task.account, `task:${task.id}`);
  return task;
}

/**
 * Queues a task with its audit line in one statement, if its organisation and project exist; undefined if not. A transaction of its
 * own statements takes three times as long, and this is what bounds how many tasks a second can be asked for.
 */
export async function createAudited(db: Database, t: NewTask, line: AuditLine): Promise<TaskRow | undefined> {
  const place = `where ($3 = '' or exists (select 1 from objects where account = $1 and collection = 'organizations' and org = '' and project = '' and id = $3))
     and ($4 = '' or exists (select 1 from objects where account = $1 and collection = 'projects' and org = $3 and project = '' and id = $4))`;
  const [id, shape] = [newId(), shapeOf(t)];
  const rows = await db.query(
    `with made as (${INSERT_TASK} ${place} returning created_at), noted as (${auditFrom("made", NEXT_PARAMETER)}) select * from made`,
    [...valuesOf(t, id, shape), ...auditValues(line)],
  );
  if (!rows[0]) return undefined;
  const task = rowOf(t, id, shape, rows[0].created_at);
  announce(db, task);
  db.notify(task.account, `task:${task.id}`);
  return task;
}

/** Wakes who may take a task that is in the queue now. */
export function announce(tx: Pick<Tx, "notify">, t: Pick<TaskRow, "account" | "agentUid" | "shape">): void {
  tx.notify(t.account, t.agentUid ? agentTopic(t.agentUid) : `queue:${t.shape}`);
}
