import { randomUUID } from "node:crypto";
import type { Scope } from "../../domain/scope.ts";
import type { FinishedSync } from "../../domain/services/finished-syncs.ts";
import type { Row, Sql } from "../database/sql.ts";
import type { Writer } from "../database/writer.ts";
import { scopeTerms } from "../objects/objects.ts";

/** An application as it was when it synced. */
export interface Deployed extends Scope {
  application: string;
  service: string;
  environment: string;
  agent: string | undefined;
  cluster: string | undefined;
  namespace: string | undefined;
}

/** One finished sync as it is stored. */
export interface Deployment extends Deployed, FinishedSync {
  id: string;
}

/** Of one application; older ones go, so that an application that syncs all day does not fill the store. */
const MOST_EACH = 1_000;

/** Adds syncs that are not known yet. Of one that is known, what was missing is filled in: its history entry may come in a later report. */
export async function addDeployments(w: Writer, of: Deployed, syncs: readonly FinishedSync[]): Promise<void> {
  const { account, org, project, application } = of;
  await w.query(
    `insert into deployments (account, org, project, application, started_at, finished_at, id, service, environment, agent, cluster, namespace,
       outcome, cause, initiated_by, message, revision, revisions, images, history_id, recorded_at)
     select $1, $2, $3, $4, "startedAt", "finishedAt", id, $5, $6, $7, $8, $9, outcome, cause, "initiatedBy", message, revision, revisions, images,
       "historyId", outpost_now()
     from jsonb_to_recordset($10::jsonb) s("startedAt" timestamptz, "finishedAt" timestamptz, id text, outcome text, cause text, "initiatedBy" text,
       message text, revision text, revisions jsonb, images jsonb, "historyId" int)
     on conflict (account, org, project, application, started_at) do update set
       cause = coalesce(deployments.cause, excluded.cause), initiated_by = coalesce(deployments.initiated_by, excluded.initiated_by),
       message = coalesce(deployments.message, excluded.message), revision = coalesce(deployments.revision, excluded.revision),
       revisions = coalesce(deployments.revisions, excluded.revisions), images = coalesce(deployments.images, excluded.images),
       history_id = coalesce(deployments.history_id, excluded.history_id)`,
    [
      ...[account, org, project, application, of.service, of.environment],
      ...[of.agent ?? null, of.cluster ?? null, of.namespace ?? null],
      JSON.stringify(syncs.map((sync) => ({ ...sync, id: randomUUID() }))),
    ],
  );
  await w.query(
    `delete from deployments d where account = $1 and org = $2 and project = $3 and application = $4 and started_at <= (
       select started_at from deployments where account = $1 and org = $2 and project = $3 and application = $4
       order by started_at desc offset ${MOST_EACH} limit 1)`,
    [account, org, project, application],
  );
}

export interface DeploymentFilter {
  inherited: boolean;
  service?: string | undefined;
  environment?: string | undefined;
  application?: string | undefined;
  outcome?: string | undefined;
  /** Where the page before ended. */
  before: readonly [micros: number, id: string];
  limit: number;
}

const MICROS = "(extract(epoch from started_at) * 1000000)::bigint";
const TIME_OF = (bound: string) => `timestamptz 'epoch' + ${bound}::float8 * interval '1 microsecond'`;

/** Newest first: a deployment never moves in this order. */
export async function readDeployments(
  sql: Sql,
  scope: Scope,
  filter: DeploymentFilter,
): Promise<{ deployment: Deployment; micros: number }[]> {
  const params: unknown[] = [scope.account];
  const bind = (value: unknown) => `$${params.push(value)}`;
  const { inherited, before, limit, ...terms } = filter;
  const where = ["account = $1", ...scopeTerms(scope, inherited, bind)];
  for (const name of ["service", "environment", "application", "outcome"] as const)
    if (terms[name] !== undefined) where.push(`${name} = ${bind(terms[name])}`);
  const [micros, id] = before;
  where.push(`(started_at, id) < (${TIME_OF(bind(micros))}, ${bind(id)})`);
  const rows = await sql.query(
    `select *, ${MICROS} micros from deployments where ${where.join(" and ")} order by started_at desc, id desc limit ${bind(limit)}`,
    params,
  );
  return rows.map((row) => ({ deployment: toDeployment(row), micros: Number(row.micros) }));
}

export async function tryFindDeployment(sql: Sql, account: string, id: string): Promise<Deployment | undefined> {
  const [row] = await sql.query("select * from deployments where account = $1 and id = $2", [account, id]);
  return row && toDeployment(row);
}

/** Of a deleted organisation or project: a new one with its id must not read them. */
export async function deleteDeploymentsIn(sql: Sql, account: string, org: string, project: string): Promise<void> {
  await sql.query("delete from deployments where account = $1 and org = $2 and ($3 = '' or project = $3)", [
    account,
    org,
    project,
  ]);
}

/** Where deployments of an application are, and what they are deployments of. */
export type Standing = Pick<Deployed, "account" | "org" | "project" | "application" | "service" | "environment">;

/** Takes some deployments along with their application. */
export async function relocateDeployments(
  w: Writer,
  from: Standing,
  to: Standing,
  startedAt: readonly string[],
): Promise<void> {
  await w.query(
    `update deployments d set org = $5, project = $6, application = $7, service = case service when $8 then $9 else service end,
       environment = case environment when $10 then $11 else environment end
     where account = $1 and org = $2 and project = $3 and application = $4 and started_at = any($12::timestamptz[])
       and not exists (select 1 from deployments t where t.account = $1 and t.org = $5 and t.project = $6 and t.application = $7 and t.started_at = d.started_at)`,
    [
      ...[from.account, from.org, from.project, from.application, to.org, to.project, to.application],
      ...[from.service, to.service, from.environment, to.environment, startedAt],
    ],
  );
}

/** Forgets what was recorded longer ago: by the service's clock, not by what an agent said. */
export async function trimDeployments(sql: Sql, seconds: number): Promise<void> {
  await sql.query(
    "delete from deployments d using accounts a where d.account = a.account and recorded_at < outpost_now() - make_interval(secs => $1)",
    [seconds],
  );
}

function toDeployment(row: Row): Deployment {
  const { account, org, project, application, id, service, environment, outcome } = row;
  return {
    ...{ account, org, project, application, id, service, environment, outcome },
    startedAt: row.started_at.toISOString(),
    finishedAt: row.finished_at.toISOString(),
    agent: row.agent ?? undefined,
    cluster: row.cluster ?? undefined,
    namespace: row.namespace ?? undefined,
    cause: row.cause ?? undefined,
    initiatedBy: row.initiated_by ?? undefined,
    message: row.message ?? undefined,
    revision: row.revision ?? undefined,
    revisions: row.revisions ?? undefined,
    images: row.images ?? undefined,
    historyId: row.history_id ?? undefined,
  };
}
