import type { Sql } from "./sql.ts";

/** Uses a nonce up; false when it was used before. */
export async function useNonce(sql: Sql, account: string, hash: string, seconds: number): Promise<boolean> {
  const rows = await sql.query(
    "insert into nonces (account, hash, expires_at) values ($1, $2, outpost_now() + make_interval(secs => $3)) on conflict do nothing returning hash",
    [account, hash, seconds],
  );
  return rows.length > 0;
}
