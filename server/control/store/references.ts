import type { Row, Sql } from "./sql.ts";
import type { Writer } from "./writer.ts";

/** Replaces what an object refers to. */
export async function setReferences(w: Writer, fromUid: string, references: readonly { pointer: string; toUid: string }[]): Promise<void> {
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

/** Something that lives in an organisation or project: an object, a task that has not ended. */
export async function inhabitantsOf(sql: Sql, account: string, org: string, project: string): Promise<Row[]> {
  return sql.query(
    `select collection, org, project, id from objects where account = $1 and org = $2 and ($3 = '' or project = $3)
     union all select 'tasks', org, project, id from tasks where account = $1 and org = $2 and ($3 = '' or project = $3) and state in ('Queued', 'Running')
     limit 5`,
    [account, org, project],
  );
}
