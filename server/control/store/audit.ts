import type { Scope } from "../domain/scope.ts";
import { scopeTerms } from "./objects.ts";
import type { Row, Sql } from "./sql.ts";

export interface AuditLine {
  account: string;
  org: string;
  project: string;
  actor: string;
  address?: string | undefined;
  operation: string;
  target?: string | undefined;
  outcome: "accepted" | "denied" | "refused";
  code?: string | undefined;
  request?: string | undefined;
}

/** The same as part of another statement, which has a row for each line in `source`; parameters from `$at` on are `auditValues`. */
export const auditFrom = (source: string, at: number): string =>
  `insert into audit (account, at, actor, address, operation, org, project, target, outcome, code, request)
     select ${COLUMNS.map((type, i) => (i === 0 ? `$${at}::text, outpost_now()` : `$${at + i}::${type}`)).join(", ")} from ${source}`;
const COLUMNS = ["text", "text", "text", "text", "text", "text", "text", "text", "text", "text"] as const;
export const auditValues = (l: AuditLine): unknown[] => [
  l.account,
  l.actor,
  l.address ?? null,
  l.operation,
  l.org,
  l.project,
  l.target ?? null,
  l.outcome,
  l.code ?? null,
  l.request ?? null,
];

/** Adds a line: within the writer's transaction for what is accepted, by itself for what is not. */
export async function addAudit(sql: Sql, l: AuditLine): Promise<void> {
  await sql.query(
    `insert into audit (account, at, actor, address, operation, org, project, target, outcome, code, request) values ($1, outpost_now(), $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [l.account, l.actor, l.address ?? null, l.operation, l.org, l.project, l.target ?? null, l.outcome, l.code ?? null, l.request ?? null],
  );
}

/** From `since` on, and before `until`. */
export interface AuditRange {
  since?: Date | undefined;
  until?: Date | undefined;
}

type Bind = (value: unknown) => string;
const rangeTerms = ({ since, until }: AuditRange, bind: Bind): string[] => [
  ...(since ? [`at >= ${bind(since)}::timestamptz`] : []),
  ...(until ? [`at < ${bind(until)}::timestamptz`] : []),
];

/** Newest first; lines of this scope and below. */
export async function listAudit(
  sql: Sql,
  scope: Scope,
  limit: number,
  { before, ...range }: AuditRange & { before?: number | undefined } = {},
): Promise<Row[]> {
  const params: unknown[] = [scope.account];
  const bind = (value: unknown) => `$${params.push(value)}`;
  const where = [
    "account = $1",
    ...scopeTerms(scope, true, bind),
    ...rangeTerms(range, bind),
    ...(before === undefined ? [] : [`seq < ${bind(before)}`]),
  ];
  return sql.query(`select * from audit where ${where.join(" and ")} order by seq desc limit ${bind(limit)}`, params);
}

/** Oldest first, behind a line and up to the newest; `newest` is the last line there is now. */
export async function exportAudit(
  sql: Sql,
  scope: Scope,
  { after, limit, newest, ...range }: AuditRange & { after: number; limit: number; newest?: number },
): Promise<{ rows: Row[]; newest: number }> {
  const last = newest ?? Number((await sql.query("select coalesce(max(seq), 0) n from audit where account = $1", [scope.account]))[0]!.n);
  const params: unknown[] = [scope.account];
  const bind = (value: unknown) => `$${params.push(value)}`;
  const where = ["account = $1", ...scopeTerms(scope, true, bind), ...rangeTerms(range, bind)];
  where.push(`seq > ${bind(after)}`, `seq <= ${bind(last)}`);
  return {
    rows: await sql.query(`select * from audit where ${where.join(" and ")} order by seq limit ${bind(limit)}`, params),
    newest: last,
  };
}

/** Any number that nothing else in this database uses. */
const TRIM_LOCK = 7_203_115;

/** Lets one replica trim at a time, until the transaction's end. */
export async function lockTrim(sql: Sql): Promise<boolean> {
  return (await sql.query("select pg_try_advisory_xact_lock($1) got", [TRIM_LOCK]))[0]!.got;
}

/** Lines of an account older than this, among its first ones: they stand in the order of time, so no index over the time is needed. */
export async function oldestAudit(sql: Sql, account: string, seconds: number, limit: number): Promise<Row[]> {
  return sql.query(
    `select * from (select * from audit where account = $1 order by seq limit $3) a where at < outpost_now() - make_interval(secs => $2) order by seq`,
    [account, seconds, limit],
  );
}

export async function deleteAudit(sql: Sql, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  await sql.query(
    "delete from audit a using unnest($1::text[], $2::bigint[]) x(account, seq) where a.account = x.account and a.seq = x.seq",
    [rows.map((r) => r.account), rows.map((r) => r.seq)],
  );
}
