import type { Row, Sql } from "./database/sql.ts";

/**
 * Claims a key for this transaction. A second request with the same key waits here until the first has committed or rolled back, and
 * then gets the stored answer; so an effect and its stored answer appear together, also across a kill.
 */
export async function claimKey(sql: Sql, account: string, key: string, bodyHash: string): Promise<Row | undefined> {
  const claimed = await sql.query(
    "insert into idempotency (account, key, body_hash, created_at) values ($1, $2, $3, outpost_now()) on conflict do nothing returning key",
    [account, key, bodyHash],
  );
  if (claimed.length > 0) return undefined;
  const [row] = await sql.query("select body_hash, status, answer from idempotency where account = $1 and key = $2", [
    account,
    key,
  ]);
  return row;
}

export async function storeAnswer(
  sql: Sql,
  account: string,
  key: string,
  status: number,
  answer: Uint8Array,
): Promise<void> {
  await sql.query("update idempotency set status = $3, answer = $4 where account = $1 and key = $2", [
    account,
    key,
    status,
    answer,
  ]);
}
