import type { Facets } from "../domain/lists/predicate.ts";
import type { Row, Sql } from "./database/sql.ts";

export interface Event {
  version: number;
  collection: string;
  org: string;
  project: string;
  id: string;
  /** None for a delete. */
  object: Record<string, unknown> | undefined;
  /** The facets before the change; false if there was no object, undefined if it is not known. */
  was?: Facets | false | undefined;
}

/** The newest version and the last one that is no longer in the log. */
export async function logBounds(sql: Sql, account: string): Promise<{ version: number; trimmed: number }> {
  const [row] = await sql.query("select version, trimmed from accounts where account = $1", [account]);
  return { version: Number(row?.version ?? 0), trimmed: Number(row?.trimmed ?? 0) };
}

/** The next events after a version, in order, of all collections: the reader filters, and so always knows how far it has come. */
export async function eventsAfter(sql: Sql, account: string, version: number, limit: number): Promise<Event[]> {
  const rows = await sql.query(
    "select version, collection, org, project, id, object, was from events where account = $1 and version > $2 order by version limit $3",
    [account, version, limit],
  );
  return rows.map((r: Row) => ({
    version: Number(r.version),
    collection: r.collection,
    org: r.org,
    project: r.project,
    id: r.id,
    object: r.object ?? undefined,
    was: r.was ?? undefined,
  }));
}

/** Forgets events that are both older than `maxAgeSeconds` and not among the newest `keep`. A watcher that resumes from an older one must list again. */
export async function trimEvents(sql: Sql, maxAgeSeconds: number, keep: number): Promise<void> {
  await sql.query(
    `with gone as (
       delete from events e using accounts a where a.account = e.account and e.version <= a.version - $2 and e.at < outpost_now() - make_interval(secs => $1)
       returning e.account, e.version)
     update accounts a set trimmed = greatest(a.trimmed, g.version) from (select account, max(version) version from gone group by account) g where g.account = a.account`,
    [maxAgeSeconds, keep],
  );
}
