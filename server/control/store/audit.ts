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

/** Newest first; lines of this scope and below. */
export async function listAudit(sql: Sql, scope: Scope, limit: number, before?: number): Promise<Row[]> {
  const params: unknown[] = [scope.account];
  const bind = (value: unknown) => `$${params.push(value)}`;
  const where = ["account = $1", ...scopeTerms(scope, true, bind), ...(before === undefined ? [] : [`seq < ${bind(before)}`])];
  return sql.query(`select * from audit where ${where.join(" and ")} order by seq desc limit ${bind(limit)}`, params);
}
