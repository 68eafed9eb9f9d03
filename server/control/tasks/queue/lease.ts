import type { Schemas } from "../../domain/nouns.ts";
import type { Row, Sql } from "../../store/database/sql.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";

/**
 * A lease ends this long after its last renewal, by the database's clock. With the sweeper's second behind it a dead worker is noticed
 * within 15 s.
 */
export const LEASE_SECONDS = 13;
/** Workers renew this often; a renewal that gets lost is repeated at once, several times within a lease. */
export const HEARTBEAT_SECONDS = 5;
/** An instance that lost or failed a task is skipped for this long, if another can take it. */
export const AVOID_SECONDS = 10;
/** Logs go to one reader, who says this often enough that he is still there; the replica that has him may be lost with him. */
export const READER_SECONDS = 60;
/** An answer with a lease that got lost: the same lease is handed to the same session again, until its worker has shown that it has it. */
export const REPEAT_SECONDS = 3;

export type WorkerTask = Schemas["WorkerTask"];

/** Who is given a task: a worker's session, and the version of its delegate that it was chosen by. */
export interface Lessee {
  session: SessionRow;
  objectVersion: number;
}

/** One name for an instance of a worker: replicas of an agent share the worker, replicas of a delegate do not. */
export const instanceOf = (s: SessionRow) => `${s.worker}/${s.sessionInstance}`;

const GRANT = `update tasks t set state = 'Running', reason = null, message = null, fence = fence + 1, attempt = attempt + 1,
     lease_worker = w.worker, lease_instance = w.instance, lease_session = w.session, lease_confirmed = false,
     lease_expires_at = c.n + interval '${LEASE_SECONDS} seconds', deadline_at = c.n + make_interval(secs => least(t.timeout_seconds, case when t.kind = 'application.logs' then ${READER_SECONDS} end)),
     started_at = coalesce(started_at, c.n), attempt_worker = w.label, attempt_started_at = c.n,
     avoid_worker = null, avoid_until = null, log_base = log_last, log_final = null`;
const COLUMNS =
  "t.id, t.kind, t.params, t.fence, t.attempt, t.timeout_seconds, t.account, t.org, t.project, t.shape, w.who";
const now = "c as materialized (select outpost_now() n)";
// Only a session that is open, of a worker that is not leaving, chosen by what its delegate says now. So nothing is leased to who was
// revoked, drained or paused a moment ago.
const lessees = (at: number) => `w as (
       select l.* from unnest($${at}::text[], $${at + 1}::text[], $${at + 2}::text[], $${at + 3}::text[], $${at + 4}::bigint[]) with ordinality
         l(worker, instance, session, label, version, who), c
       where exists (select 1 from sessions s join workers k on k.account = s.account and k.worker = s.worker
         join objects o on o.account = k.account and o.uid = k.object_uid
         where s.account = $1 and s.hash = l.session and s.expires_at > c.n and not k.draining and o.version = l.version))`;

const valuesOf = (to: readonly Lessee[]): unknown[] => [
  to.map(({ session: s }) => s.worker),
  to.map(({ session: s }) => instanceOf(s)),
  to.map(({ session: s }) => s.session),
  to.map(({ session: s }) => `${s.id}/${s.sessionInstance}`),
  to.map(({ objectVersion }) => objectVersion),
];

/** Places for tasks of a shape: the n-th waiting task goes to the n-th of `takers`, indexes into the lessees. */
export interface Places {
  shape: string;
  takers: readonly number[];
}

/**
 * Leases the oldest waiting tasks of some shapes, in one statement for any number of tasks and workers.
 *
 * SKIP LOCKED lets replicas take different tasks without waiting for each other. The alternatives: an advisory lock on the queue makes
 * them wait in line; an update without locks hands one task to two of them, of which one fails and asks again. A task that one of the
 * takers lost or failed lately is left for `leaseAvoided`.
 */
export async function leasePlaces(
  sql: Sql,
  account: string,
  to: readonly Lessee[],
  places: readonly Places[],
): Promise<Row[]> {
  const slots = places.flatMap((p) => p.takers.map((taker, i) => ({ shape: p.shape, k: i + 1, who: taker + 1 })));
  return sql.query(
    `with ${now}, ${lessees(7)},
       slot as (select * from unnest($4::text[], $5::int[], $6::int[]) slot(shape, k, who)),
       next as (
         select q.shape, f.id, row_number() over (partition by q.shape order by f.queued_at, f.id) k
         from unnest($2::text[], $3::int[]) q(shape, most), c, lateral (
           select t.id, t.queued_at from tasks t where t.account = $1 and t.shape = q.shape and t.state = 'Queued' and t.agent_uid is null
             and t.queued_at <= c.n and (t.avoid_until is null or t.avoid_until <= c.n or t.avoid_worker <> all ($8::text[]))
           order by t.queued_at, t.id limit q.most for update skip locked) f)
     ${GRANT} from next join slot on slot.shape = next.shape and slot.k = next.k join w on w.who = slot.who, c
     where t.account = $1 and t.id = next.id returning ${COLUMNS}`,
    [
      account,
      places.map((p) => p.shape),
      places.map((p) => p.takers.length),
      slots.map((s) => s.shape),
      slots.map((s) => s.k),
      slots.map((s) => s.who),
      ...valuesOf(to),
    ],
  );
}

/** Leases tasks that a worker lost or failed lately to other workers, one by one: `choose` gives the index of the worker. */
export async function leaseAvoided(
  sql: Sql,
  account: string,
  to: readonly Lessee[],
  shapes: readonly string[],
  choose: (task: { shape: string; avoid: string }) => number | undefined,
): Promise<Row[]> {
  const found = await sql.query(
    `select id, shape, avoid_worker from tasks where account = $1 and shape = any($2::text[]) and state = 'Queued' and agent_uid is null
       and queued_at <= outpost_now() and avoid_until > outpost_now() order by queued_at, id limit 50`,
    [account, [...shapes]],
  );
  const pairs = found.flatMap((r) => {
    const who = choose({ shape: r.shape, avoid: r.avoid_worker });
    return who === undefined ? [] : [{ id: r.id as string, who: who + 1 }];
  });
  if (pairs.length === 0) return [];
  return sql.query(
    `with ${now}, ${lessees(4)},
       pair as (select * from unnest($2::text[], $3::int[]) p(id, who)),
       next as (select t.id, p.who from tasks t join pair p on p.id = t.id where t.account = $1 and t.state = 'Queued' for update of t skip locked)
     ${GRANT} from next join w on w.who = next.who, c where t.account = $1 and t.id = next.id returning ${COLUMNS}`,
    [account, pairs.map((p) => p.id), pairs.map((p) => p.who), ...valuesOf(to)],
  );
}

// An agent answers 16 at once, and reads 8 logs beside them. What one tenant asks may take half a minute, as long as its Git server keeps it waiting.
const MOST_OF_TENANT = 12;

/** Questions to an agent, in turns of its tenants and then the oldest first. */
export async function leaseQuestions(sql: Sql, s: SessionRow, most: number): Promise<WorkerTask[]> {
  // The account's agent has organizations below it, an organization's has projects; `-` means the agent's own scope.
  const part = s.org ? 2 : 1;
  const rows = await sql.query(
    `with ${now}, w as (select $3::text worker, $4::text instance, $5::text session, $6::text label, 1 who),
       open as (select t.id, t.state, t.queued_at, split_part(coalesce(t.params->>'key', '-/-'), '/', $8::int) tenant from tasks t
         where t.account = $1 and t.agent_uid = $2 and t.state in ('Queued', 'Running')),
       ranked as (select o.id, o.state, o.tenant, row_number() over (partition by o.tenant order by o.state desc, o.queued_at, o.id) nth from open o),
       next as (select t.id from tasks t join ranked r on r.id = t.id
         where t.state = 'Queued' and r.state = 'Queued' and (r.tenant = '-' or r.nth <= ${MOST_OF_TENANT})
         order by r.nth, t.queued_at, t.id limit $7 for update of t skip locked)
     ${GRANT} from next, w, c where t.account = $1 and t.id = next.id returning ${COLUMNS}`,
    [s.account, s.objectUid, s.worker, instanceOf(s), s.session, `${s.id}/${s.sessionInstance}`, most, part],
  );
  return rows.map((row) => toWorkerTask(s, row));
}

/** Leases whose answer got lost. */
export async function repeatLeases(sql: Sql, s: SessionRow): Promise<WorkerTask[]> {
  const rows = await sql.query(
    `select t.* from tasks t where t.account = $1 and t.lease_worker = $2 and t.state = 'Running' and t.lease_session = $3 and not t.lease_confirmed
       and t.lease_expires_at > outpost_now() and t.attempt_started_at < outpost_now() - interval '${REPEAT_SECONDS} seconds'`,
    [s.account, s.worker, s.session],
  );
  return rows.map((row) => toWorkerTask(s, row));
}

export function toWorkerTask(s: SessionRow, row: Row): WorkerTask {
  return {
    worker: s.worker,
    task: row.id,
    kind: row.kind,
    params: row.params,
    fence: Number(row.fence),
    attempt: row.attempt,
    timeoutSeconds: row.timeout_seconds,
    scope: {
      account: row.account,
      ...(row.org ? { org: row.org } : {}),
      ...(row.project ? { project: row.project } : {}),
    },
  };
}

/** The reader of an agent's lines is there: they may come for another minute, but no longer than was asked. */
export async function keepReading(sql: Sql, account: string, id: string): Promise<void> {
  await sql.query(
    `update tasks set deadline_at = least(started_at + make_interval(secs => timeout_seconds), outpost_now() + make_interval(secs => ${READER_SECONDS}))
     where account = $1 and id = $2 and state = 'Running'`,
    [account, id],
  );
}

/** Renews the leases a worker says it has; the rest of them it has lost and must end. */
export async function renewLeases(
  sql: Sql,
  s: SessionRow,
  leases: readonly { task: string; fence: number }[],
): Promise<string[]> {
  const sane = leases.filter((l) => Number.isSafeInteger(l.fence));
  const rows = await sql.query(
    `update tasks t set lease_expires_at = outpost_now() + make_interval(secs => ${LEASE_SECONDS}), lease_confirmed = true
     from unnest($3::text[], $4::bigint[]) l(id, fence)
     where t.account = $1 and t.id = l.id and t.fence = l.fence and t.state = 'Running' and t.lease_worker = $2 and t.lease_expires_at > outpost_now()
     returning t.id`,
    [s.account, s.worker, sane.map((l) => l.task), sane.map((l) => l.fence)],
  );
  const kept = new Set(rows.map((r) => r.id));
  return leases.map((l) => l.task).filter((task) => !kept.has(task));
}

/** The worker's running tasks that were cancelled. */
export async function cancelledOf(sql: Sql, s: SessionRow): Promise<string[]> {
  return (
    await sql.query(
      "select id from tasks where account = $1 and lease_worker = $2 and state = 'Running' and cancel_requested_at is not null order by id",
      [s.account, s.worker],
    )
  ).map((r) => r.id);
}
