import type { Sql } from "../../store/database/sql.ts";

/** How full the queue is, over all accounts, by the level of the scopes: their names are not shown without a key. */
export interface Depth {
  level: "account" | "org" | "project";
  queued: number;
  /** Tasks that wait in the fullest scope of this level. */
  longest: number;
  oldestSeconds: number;
  running: number;
}

export async function queueDepth(sql: Sql): Promise<Depth[]> {
  const rows = await sql.query(
    `select case when project <> '' then 'project' when org <> '' then 'org' else 'account' end level, sum(queued)::int queued, max(queued)::int longest,
       coalesce(max(oldest), 0)::float8 oldest, sum(running)::int running
     from (select account, org, project, count(*) filter (where state = 'Queued') queued, count(*) filter (where state = 'Running') running,
         greatest(extract(epoch from outpost_now() - min(queued_at) filter (where state = 'Queued')), 0) oldest
       from tasks where state in ('Queued', 'Running') and agent_uid is null group by account, org, project) scopes group by 1`,
  );
  return rows.map((r) => ({
    level: r.level,
    queued: r.queued,
    longest: r.longest,
    oldestSeconds: r.oldest,
    running: r.running,
  }));
}
