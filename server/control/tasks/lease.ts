import type { Schemas } from "../domain/nouns.ts";
import type { SessionRow } from "../store/sessions.ts";
import type { Row, Tx } from "../store/sql.ts";

/** A lease ends this long after its last renewal, by the database's clock. */
export const LEASE_SECONDS = 15;
/** Workers renew this often: two renewals may get lost. */
export const HEARTBEAT_SECONDS = 5;
// An instance that lost a lease is passed over for this long, if another can take the task.
const AVOID_SECONDS = 10;
// An answer with a lease that got lost: the same lease is handed to the same session again, until its worker has shown that it has it.
const REPEAT_SECONDS = 3;

export type WorkerTask = Schemas["WorkerTask"];

/**
 * Leases queued tasks to a session, oldest first.
 *
 * SKIP LOCKED lets any number of pollers take different tasks without waiting for each other. The alternatives: an advisory lock
 * on the queue makes pollers wait in line; `update … where state = 'Queued' limit` without locks hands one task to two workers,
 * of which one fails and polls again. A delegate takes tasks of its own scope and the scopes below it, whose selectors are all
 * among its tags, and whose kind it is able to run; an agent takes those addressed to it.
 */
export async function leaseTasks(tx: Tx, s: SessionRow, tags: readonly string[], free: number): Promise<WorkerTask[]> {
  const again = await repeatLeases(tx, s);
  const room = free - again.length;
  if (room <= 0) return again;
  const instance = instanceOf(s);
  const rows = await tx.query(
    `with next as (
       select id from tasks where account = $1 and state = 'Queued'
         and case when $2 = 'agent' then agent_uid = $3
             else agent_uid is null and ($4 = '' or org = $4) and ($5 = '' or project = $5) and selectors <@ $6::text[] and kind = any($7::text[]) end
         and not (avoid_worker is not null and avoid_worker = $8 and avoid_until > outpost_now())
       order by created_at, id limit $9 for update skip locked),
     leased as (
       update tasks t set state = 'Running', reason = null, message = null, fence = fence + 1, attempt = attempt + 1,
         lease_worker = $10, lease_instance = $8, lease_session = $11, lease_confirmed = false,
         lease_expires_at = outpost_now() + make_interval(secs => ${LEASE_SECONDS}),
         deadline_at = outpost_now() + make_interval(secs => t.timeout_seconds), started_at = coalesce(started_at, outpost_now()),
         avoid_worker = null, avoid_until = null, log_base = log_last, log_final = null
       from next where t.account = $1 and t.id = next.id returning t.*),
     tried as (
       insert into attempts (account, task, number, worker, started_at) select account, id, attempt, $12, outpost_now() from leased)
     select * from leased order by created_at, id`,
    [
      s.account,
      s.kind,
      s.objectUid,
      s.org,
      s.project,
      [...tags],
      s.capabilities,
      instance,
      room,
      s.worker,
      s.session,
      `${s.id}/${s.sessionInstance}`,
    ],
  );
  for (const row of rows) tx.notify(s.account, `task:${row.id}`);
  return [...again, ...rows.map((row) => toWorkerTask(s, row))];
}

/** One name for an instance of a worker: replicas of an agent share the worker, replicas of a delegate do not. */
export const instanceOf = (s: SessionRow) => `${s.worker}/${s.sessionInstance}`;

async function repeatLeases(tx: Tx, s: SessionRow): Promise<WorkerTask[]> {
  const rows = await tx.query(
    `select t.* from tasks t join attempts a on a.account = t.account and a.task = t.id and a.number = t.attempt
     where t.account = $1 and t.lease_worker = $2 and t.state = 'Running' and t.lease_session = $3 and not t.lease_confirmed
       and t.lease_expires_at > outpost_now() and a.started_at < outpost_now() - make_interval(secs => ${REPEAT_SECONDS})`,
    [s.account, s.worker, s.session],
  );
  return rows.map((row) => toWorkerTask(s, row));
}

function toWorkerTask(s: SessionRow, row: Row): WorkerTask {
  return {
    worker: s.worker,
    task: row.id,
    kind: row.kind,
    params: row.params,
    fence: Number(row.fence),
    attempt: row.attempt,
    timeoutSeconds: row.timeout_seconds,
  };
}

/** Renews the leases a worker says it has; the rest of them it has lost and must end. */
export async function renewLeases(tx: Tx, s: SessionRow, leases: readonly { task: string; fence: number }[]): Promise<string[]> {
  const sane = leases.filter((l) => Number.isSafeInteger(l.fence));
  const rows = await tx.query(
    `update tasks t set lease_expires_at = outpost_now() + make_interval(secs => ${LEASE_SECONDS}), lease_confirmed = true
     from unnest($3::text[], $4::bigint[]) l(id, fence)
     where t.account = $1 and t.id = l.id and t.fence = l.fence and t.state = 'Running' and t.lease_worker = $2 and t.lease_expires_at > outpost_now()
     returning t.id`,
    [s.account, s.worker, sane.map((l) => l.task), sane.map((l) => l.fence)],
  );
  const kept = new Set(rows.map((r) => r.id));
  return leases.map((l) => l.task).filter((task) => !kept.has(task));
}

/** The worker's running tasks that somebody has cancelled. */
export async function cancelledOf(tx: Tx, s: SessionRow): Promise<string[]> {
  return (
    await tx.query(
      "select id from tasks where account = $1 and lease_worker = $2 and state = 'Running' and cancel_requested_at is not null order by id",
      [s.account, s.worker],
    )
  ).map((r) => r.id);
}

/** Remembers who lost a task, so that another gets the first chance. */
export const AVOID = { seconds: AVOID_SECONDS };
