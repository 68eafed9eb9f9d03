import type { Taker } from "../../domain/match.ts";
import type { Sql } from "../../store/database/sql.ts";
import type { SessionRow } from "../../store/identity/sessions.ts";
import { type Lessee, REPEAT_SECONDS } from "./lease.ts";

/** Where a delegate's worker stands when it asks. */
export interface Standing {
  /** What it may be given; `room` is what its capacity leaves. */
  offer: Lessee & Taker;
  /** It has said that it is leaving. */
  draining: boolean;
  /** It is given nothing: it is leaving, or its delegate is paused. */
  closed: boolean;
  /** Its running tasks that were cancelled. */
  cancelled: string[];
  /** It has leases of this session of which nothing was heard: their answer must have got lost. */
  lost: boolean;
}

/**
 * Where some workers stand, all in one look, by session; a session that has ended is left out. Tags, kinds and capacity are those of
 * their delegates now; what runs is counted from the leases.
 */
export async function standingsOf(
  sql: Sql,
  account: string,
  sessions: readonly SessionRow[],
): Promise<Map<string, Standing>> {
  const bySession = new Map(sessions.map((s) => [s.session, s]));
  const rows = await sql.query(
    `select x.hash, o.version, o.spec, w.draining, w.tags, r.*
     from (select outpost_now() n) c, sessions x join workers w on w.account = x.account and w.worker = x.worker
       join objects o on o.account = w.account and o.uid = w.object_uid,
       lateral (select count(*)::int running,
           coalesce(bool_or(not t.lease_confirmed and t.lease_session = x.hash and t.lease_expires_at > c.n and t.attempt_started_at < c.n - interval '${REPEAT_SECONDS} seconds'), false) lost,
           coalesce(array_agg(t.id order by t.id) filter (where t.cancel_requested_at is not null), '{}') cancelled
         from tasks t where t.account = x.account and t.lease_worker = x.worker and t.state = 'Running') r
     where x.account = $1 and x.hash = any($2::text[]) and x.expires_at > c.n`,
    [account, [...bySession.keys()]],
  );
  return new Map(
    rows.map((row): [string, Standing] => {
      const s = bySession.get(row.hash)!;
      const capacity = Number(row.spec.capacity ?? s.capacity);
      const offer = {
        account: s.account,
        org: s.org,
        project: s.project,
        id: s.id,
        session: s,
        objectVersion: Number(row.version),
        tags: [...(row.spec.tags ?? []), ...row.tags],
        capabilities: s.capabilities,
        kinds: row.spec.kinds ?? [],
        requiresApproval: row.spec.requiresApproval,
        room: Math.max(0, capacity - row.running),
        load: row.running / Math.max(capacity, 1),
      };
      const closed = row.draining || row.spec.paused === true;
      return [row.hash, { offer, draining: row.draining, closed, cancelled: row.cancelled, lost: row.lost }];
    }),
  );
}
