import { startPostgres } from "../../../../test/servers/postgres.ts";
import { embeddedStores, onBothStores, type TestStore } from "../../testing/database.ts";
import { eventually } from "../../testing/service.ts";
import { listRows } from "../lists/list.ts";
import { readOrder } from "../lists/order.ts";
import { insertObject, insertObjects, tryFindObject, updateObject } from "../objects/objects.ts";
import { ensureAccount, openStore } from "../store.ts";
import { openPostgres } from "./postgres.ts";
import type { Database } from "./sql.ts";
import { writing } from "./writer.ts";

let stores: TestStore;
let db: Database;
beforeAll(async () => {
  stores = await embeddedStores();
  db = await stores.open();
});
afterAll(() => stores.stop());

/** All that there is to do; what was done. */
async function tidy(): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let did = await db.upkeep!(); did; did = await db.upkeep!()) all.push(did);
  return all;
}

test("an embedded store whose objects are written again and again does not grow", async () => {
  await ensureAccount(db, "a");
  const scope = { account: "a", org: "", project: "" };
  // Of the size of an application's status with some hundred resources, and such that it does not compress to nothing.
  const status = () => ({ resources: Array.from({ length: 400 }, (_, i) => ({ name: `${i}-${Math.random()}` })) });
  await writing(db, "a", (w) => insertObject(w, { ...scope, collection: "agents", id: "one", spec: {}, status: {} }));
  const write = async () => {
    for (let n = 0; n < 15; n++) {
      await writing(db, "a", async (w) => {
        for (let m = 0; m < 20; m++)
          await updateObject(w, { ...(await tryFindObject(w, "agents", scope, "one"))!, status: status() });
      });
    }
    await db.query("delete from events");
    // What has happened is counted within a second, or now.
    await db.query("select pg_stat_force_next_flush()");
  };
  const size = async () =>
    Number((await db.query("select sum(pg_total_relation_size(oid)) size from pg_class where relkind = 'r'"))[0]!.size);
  await write();
  expect(await tidy()).toContain("vacuumed");
  const before = await size();
  for (let round = 0; round < 2; round++) {
    await write();
    await tidy();
  }
  expect((await size()) - before).toBeLessThan(before * 0.1);
});

test("the log that a start after a kill would read is bounded", async () => {
  const left = async () =>
    Number(
      (
        await db.query("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) b from pg_control_checkpoint()")
      )[0]!.b,
    );
  await db.query("create table weight (t text)");
  await db.query("alter table weight alter column t set storage external");
  await db.query("insert into weight select repeat('x', 1048576) from generate_series(1, 52)");
  expect(await left()).toBeGreaterThan(48 * 1024 * 1024);
  expect(await tidy()).toContain("written");
  expect(await left()).toBeLessThan(1024 * 1024);
});

onBothStores("a table that has grown", (given) => {
  test("is looked at, so that statements are planned with what is there", async () => {
    const grown = await given().open();
    await ensureAccount(grown, "a");
    const scope = { account: "a", org: "", project: "" };
    const many = Array.from({ length: 600 }, (_, n) => ({
      ...{ ...scope, collection: "agents" as const, id: `agent-${n}`, spec: {}, status: {} },
    }));
    await writing(grown, "a", (w) => insertObjects(w, many));
    // PostgreSQL counts what has happened within a second.
    await eventually("the table to be looked at", async () => {
      await grown.upkeep?.();
      const [{ rows }] = (await grown.query("select reltuples rows from pg_class where relname = 'objects'")) as [
        { rows: number },
      ];
      return rows >= 600;
    });
    const reading = { collection: "agents" as const, scope, columns: "org, project, id" };
    const newest = { inherited: false, limit: 10, order: readOrder("-updatedAt") };
    const texts: string[] = [];
    await listRows({ query: async (text) => (texts.push(text), []) }, reading, newest);
    const values = ["'a'", "'agents'", "''", "''", "10"];
    const bound = texts[0]!.replace(/\$(\d)/g, (_, at) => values[Number(at) - 1]!);
    const plan = await grown.transaction(async (tx) => {
      // So few rows are sorted as quickly.
      for (const way of ["seqscan", "bitmapscan", "sort"]) await tx.query(`set local enable_${way} = off`);
      return tx.query(`explain ${bound}`);
    });
    expect(plan.map((row) => row["QUERY PLAN"]).join("\n")).toContain("objects_newest");
  }, 60_000);
});

describe("a PostgreSQL that others use too", () => {
  let server: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    server = await startPostgres();
  }, 120_000);
  afterAll(() => server?.stop(), 30_000);

  test("has only the service's own tables looked at", async () => {
    const { url } = await server.database();
    const other = await openPostgres({ url });
    for (const statement of [
      "create role outpost login password 'outpost'",
      "grant all on schema public to outpost",
      "create schema theirs",
      "create table theirs.big as select n from generate_series(1, 2000) n",
      "create table public.big as select n from generate_series(1, 2000) n",
    ])
      await other.query(statement);
    await other.close();
    const own = new URL(url);
    [own.username, own.password] = ["outpost", "outpost"];
    const store = await openStore({ url: own.href });
    try {
      await eventually("what has happened to be counted", async () => {
        const rows = await store.query(
          "select 1 from pg_stat_user_tables where relname = 'big' and n_mod_since_analyze > 500",
        );
        return rows.length === 2;
      });
      expect(await store.upkeep!()).toBeUndefined();
    } finally {
      await store.close();
    }
  }, 60_000);
});
