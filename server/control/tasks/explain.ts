import { type Candidate, explain, type Reasons } from "../domain/explain.ts";
import { contains, type Scope } from "../domain/scope.ts";
import type { Row, Sql } from "../store/database/sql.ts";
import type { TaskRow } from "./rows.ts";

/** So many workers are named; more would not be read. */
const MAX_WORKERS = 500;

/**
 * Why a queued task was not taken: one reason for each replica of each delegate that the asker may know of: those that serve the
 * task's scope, and those in scopes the asker may see. It is worked out when asked, so it is never older than the question.
 */
export async function explainTask(sql: Sql, task: TaskRow, visible: Scope): Promise<Reasons> {
  return explain(
    (await candidates(sql, task.account)).filter((w) => contains(w, task) || contains(visible, w)),
    task,
  );
}

/** All replicas of the account's delegates. What each runs is counted from the leases. */
export async function candidates(sql: Sql, account: string): Promise<Candidate[]> {
  const rows = await sql.query(
    `select w.*, o.spec, (select count(*)::int from tasks t where t.account = w.account and t.lease_worker = w.worker and t.state = 'Running') running
     from workers w join objects o on o.account = w.account and o.uid = w.object_uid where w.account = $1 and w.kind = 'delegate' order by w.org, w.project, w.id, w.instance limit ${MAX_WORKERS}`,
    [account],
  );
  return rows.map(toCandidate);
}

const toCandidate = (r: Row): Candidate => ({
  account: r.account,
  org: r.org,
  project: r.project,
  worker: r.worker,
  id: r.id,
  instance: r.instance,
  version: r.version,
  connected: r.connected,
  lastSeenAt: r.last_seen_at ?? undefined,
  draining: r.draining,
  paused: r.spec.paused === true,
  kinds: r.spec.kinds ?? [],
  requiresApproval: r.spec.requiresApproval,
  tags: [...(r.spec.tags ?? []), ...r.tags],
  capabilities: r.capabilities,
  lacking: r.lacking,
  capacity: r.spec.capacity ?? r.capacity,
  running: r.running,
  full: r.headroom.full,
});
