import { type Candidate, explain } from "../domain/explain.ts";
import type { Schemas } from "../domain/nouns.ts";
import { contains, type Scope } from "../domain/scope.ts";
import type { Sql } from "../store/sql.ts";
import type { TaskRow } from "./rows.ts";

/**
 * Why a queued task was not taken: one reason for each replica of each delegate that the asker may know of: those that serve the
 * task's scope, and those in scopes the asker may see. It is worked out when asked, so it is never older than the question.
 */
export async function explainTask(sql: Sql, task: TaskRow, visible: Scope): Promise<NonNullable<Schemas["Task"]["explanation"]>> {
  const rows = await sql.query(
    `select w.*, o.spec, (select count(*)::int from tasks t where t.account = w.account and t.lease_worker = w.worker and t.state = 'Running') running
     from workers w join objects o on o.account = w.account and o.uid = w.object_uid where w.account = $1 and w.kind = 'delegate' order by w.org, w.project, w.id, w.instance limit 500`,
    [task.account],
  );
  const workers: Candidate[] = rows.map((r) => ({
    account: r.account,
    org: r.org,
    project: r.project,
    worker: r.worker,
    id: r.id,
    instance: r.instance,
    connected: r.connected,
    draining: r.draining,
    tags: r.spec.tags ?? [],
    capabilities: r.capabilities,
    capacity: r.capacity,
    running: r.running,
  }));
  return explain(
    workers.filter((w) => contains(w, task) || contains(visible, w)),
    task,
  );
}
