import type { Sql } from "../database/sql.ts";

/** Uses a nonce up; false when it was used before. */
export async function useNonce(sql: Sql, account: string, hash: string, seconds: number): Promise<boolean> {
  const rows = await sql.query(
    "insert into nonces (account, hash, expires_at) values ($1, $2, outpost_now() + make_interval(secs => $3)) on conflict do nothing returning hash",
    [account, hash, seconds],
  );
  return rows.length > 0;
}

/** Whether a nonce was used up already. */
export async function isUsed(sql: Sql, account: string, hash: string): Promise<boolean> {
  return (await sql.query("select 1 from nonces where account = $1 and hash = $2", [account, hash])).length > 0;
}
