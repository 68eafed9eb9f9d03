import type { Sql, Tx } from "../database/sql.ts";

export interface ServiceKeyRow {
  id: string;
  publicKey: string;
  /** Wrapped by a master key (`access/master.ts`), or in clear without one. Empty once there is a successor. */
  privateKey: string;
  /** What the addresses and secrets of webhooks are derived from, stored like `privateKey`. It stays after the private key is gone. */
  hookKey: string;
  /** The signature of the key before over this one; empty for the first. */
  statement: string;
}

/** The service's keys, the first one first. The service has no account: its rows stand under "". */
export async function readServiceKeys(sql: Sql): Promise<ServiceKeyRow[]> {
  const rows = await sql.query("select * from service_keys where account = '' order by number");
  return rows.map((r) => ({
    id: r.id,
    publicKey: r.public_key,
    privateKey: r.private_key,
    hookKey: r.hook_key,
    statement: r.statement,
  }));
}

/**
 * Keeps others from adding a key until the transaction's end; who waited reads the key that was added meanwhile. An account's lock is not
 * enough: administrators of two accounts hold one each. It is taken after that and nothing is taken after it, so there is no deadlock.
 */
export async function lockServiceKeys(tx: Tx): Promise<void> {
  await tx.query("lock table service_keys in share row exclusive mode");
}

/** The id of the key that signs now, as the store has it: a replica hears of a new key a moment later. */
export async function currentServiceKey(sql: Sql): Promise<string> {
  const [row] = await sql.query("select id from service_keys where account = '' order by number desc limit 1");
  return row!.id;
}

/** Replaces how a key is stored, not the key. */
export async function wrapServiceKey(
  sql: Sql,
  { id, privateKey, hookKey }: Omit<ServiceKeyRow, "publicKey" | "statement">,
): Promise<void> {
  await sql.query("update service_keys set private_key = $2, hook_key = $3 where account = '' and id = $1", [
    id,
    privateKey,
    hookKey,
  ]);
}

/** Adds the key after `before` others; without the lock the index refuses one of two that are added at once after the same. */
export async function addServiceKey(sql: Sql, key: ServiceKeyRow, before: number): Promise<void> {
  await sql.query(
    `insert into service_keys (account, id, public_key, private_key, created_at, number, statement, hook_key)
     values ('', $1, $2, $3, outpost_now(), $4, $5, $6)`,
    [key.id, key.publicKey, key.privateKey, before, key.statement, key.hookKey],
  );
  // A key that has a successor no longer signs, so a later dump does not have its private half.
  await sql.query("update service_keys set private_key = '' where account = '' and number < $1", [before]);
}
