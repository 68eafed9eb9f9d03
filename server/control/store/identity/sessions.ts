import type { Sql } from "../database/sql.ts";
import { toWorker, type WorkerRow } from "./workers.ts";

export interface SessionRow extends WorkerRow {
  session: string;
  sessionInstance: string;
  /** Not heard of for long enough that the next contact is worth a write. */
  quiet: boolean;
}

/** A contact is written down when the one before is so old: often enough to tell the living from the dead, which takes 15 s. */
const QUIET_SECONDS = 2;

export interface Opening {
  account: string;
  worker: string;
  instance: string;
  version: string;
  capabilities: readonly string[];
  lacking?: readonly { kind: string; why: string }[] | undefined;
  tags?: readonly string[] | undefined;
  type?: string | undefined;
  capacity: number;
  hash: string;
  expiresInSeconds: number;
}

/** Opens a session with the next epoch; older sessions of the same instance end with it. */
export async function openSessionRow(sql: Sql, o: Opening): Promise<number> {
  const [row] = await sql.query(
    `update workers set epoch = epoch + 1, version = $3, capabilities = $4::text[], capacity = $5, draining = false, instance = $6, last_seen_at = outpost_now(),
       lacking = $7::jsonb, tags = $8::text[], type = $9, headroom = '{}'
     where account = $1 and worker = $2 returning epoch`,
    [
      o.account,
      o.worker,
      o.version,
      [...o.capabilities],
      o.capacity,
      o.instance,
      JSON.stringify(o.lacking ?? []),
      [...(o.tags ?? [])],
      o.type ?? null,
    ],
  );
  await sql.query("delete from sessions where account = $1 and worker = $2 and instance = $3", [
    o.account,
    o.worker,
    o.instance,
  ]);
  await sql.query(
    `insert into sessions (account, hash, worker, instance, epoch, expires_at, last_seen_at)
     values ($1, $2, $3, $4, $5, outpost_now() + make_interval(secs => $6), outpost_now())`,
    [o.account, o.hash, o.worker, o.instance, row!.epoch, o.expiresInSeconds],
  );
  return Number(row!.epoch);
}

/** Another instance that works with this identity and was heard of within `seconds`. */
export async function otherInstance(
  sql: Sql,
  o: { account: string; worker: string; instance: string },
  seconds: number,
): Promise<string | undefined> {
  const rows = await sql.query(
    `select instance from sessions where account = $1 and worker = $2 and instance <> $3 and expires_at > outpost_now()
       and last_seen_at > outpost_now() - make_interval(secs => $4) limit 1`,
    [o.account, o.worker, o.instance, seconds],
  );
  return rows[0]?.instance;
}

/** Ends what was opened by other instances with this identity. */
export async function endOtherInstances(
  sql: Sql,
  o: { account: string; worker: string; instance: string },
): Promise<void> {
  await sql.query("delete from sessions where account = $1 and worker = $2 and instance <> $3", [
    o.account,
    o.worker,
    o.instance,
  ]);
}

export async function tryFindSession(sql: Sql, account: string, hash: string): Promise<SessionRow | undefined> {
  const rows = await sql.query(
    `select w.*, s.instance session_instance, least(w.last_seen_at, s.last_seen_at) < outpost_now() - interval '${QUIET_SECONDS} seconds' quiet from sessions s join workers w on w.account = s.account and w.worker = s.worker
     where s.account = $1 and s.hash = $2 and s.expires_at > outpost_now()`,
    [account, hash],
  );
  return (
    rows[0] && {
      ...toWorker(rows[0]),
      session: hash,
      sessionInstance: rows[0].session_instance,
      quiet: rows[0].quiet ?? true,
    }
  );
}

/** What a worker says of itself when it asks. */
export interface Said {
  draining?: boolean | undefined;
  headroom?: { full?: string | undefined } | undefined;
}

/** Writes down what a worker says, when it is something else than before. */
export async function saveSaid(sql: Sql, s: SessionRow, said: Said): Promise<void> {
  const news =
    (said.draining !== undefined && said.draining !== s.draining) ||
    (said.headroom !== undefined && said.headroom.full !== s.headroom.full);
  if (!news && !(said.headroom && s.quiet)) return;
  await sql.query(
    "update workers set draining = coalesce($3, draining), headroom = coalesce($4::jsonb, headroom) where account = $1 and worker = $2",
    [s.account, s.worker, said.draining ?? null, said.headroom ? JSON.stringify(said.headroom) : null],
  );
}

/** Workers of an account that were heard of just now. */
export async function touchWorkers(
  sql: Sql,
  account: string,
  some: readonly { session: string; worker: string }[],
): Promise<void> {
  await sql.query(
    `with seen as (update sessions set last_seen_at = outpost_now() where account = $1 and hash = any($2::text[]))
     update workers set last_seen_at = outpost_now() where account = $1 and worker = any($3::text[])`,
    [account, some.map((s) => s.session).sort(), [...new Set(some.map((s) => s.worker))].sort()],
  );
}
