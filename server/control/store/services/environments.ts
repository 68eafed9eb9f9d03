import type { Row } from "../database/sql.ts";
import type { Writer } from "../database/writer.ts";

/** The clusters and agents that an environment links, by uid. */
export async function linksOf(w: Writer, environment: string): Promise<string[]> {
  const rows = await w.query(
    "select distinct to_uid from object_references where account = $1 and from_uid = $2 and pointer ~ '^/spec/(clusters|agents)/'",
    [w.account, environment],
  );
  return rows.map((row) => row.to_uid);
}

/** Some applications of an environment that deploy neither to one of some clusters nor to the own cluster of one of some agents. */
export async function applicationsOutside(w: Writer, environment: string, links: readonly string[]): Promise<Row[]> {
  return w.query(
    `select o.org, o.project, o.id from object_references r
     join objects o on o.account = r.account and o.uid = r.from_uid and o.collection = 'applications'
     left join object_references a on a.account = r.account and a.from_uid = r.from_uid and a.pointer = '/spec/agent'
     left join object_references c on c.account = r.account and c.from_uid = r.from_uid and c.pointer = '/spec/destination/cluster'
     where r.account = $1 and r.to_uid = $2 and r.pointer = '/spec/environment' and coalesce(c.to_uid, a.to_uid) <> all($3::text[])
     order by 1, 2, 3 limit 5`,
    [w.account, environment, links],
  );
}
