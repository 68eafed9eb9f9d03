import type { Sql } from "./sql.ts";

/** Rows that are new or changed since PostgreSQL looked at a table last: more than it had then, and at least so many. */
const GROWN_ROWS = 500;

/**
 * Has PostgreSQL look at a table that has doubled, one a call, so that it plans with what is there. Its own clockwork comes up to a minute later, and the
 * embedded store has none: until then it reads whole tables for single rows. An agent's first 20,000 objects are taken in within 18 s.
 */
export async function analyseGrown(sql: Sql): Promise<"analysed" | undefined> {
  const [grown] = await sql.query(
    `select format('%I.%I', t.schemaname, t.relname) name from pg_stat_user_tables t join pg_class c on c.oid = t.relid
     where t.schemaname = current_schema() and pg_has_role(c.relowner, 'usage') and t.n_mod_since_analyze > greatest(${GROWN_ROWS}, c.reltuples) order by t.n_mod_since_analyze desc limit 1`,
  );
  if (!grown) return undefined;
  await sql.query(`analyze ${grown.name}`);
  return "analysed";
}

// PostgreSQL's own clockwork for this is processes of their own, which the embedded store does not have: without it a store with 500
// applications grew by some MB with each commit, and its log by 16 MB with every 5,000 writes.
const DEAD_ROWS = 1_000;
const DEAD_SHARE = 0.2;
/** What a start after a kill would have to read again. */
const LOG_BYTES = 48 * 1024 * 1024;

/**
 * Gives the space of dead rows back, of one table a call, as nothing else is answered meanwhile: 40 to 80 ms for 10,000 rows. Values too long for
 * their row stand in tables of their own, which count for themselves: an application's status is mostly there.
 */
export async function upkeep(sql: Sql): Promise<"vacuumed" | "written" | "analysed" | undefined> {
  const [full] = await sql.query(
    `select format('%I.%I', schemaname, relname) name from pg_stat_all_tables
     where n_dead_tup > ${DEAD_ROWS} + ${DEAD_SHARE} * n_live_tup order by n_dead_tup desc limit 1`,
  );
  if (full) {
    await sql.query(`vacuum ${full.name}`);
    return "vacuumed";
  }
  const [log] = await sql.query(
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)::float8 bytes from pg_control_checkpoint()",
  );
  if (!(log!.bytes > LOG_BYTES)) return analyseGrown(sql);
  await sql.query("checkpoint");
  return "written";
}
