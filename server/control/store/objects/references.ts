import type { Row, Sql } from "../database/sql.ts";
import type { Writer } from "../database/writer.ts";

/** Replaces what an object refers to. */
export async function setReferences(
  w: Writer,
  fromUid: string,
  references: readonly { pointer: string; toUid: string }[],
): Promise<void> {
  await w.query("delete from object_references where account = $1 and from_uid = $2", [w.account, fromUid]);
  if (references.length === 0) return;
  await w.query(
    "insert into object_references (account, from_uid, pointer, to_uid) select $1, $2, r.pointer, r.to_uid from unnest($3::text[], $4::text[]) r(pointer, to_uid)",
    [w.account, fromUid, references.map((r) => r.pointer), references.map((r) => r.toUid)],
  );
}

/** Some of the objects that refer to one, for a message that names them. */
export async function usersOf(sql: Sql, account: string, toUid: string): Promise<Row[]> {
  return sql.query(
    `select distinct o.collection, o.org, o.project, o.id from object_references r join objects o on o.account = r.account and o.uid = r.from_uid
     where r.account = $1 and r.to_uid = $2 order by 1, 2, 3, 4 limit 5`,
    [account, toUid],
  );
}

/** The references of an object that are with another agent than the object. */
export async function partedFrom(sql: Sql, account: string, fromUid: string): Promise<Row[]> {
  return sql.query(
    `select r.pointer, target.collection, target.id, own.id as own_agent, other.id as other_agent
     from object_references r
     join objects target on target.account = r.account and target.uid = r.to_uid
     join object_references a on a.account = r.account and a.from_uid = r.from_uid and a.pointer = '/spec/agent'
     join object_references b on b.account = r.account and b.from_uid = r.to_uid and b.pointer = '/spec/agent'
     join objects own on own.account = r.account and own.uid = a.to_uid
     join objects other on other.account = r.account and other.uid = b.to_uid
     where r.account = $1 and a.to_uid <> b.to_uid
       and r.from_uid = $2
     order by r.pointer`,
    [account, fromUid],
  );
}

/** The objects that refer to one. */
export async function referrersOf(sql: Sql, account: string, toUid: string): Promise<string[]> {
  const rows = await sql.query(
    "select distinct from_uid from object_references where account = $1 and to_uid = $2 order by 1",
    [account, toUid],
  );
  return rows.map((row) => row.from_uid);
}

/** The app projects that are with the same agent as an object. */
export async function projectsBeside(sql: Sql, account: string, uid: string): Promise<Row[]> {
  return sql.query(
    `select o.collection, o.org, o.project, o.id, o.spec from object_references mine
     join object_references theirs on theirs.account = mine.account and theirs.to_uid = mine.to_uid and theirs.pointer = '/spec/agent'
     join objects o on o.account = theirs.account and o.uid = theirs.from_uid and o.collection = 'appprojects'
     where mine.account = $1 and mine.from_uid = $2 and mine.pointer = '/spec/agent' order by 2, 3, 4`,
    [account, uid],
  );
}

/** Something that lives in an organisation or project: an object that the service manages, a task or run that has not ended. */
export async function inhabitantsOf(sql: Sql, account: string, org: string, project: string): Promise<Row[]> {
  return sql.query(
    `select collection, org, project, id from objects where account = $1 and org = $2 and ($3 = '' or project = $3) and origin = 'managed'
     union all select 'tasks', org, project, id from tasks where account = $1 and org = $2 and ($3 = '' or project = $3) and state in ('Queued', 'Running')
     union all select 'runs', org, project, id from runs where account = $1 and org = $2 and ($3 = '' or project = $3) and ended_at is null
     limit 5`,
    [account, org, project],
  );
}
