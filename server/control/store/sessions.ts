import type { Sql } from "./sql.ts";
import { toWorker, type WorkerRow } from "./workers.ts";

export interface SessionRow extends WorkerRow {
  session: string;
  sessionInstance: string;
}

export interface Opening {
  account: string;
  worker: string;
  instance: string;
  version: string;
  capabilities: readonly string[];
  capacity: number;
  hash: string;
  expiresInSeconds: number;
}

/** Opens a session with the next epoch; older sessions of the same instance end with it. */
export async function openSessionRow(sql: Sql, o: Opening): Promise<number> {
  const [row] = await sql.query(
    `update workers set epoch = epoch + 1, version = $3, capabilities = $4::text[], capacity = $5, draining = false, instance = $6, last_seen_at = outpost_now()
     where account = $1 and worker = $2 returning epoch`,
    [o.account, o.worker, o.version, [...o.capabilities], o.capacity, o.instance],
  );
  await sql.query("delete from sessions where account = $1 and worker = $2 and instance = $3", [o.account, o.worker, o.instance]);
  await sql.query(
    `insert into sessions (account, hash, worker, instance, epoch, expires_at, last_seen_at)
     values ($1, $2, $3, $4, $5, outpost_now() + make_interval(secs => $6), outpost_now())`,
    [o.account, o.hash, o.worker, o.instance, row!.epoch, o.expiresInSeconds],
  );
  return Number(row!.epoch);
}

export async function tryFindSession(sql: Sql, account: string, hash: string): Promise<SessionRow | undefined> {
  const rows = await sql.query(
    `select w.*, s.instance session_instance from sessions s join workers w on w.account = s.account and w.worker = s.worker
     where s.account = $1 and s.hash = $2 and s.expires_at > outpost_now()`,
    [account, hash],
  );
  return rows[0] && { ...toWorker(rows[0]), session: hash, sessionInstance: rows[0].session_instance };
}

/** Contact: the worker lives. True when it counted as away until now. */
export async function touchWorker(sql: Sql, s: SessionRow, draining?: boolean): Promise<boolean> {
  await sql.query("update sessions set last_seen_at = outpost_now() where account = $1 and hash = $2", [s.account, s.session]);
  await sql.query("update workers set last_seen_at = outpost_now(), draining = coalesce($3, draining) where account = $1 and worker = $2", [
    s.account,
    s.worker,
    draining ?? null,
  ]);
  return !s.connected;
}
