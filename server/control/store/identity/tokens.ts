import type { Row, Sql } from "../database/sql.ts";

/** An enrolment token without its private half, which the service never keeps. */
export interface TokenRow {
  account: string;
  id: string;
  objectUid: string;
  publicKey: string;
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | undefined;
  uses: number;
  maxUses: number;
  expired: boolean;
}

const SELECT = "select *, expires_at <= outpost_now() as expired from tokens";
const toToken = (r: Row): TokenRow => ({
  account: r.account,
  id: r.id,
  objectUid: r.object_uid,
  publicKey: r.public_key,
  createdAt: r.created_at,
  expiresAt: r.expires_at,
  revokedAt: r.revoked_at ?? undefined,
  uses: r.uses,
  maxUses: r.max_uses,
  expired: r.expired,
});

export async function insertToken(
  sql: Sql,
  t: Pick<TokenRow, "account" | "id" | "objectUid" | "publicKey" | "maxUses"> & {
    expiresInSeconds: number;
    /** It ends at this time if that comes first. */
    endsBy?: Date | undefined;
  },
): Promise<TokenRow> {
  const rows = await sql.query(
    `insert into tokens (account, id, object_uid, public_key, created_at, expires_at, max_uses)
     values ($1, $2, $3, $4, outpost_now(), least(outpost_now() + make_interval(secs => $5), $7::timestamptz), $6) returning *, false as expired`,
    [t.account, t.id, t.objectUid, t.publicKey, t.expiresInSeconds, t.maxUses, t.endsBy ?? null],
  );
  return toToken(rows[0]!);
}

export async function tryFindToken(sql: Sql, account: string, id: string): Promise<TokenRow | undefined> {
  const rows = await sql.query(`${SELECT} where account = $1 and id = $2`, [account, id]);
  return rows[0] && toToken(rows[0]);
}

/** Locks the row: two workers that show one token at the same moment are served one after the other. */
export async function tryLockToken(sql: Sql, account: string, id: string): Promise<TokenRow | undefined> {
  const rows = await sql.query(`${SELECT} where account = $1 and id = $2 for update`, [account, id]);
  return rows[0] && toToken(rows[0]);
}

export async function listTokens(sql: Sql, account: string, objectUid: string): Promise<TokenRow[]> {
  return (
    await sql.query(`${SELECT} where account = $1 and object_uid = $2 order by created_at, id`, [account, objectUid])
  ).map(toToken);
}

export async function countUse(sql: Sql, account: string, id: string): Promise<void> {
  await sql.query("update tokens set uses = uses + 1 where account = $1 and id = $2", [account, id]);
}

/** False when there is no such token for this object. Revoking twice is fine. */
export async function revokeToken(sql: Sql, account: string, objectUid: string, id: string): Promise<boolean> {
  const rows = await sql.query(
    "update tokens set revoked_at = coalesce(revoked_at, outpost_now()) where account = $1 and object_uid = $2 and id = $3 returning id",
    [account, objectUid, id],
  );
  return rows.length > 0;
}

/** Ends a token after so many seconds, or when it would have ended anyway. Workers that enrolled with it stay. */
export async function expireToken(sql: Sql, account: string, id: string, inSeconds: number): Promise<void> {
  await sql.query(
    "update tokens set expires_at = least(expires_at, outpost_now() + make_interval(secs => $3)) where account = $1 and id = $2",
    [account, id, inSeconds],
  );
}
