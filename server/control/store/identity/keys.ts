import type { Scope } from "../../domain/scope.ts";
import type { Row, Sql } from "../database/sql.ts";

export type Role = "viewer" | "editor" | "admin";

/** An API key without its text, of which only the hash is kept. */
export interface ApiKeyRow extends Scope {
  id: string;
  role: Role;
  createdAt: Date;
  expiresAt: Date | undefined;
  /** The key that it descends from; undefined where it is the first of its lineage. */
  lineage: string | undefined;
}

/** Lineage of the account's first key, which the service makes: it makes keys for other people. */
export const OPERATOR = "operator";

const toKey = (r: Row): ApiKeyRow => ({
  account: r.account,
  org: r.org,
  project: r.project,
  id: r.id,
  role: r.role,
  createdAt: r.created_at,
  expiresAt: r.expires_at ?? undefined,
  lineage: r.lineage ?? undefined,
});

export async function tryFindKeyByHash(sql: Sql, account: string, hash: string): Promise<ApiKeyRow | undefined> {
  const rows = await sql.query(
    "select * from api_keys where account = $1 and hash = $2 and (expires_at is null or expires_at > outpost_now())",
    [account, hash],
  );
  return rows[0] && toKey(rows[0]);
}

/** Which of these credentials there are, of keys and of sessions, valid or not: a name is the account, a space and the hash. */
export async function namesOf(sql: Sql, names: readonly string[]): Promise<ReadonlySet<string>> {
  const parts = names.map((name) => name.split(" "));
  const rows = await sql.query(
    `with asked as (select * from unnest($1::text[], $2::text[]) as a(account, hash))
     select account, hash from asked join api_keys using (account, hash)
     union all select account, hash from asked join sessions using (account, hash)`,
    [parts.map(([account]) => account), parts.map(([, hash]) => hash)],
  );
  return new Set(rows.map((r) => `${r.account} ${r.hash}`));
}

/** A key to be made; `hash` is that of its text. */
export interface NewKey extends Scope {
  id: string;
  role: Role;
  hash: string;
  expiresInSeconds?: number | undefined;
  /** It ends at this time if that comes first. */
  endsBy?: Date | undefined;
  lineage?: string | undefined;
}

/** Adds a key; undefined when its id is taken. */
export async function insertKey(sql: Sql, key: NewKey): Promise<ApiKeyRow | undefined> {
  const rows = await sql.query(
    `insert into api_keys (account, org, project, id, role, hash, created_at, expires_at, lineage)
     values ($1, $2, $3, $4, $5, $6, outpost_now(), least(outpost_now() + make_interval(secs => $7), $9::timestamptz), $8)
     on conflict (account, org, project, id) do nothing returning *`,
    [
      key.account,
      key.org,
      key.project,
      key.id,
      key.role,
      key.hash,
      key.expiresInSeconds ?? null,
      key.lineage ?? null,
      key.endsBy ?? null,
    ],
  );
  return rows[0] && toKey(rows[0]);
}

export async function listKeys(sql: Sql, scope: Scope): Promise<ApiKeyRow[]> {
  return (
    await sql.query("select * from api_keys where account = $1 and org = $2 and project = $3 order by id", [
      scope.account,
      scope.org,
      scope.project,
    ])
  ).map(toKey);
}

export async function deleteKey(sql: Sql, scope: Scope, id: string): Promise<ApiKeyRow | undefined> {
  const rows = await sql.query(
    "delete from api_keys where account = $1 and org = $2 and project = $3 and id = $4 returning *",
    [scope.account, scope.org, scope.project, id],
  );
  return rows[0] && toKey(rows[0]);
}

/** Keys that can administer the whole account now, and how many of them never expire: only those can make keys for ever. */
export async function countAccountAdmins(sql: Sql, account: string): Promise<{ valid: number; lasting: number }> {
  const [row] = await sql.query(
    `select count(*)::int valid, count(*) filter (where expires_at is null)::int lasting from api_keys
     where account = $1 and org = '' and role = 'admin' and (expires_at is null or expires_at > outpost_now())`,
    [account],
  );
  return { valid: row!.valid, lasting: row!.lasting };
}

/** Keys bound to an organisation or project that goes. */
export async function deleteKeysIn(sql: Sql, account: string, org: string, project: string): Promise<void> {
  await sql.query("delete from api_keys where account = $1 and org = $2 and ($3 = '' or project = $3)", [
    account,
    org,
    project,
  ]);
}
