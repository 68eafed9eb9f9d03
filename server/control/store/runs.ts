import { randomBytes } from "node:crypto";
import type { PipelineSpec } from "../../../openapi/rules/pipelines/graph.ts";
import type { Schemas } from "../domain/nouns.ts";
import type { RunState, RunStep } from "../domain/pipelines/advance.ts";
import type { Scope } from "../domain/scope.ts";
import type { Row, Sql } from "./database/sql.ts";

/** A run as it is stored. */
export interface RunRow extends Scope {
  id: string;
  pipeline: string;
  pipelineUid: string;
  generation: number;
  revision: number;
  state: RunState;
  reason: string | undefined;
  message: string | undefined;
  inputs: Record<string, string>;
  steps: RunStep[];
  spec: PipelineSpec;
  requestedBy: string;
  /** Lineage of the key that started it. */
  requester: string;
  cancelRequested: boolean;
  dueAt: Date | undefined;
  createdAt: Date;
  endedAt: Date | undefined;
}

function toRun(r: Row): RunRow {
  return {
    account: r.account,
    org: r.org,
    project: r.project,
    id: r.id,
    pipeline: r.pipeline,
    pipelineUid: r.pipeline_uid,
    generation: Number(r.generation),
    revision: Number(r.revision),
    state: r.state,
    reason: r.reason ?? undefined,
    message: r.message ?? undefined,
    inputs: r.inputs,
    steps: r.steps,
    spec: r.spec,
    requestedBy: r.requested_by,
    requester: r.requested_lineage ?? r.requested_by,
    cancelRequested: r.cancel_requested_at !== null,
    dueAt: r.due_at ?? undefined,
    createdAt: r.created_at,
    endedAt: r.ended_at ?? undefined,
  };
}

/** The run on the wire. */
export function viewRun(r: RunRow): Schemas["Run"] {
  return {
    id: r.id,
    ...(r.org ? { org: r.org } : {}),
    ...(r.project ? { project: r.project } : {}),
    pipeline: r.pipeline,
    generation: r.generation,
    revision: r.revision,
    state: r.state,
    ...(r.reason ? { reason: r.reason } : {}),
    ...(r.message ? { message: r.message } : {}),
    inputs: r.inputs,
    requestedBy: r.requestedBy,
    steps: r.steps,
    createdAt: r.createdAt.toISOString(),
    ...(r.endedAt ? { endedAt: r.endedAt.toISOString() } : {}),
  };
}

export type NewRun = Scope &
  Pick<RunRow, "pipeline" | "pipelineUid" | "generation" | "inputs" | "spec" | "requestedBy" | "requester">;

/** Adds a run in which nothing has begun. */
export async function insertRun(sql: Sql, r: NewRun): Promise<RunRow> {
  const steps: RunStep[] = r.spec.steps.map(({ id }) => ({ id, state: "Pending" }));
  const rows = await sql.query(
    `insert into runs (account, id, org, project, pipeline, pipeline_uid, generation, state, inputs, steps, spec, requested_by, requested_lineage, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, 'Running', $8::jsonb, $9::jsonb, $10::jsonb, $11, $12, outpost_now()) returning *`,
    [
      r.account,
      `r-${randomBytes(10).toString("hex")}`,
      r.org,
      r.project,
      r.pipeline,
      r.pipelineUid,
      r.generation,
      JSON.stringify(r.inputs),
      JSON.stringify(steps),
      JSON.stringify(r.spec),
      r.requestedBy,
      r.requester,
    ],
  );
  return toRun(rows[0]!);
}

export async function tryFindRun(sql: Sql, account: string, id: string): Promise<RunRow | undefined> {
  const [row] = await sql.query("select * from runs where account = $1 and id = $2", [account, id]);
  return row && toRun(row);
}

/** Locks the row: one writer at a time moves a run on. */
export async function tryLockRun(sql: Sql, account: string, id: string): Promise<RunRow | undefined> {
  const [row] = await sql.query("select * from runs where account = $1 and id = $2 for update", [account, id]);
  return row && toRun(row);
}

/** Stores where a run has come to; its revision grows. */
export async function updateRun(sql: Sql, r: RunRow, awaits: readonly string[]): Promise<RunRow> {
  const rows = await sql.query(
    `update runs set revision = revision + 1, state = $3, reason = $4, message = $5, steps = $6::jsonb, awaits = $7::text[], due_at = $8, ended_at = $9,
       cancel_requested_at = case when $10 then coalesce(cancel_requested_at, outpost_now()) end
     where account = $1 and id = $2 returning *`,
    [
      r.account,
      r.id,
      r.state,
      r.reason ?? null,
      r.message ?? null,
      JSON.stringify(r.steps),
      [...awaits],
      r.dueAt?.toISOString() ?? null,
      r.endedAt?.toISOString() ?? null,
      r.cancelRequested,
    ],
  );
  return toRun(rows[0]!);
}

/** Newest first: a run never moves in this order. `before` is where the previous page ended. */
export async function listRuns(
  sql: Sql,
  scope: Scope,
  options: { pipeline?: string | undefined; before: readonly [micros: number, id: string]; limit: number },
): Promise<{ run: RunRow; micros: number }[]> {
  const rows = await sql.query(
    `select *, (extract(epoch from created_at) * 1000000)::bigint micros from runs where account = $1 and org = $2 and project = $3
       and ($4::text is null or pipeline = $4) and ((extract(epoch from created_at) * 1000000)::bigint, id) < ($5::bigint, $6)
     order by created_at desc, id desc limit $7`,
    [
      scope.account,
      scope.org,
      scope.project,
      options.pipeline ?? null,
      options.before[0],
      options.before[1],
      options.limit,
    ],
  );
  return rows.map((row) => ({ run: toRun(row), micros: Number(row.micros) }));
}

/** The runs that can continue: a task that they wait for has ended or is gone, or their time has come. */
export async function dueRuns(sql: Sql, account: string, limit: number): Promise<string[]> {
  const rows = await sql.query(
    `select r.id from runs r where r.account = $1 and r.ended_at is null and (r.due_at <= outpost_now() or exists (
       select 1 from unnest(r.awaits) a(task) left join tasks t on t.account = r.account and t.id = a.task where t.id is null or t.ended_at is not null))
     order by r.due_at limit $2`,
    [account, limit],
  );
  return rows.map((row) => row.id);
}
