import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findPostgres, type PostgresServer, startPostgres } from "../../../test/servers/postgres.ts";
import { dumpTemplate } from "../store/database/embedded.ts";
import { migrate } from "../store/database/migrate.ts";
import type { Database, FakeClock } from "../store/database/sql.ts";
import { migrations } from "../store/generated/migrations.ts";
import { openStore } from "../store/store.ts";

/** The migrated, empty embedded store, made once for each state of the migrations and kept in node_modules/.cache. */
export async function templateStore(): Promise<Buffer> {
  const folder = join(process.cwd(), "node_modules/.cache/outpost");
  const path = join(
    folder,
    `store-${createHash("sha256").update(JSON.stringify(migrations)).digest("hex").slice(0, 16)}.tgz`,
  );
  try {
    return readFileSync(path);
  } catch {
    const bytes = await dumpTemplate(migrate);
    mkdirSync(folder, { recursive: true });
    const temporary = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`;
    writeFileSync(temporary, bytes);
    renameSync(temporary, path);
    return bytes;
  }
}

export interface TestStore {
  open(clock?: FakeClock): Promise<Database>;
  stop(): Promise<void>;
}

/** Whether this machine can run a PostgreSQL; CI can, and must. */
export async function hasPostgres(): Promise<boolean> {
  return process.env.CI
    ? true
    : findPostgres().then(
        () => true,
        () => false,
      );
}

/** One embedded store in memory, emptied at each `open`: starting another takes a second, emptying some milliseconds. */
export async function embeddedStores(): Promise<TestStore> {
  let clock: FakeClock | undefined;
  const db = await openStore({ template: await templateStore(), clock: () => clock?.() });
  const rows = await db.query(
    "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'migrations'",
  );
  const tables = rows.map((r) => r.table_name).join(", ");
  return {
    async open(given) {
      clock = given;
      await db.query(`truncate ${tables} restart identity`);
      return db;
    },
    stop: () => db.close(),
  };
}

/** A fresh database of one PostgreSQL server at each `open`, copied from a migrated one. */
export async function postgresStores(): Promise<TestStore> {
  const server: PostgresServer = await startPostgres();
  await server.template(async (url) => (await openStore({ url })).close());
  const opened: Database[] = [];
  return {
    async open(clock) {
      const { url } = await server.database();
      const db = await openStore({ url, clock, poolSize: 8 });
      opened.push(db);
      return db;
    },
    async stop() {
      await Promise.all(opened.map((db) => db.close()));
      await server.stop();
    },
  };
}

/** Runs a suite on both stores: what holds on one must hold on the other. */
export function onBothStores(name: string, suite: (stores: () => TestStore) => void): void {
  for (const [kind, start] of [
    ["embedded", embeddedStores],
    ["PostgreSQL", postgresStores],
  ] as const) {
    describe(`${name} on ${kind}`, () => {
      let stores: TestStore;
      beforeAll(async () => {
        stores = await start();
      }, 120_000);
      afterAll(() => stores?.stop(), 30_000);
      suite(() => stores);
    });
  }
}
