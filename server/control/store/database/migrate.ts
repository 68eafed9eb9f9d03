import { migrations } from "../generated/migrations.ts";
import type { Database } from "./sql.ts";

/** Any number that nothing else in this database uses: replicas that start together migrate one after the other. */
const LOCK = 7_203_114;

/** Brings the schema to the newest version, forwards only; returns the names of the applied migrations. */
export async function migrate(db: Database): Promise<string[]> {
  return db.transaction(async (tx) => {
    // Another replica's migration, or a column of all objects, may take longer than any statement of a request.
    await tx.query("set local statement_timeout = 0");
    await tx.query("select pg_advisory_xact_lock($1)", [LOCK]);
    await tx.query(
      "create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())",
    );
    const applied = new Set((await tx.query("select name from migrations")).map((row) => row.name));
    const known = new Set(migrations.map((m) => m.name));
    for (const name of applied) {
      // An older replica may run beside a newer one, as long as the newer only added; it just must not try to be clever.
      if (!known.has(name as string)) return [];
    }
    const fresh = migrations.filter((m) => !applied.has(m.name));
    for (const { name, sql } of fresh) {
      for (const statement of statements(sql)) await tx.query(statement);
      await tx.query("insert into migrations (name) values ($1)", [name]);
    }
    return fresh.map((m) => m.name);
  });
}

/** Splits a migration at semicolons that end a line; a body in $$ stands on lines without such an end, but for its last. */
export function statements(sql: string): string[] {
  return sql
    .replace(/^\s*--.*$/gm, "")
    .split(/;\s*$/m)
    .map((s) => s.trim())
    .filter(Boolean);
}
