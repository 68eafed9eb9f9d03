import { type EmbeddedOptions, openEmbedded } from "./database/embedded.ts";
import { migrate } from "./database/migrate.ts";
import { openPostgres, type PostgresOptions } from "./database/postgres.ts";
import type { Database } from "./database/sql.ts";

export type StoreOptions = EmbeddedOptions | PostgresOptions;

/** Opens the store and brings its schema to the newest version: the door of this room. */
export async function openStore(options: StoreOptions): Promise<Database> {
  const db = "url" in options ? await openPostgres(options) : await openEmbedded(options);
  try {
    await migrate(db);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Makes sure that an account exists. */
export async function ensureAccount(db: Database, account: string): Promise<boolean> {
  return (
    (await db.query("insert into accounts (account) values ($1) on conflict do nothing returning account", [account]))
      .length > 0
  );
}
