import { changesBetween, type FieldChange } from "../domain/audit/changes.ts";
import type { Scope } from "../domain/scope.ts";
import type { Row, Sql } from "./database/sql.ts";
import { scopeTerms } from "./objects/objects.ts";

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
  changes?: readonly FieldChange[] | undefined;
}

/** What a transaction has changed so far, for the line at its end. */
const noted = new WeakMap<Sql, FieldChange[]>();

/** Keeps in mind what a write makes of a specification; the line of its transaction tells it. */
export function noteChanges(
  sql: Sql,
  before: Record<string, unknown> | undefined,
  after: Record<string, unknown> | undefined,
): void {
  noted.set(sql, [...(noted.get(sql) ?? []), ...changesBetween(before, after)]);
}

export const changesNoted = (sql: Sql): readonly FieldChange[] | undefined => noted.get(sql);

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
    `insert into audit (account, at, actor, address, operation, org, project, target, outcome, code, request, changes) values ($1, outpost_now(), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::jsonb)`,
    [
      ...[l.account, l.actor, l.address ?? null, l.operation, l.org, l.project, l.target ?? null],
      ...[l.outcome, l.code ?? null, l.request ?? null, l.changes?.length ? JSON.stringify(l.changes) : null],
    ],
  );
}

/** Which lines are asked for: from `since` on, before `until`, and as the other terms say. */
export interface AuditQuery {
  since?: Date | undefined;
  until?: Date | undefined;
  /** A part of the actor's name. */
  actor?: string | undefined;
  operations?: readonly string[] | undefined;
  /** An id, or the end of a path such as `o1/-/web`. */
  target?: string | undefined;
  outcome?: string | undefined;
  /** Anywhere in the line. */
  text?: string | undefined;
}

type Bind = (value: unknown) => string;
const CONTAINS = (field: string, value: string) => `position(lower(${value}) in lower(${field})) > 0`;
const LINE = "concat_ws(' ', actor, address, operation, target, code, request, changes::text)";

const rangeTerms = ({ since, until }: AuditQuery, bind: Bind): string[] => [
  ...(since ? [`at >= ${bind(since)}::timestamptz`] : []),
  ...(until ? [`at < ${bind(until)}::timestamptz`] : []),
];

function otherTerms({ actor, operations, target, outcome, text }: AuditQuery, bind: Bind): string[] {
  const terms: string[] = [];
  if (actor !== undefined) terms.push(CONTAINS("actor", `${bind(actor)}::text`));
  if (operations !== undefined) terms.push(`operation = any(${bind(operations)}::text[])`);
  if (target !== undefined) {
    const at = `${bind(target)}::text`;
    terms.push(`(target = ${at} or right(target, length(${at}) + 1) = '/' || ${at})`);
  }
  if (outcome !== undefined) terms.push(`outcome = ${bind(outcome)}`);
  if (text !== undefined) terms.push(CONTAINS(LINE, `${bind(text)}::text`));
  return terms;
}

/** Lines that one request looks through: a filter that nothing fits must not hold up the store. The next page goes on behind them. */
const WINDOW = 20_000;

export interface AuditPage {
  rows: Row[];
  /** The last line that was looked at, where there are more behind it. */
  next?: number;
}

/** Newest first; lines of this scope and below. */
export async function listAudit(
  sql: Sql,
  scope: Scope,
  limit: number,
  { before, ...query }: AuditQuery & { before?: number | undefined } = {},
): Promise<AuditPage> {
  const params: unknown[] = [scope.account];
  const bind = (value: unknown) => `$${params.push(value)}`;
  const where = ["account = $1", ...scopeTerms(scope, true, bind), ...rangeTerms(query, bind)];
  if (before !== undefined) where.push(`seq < ${bind(before)}`);
  const looked = `select * from audit where ${where.join(" and ")} order by seq desc limit ${WINDOW}`;
  const plain = [...params];
  const terms = otherTerms(query, bind);
  const found = terms.length ? `where ${terms.join(" and ")}` : "";
  const rows = await sql.query(
    `select * from (${looked}) looked ${found} order by seq desc limit ${bind(limit + 1)}`,
    params,
  );
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: Number(rows[limit - 1]!.seq) };
  if (terms.length === 0) return { rows };
  const [edge] = await sql.query(`select min(seq) seq, count(*)::int n from (${looked}) looked`, plain);
  return Number(edge!.n) < WINDOW ? { rows } : { rows, next: Number(edge!.seq) };
}

/** Oldest first, behind a line and up to the newest; `newest` is the last line there is now. */
export async function exportAudit(
  sql: Sql,
  scope: Scope,
  { after, limit, newest, ...query }: AuditQuery & { after: number; limit: number; newest?: number },
): Promise<{ rows: Row[]; newest: number }> {
  const last =
    newest ??
    Number((await sql.query("select coalesce(max(seq), 0) n from audit where account = $1", [scope.account]))[0]!.n);
  const params: unknown[] = [scope.account];
  const bind = (value: unknown) => `$${params.push(value)}`;
  const where = [
    "account = $1",
    ...scopeTerms(scope, true, bind),
    ...rangeTerms(query, bind),
    ...otherTerms(query, bind),
  ];
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
