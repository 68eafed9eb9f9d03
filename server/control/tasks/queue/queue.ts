import type { Shape } from "../../domain/match.ts";
import type { Scope } from "../../domain/scope.ts";
import type { Row, Sql } from "../../store/database/sql.ts";
import { shapeOf } from "./shape.ts";

/** A shape in which a task waits, with its oldest one. */
export interface Head extends Shape {
  due: boolean;
  avoided: boolean;
}

/** Distinct shapes are few; with more than this the rest has its turn when these have gone. */
const MAX_SHAPES = 2_000;

/**
 * The shapes in which tasks wait: a loose scan over the queue's index, one probe for each shape however many tasks it has. A
 * `select distinct` reads every waiting task: 100 ms with 100,000 of them instead of 1 ms with 50 shapes.
 */
export async function queuedShapes(sql: Sql, account: string): Promise<Head[]> {
  await mendShapes(sql, account);
  const fields = "shape, org, project, kind, selectors, approval, queued_at, avoid_until";
  const of = "from tasks where account = $1 and state = 'Queued' and agent_uid is null";
  const rows = await sql.query(
    `with recursive head as (
       (select ${fields} ${of} order by shape, queued_at limit 1)
       union all select n.* from head, lateral (select ${fields} ${of} and shape > head.shape order by shape, queued_at limit 1) n)
     select *, queued_at <= outpost_now() due, coalesce(avoid_until > outpost_now(), false) avoided from head limit ${MAX_SHAPES}`,
    [account],
  );
  return rows.map((r: Row) => ({
    account,
    org: r.org,
    project: r.project,
    shape: r.shape,
    kind: r.kind,
    selectors: r.selectors,
    approval: r.approval ?? undefined,
    due: r.due,
    avoided: r.avoided,
  }));
}

/** Gives tasks their shape that a replica of the version before has queued. */
async function mendShapes(sql: Sql, account: string): Promise<void> {
  const rows = await sql.query(
    "select id, org, project, kind, selectors, approval from tasks where account = $1 and shape = '' and state = 'Queued' and agent_uid is null limit 500",
    [account],
  );
  for (const r of rows)
    await sql.query("update tasks set shape = $3 where account = $1 and id = $2", [
      account,
      r.id,
      shapeOf({
        account,
        org: r.org,
        project: r.project,
        kind: r.kind,
        selectors: r.selectors,
        approval: r.approval ?? undefined,
      }),
    ]);
}

/** Running tasks of delegates by scope. */
export async function runningByScope(
  sql: Sql,
  account: string,
): Promise<(Pick<Scope, "org" | "project"> & { n: number })[]> {
  return (
    await sql.query(
      "select org, project, count(*)::int n from tasks where account = $1 and state = 'Running' and agent_uid is null group by org, project",
      [account],
    )
  ).map((r) => ({ org: r.org, project: r.project, n: r.n }));
}
