import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { embeddedStores, onBothStores, templateStore } from "../testing/database.ts";
import { eventually } from "../testing/service.ts";
import { FolderInUse } from "./database/lock.ts";
import { migrate, statements } from "./database/migrate.ts";
import type { Database, Row } from "./database/sql.ts";
import { writing } from "./database/writer.ts";
import { eventsAfter, logBounds, trimEvents } from "./events.ts";
import { migrationsModule } from "./generate.ts";
import { claimKey, storeAnswer } from "./idempotency.ts";
import { useNonce } from "./identity/nonces.ts";
import { listObjects } from "./lists/list.ts";
import { insertObject, removeObject, tryFindObject, updateObject } from "./objects/objects.ts";
import { ensureAccount, openStore } from "./store.ts";

const scope = { account: "a", org: "", project: "" };

onBothStores("the store", (stores) => {
  let db: Database;
  beforeEach(async () => {
    db = await stores().open();
    await ensureAccount(db, "a");
    await ensureAccount(db, "b");
  });
  const add = (id: string, account = "a") =>
    writing(db, account, (w) => insertObject(w, { ...scope, account, collection: "agents", id, spec: {}, status: {} }));

  test("the schema is the golden one", async () => {
    const rows = await db.query(
      `select table_name || '.' || column_name || ' ' || data_type || case when is_nullable = 'NO' then ' not null' else '' end as line from information_schema.columns where table_schema = 'public'
       union all select regexp_replace(indexdef, 'CREATE (UNIQUE )?INDEX', 'index\\1') from pg_indexes where schemaname = 'public'`,
    );
    // Sorted here: the two stores may collate differently.
    const dump = `${rows
      .map((r) => r.line)
      .sort()
      .join("\n")}\n`;
    const path = new URL("./schema.golden.txt", import.meta.url);
    if (process.env.UPDATE_GOLDEN) await writeFile(path, dump);
    expect(dump).toBe(await readFile(path, "utf8"));
  });

  test("account is the first column of every table's key and every index", async () => {
    const rows = await db.query(
      "select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename <> 'migrations'",
    );
    expect(rows.filter((r) => !/\(account\b/.test(r.indexdef)).map((r) => r.indexname)).toEqual([]);
    expect(rows.length).toBeGreaterThan(20);
  });

  test("migrating again changes nothing, also twice at once", async () => {
    expect(await Promise.all([migrate(db), migrate(db)])).toEqual([[], []]);
  });

  test("a migration may take longer than a request's statement", async () => {
    const db = await stores().open();
    const limits: string[] = [];
    await migrate({
      ...db,
      transaction: (work) =>
        db.transaction((tx) =>
          work({
            ...tx,
            query: async <R extends Row>(text: string, params?: unknown[]) => {
              const [row] = text.includes("advisory") ? await tx.query("show statement_timeout") : [];
              if (row) limits.push(row.statement_timeout);
              return tx.query<R>(text, params);
            },
          }),
        ),
    });
    expect(limits).toEqual(["0"]);
  });

  test("events are ordered and complete for a watcher while many write, in each account by itself", async () => {
    const seen: number[] = [];
    let writing_ = true;
    const watcher = (async () => {
      let at = 0;
      for (;;) {
        const last = !writing_;
        const batch = await eventsAfter(db, "a", at, 7);
        for (const event of batch) seen.push(event.version);
        at = batch.at(-1)?.version ?? at;
        if (last && batch.length === 0) return;
      }
    })();
    await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        for (let i = 0; i < 15; i++) {
          await add(`w${n}-${i}`);
          if (i % 5 === 0) await add(`w${n}-${i}`, "b");
        }
      }),
    );
    writing_ = false;
    await watcher;
    expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => i + 1));
    expect((await logBounds(db, "b")).version).toBe(24);
  });

  test("object and event appear together or not at all", async () => {
    await expect(
      writing(db, "a", async (w) => {
        await insertObject(w, { ...scope, collection: "agents", id: "x", spec: {}, status: {} });
        throw new Error("cut");
      }),
    ).rejects.toThrow("cut");
    expect(await tryFindObject(db, "agents", scope, "x")).toBeUndefined();
    expect(await eventsAfter(db, "a", 0, 10)).toEqual([]);
    expect((await logBounds(db, "a")).version).toBe(0);
  });

  test("an object's life: one event for each step, the last one without an object", async () => {
    const made = await add("x");
    const changed = await writing(db, "a", (w) => updateObject(w, { ...made, generation: 2, spec: { tags: ["t"] } }));
    expect(changed).toMatchObject({ generation: 2, version: 2, createdAt: made.createdAt });
    await writing(db, "a", (w) => removeObject(w, changed));
    expect(
      (await eventsAfter(db, "a", 0, 10)).map((e) => [
        e.version,
        (e.object as { generation?: number } | undefined)?.generation,
      ]),
    ).toEqual([
      [1, 1],
      [2, 2],
      [3, undefined],
    ]);
  });

  test("no account sees another's rows", async () => {
    await add("x", "b");
    expect(await listObjects(db, "agents", scope, { inherited: true, limit: 10 })).toEqual([]);
    expect(await tryFindObject(db, "agents", scope, "x")).toBeUndefined();
  });

  test("trimming keeps the newest and what is young, and tells where the log begins", async () => {
    for (let i = 0; i < 10; i++) await add(`t${i}`);
    await trimEvents(db, 3_600, 4);
    expect((await logBounds(db, "a")).trimmed).toBe(0);
    await db.query("update events set at = at - interval '2 hours'");
    await trimEvents(db, 3_600, 4);
    expect(await logBounds(db, "a")).toEqual({ version: 10, trimmed: 6 });
    expect((await eventsAfter(db, "a", 6, 10)).map((e) => e.version)).toEqual([7, 8, 9, 10]);
  });

  test("a committed change wakes its listeners, a rolled back one does not", async () => {
    let woken = 0;
    const stop = db.listen("a", "events", () => woken++);
    await writing(db, "a", async (w) => {
      w.notify("a", "events");
      throw new Error("cut");
    }).catch(() => {});
    await add("n1");
    await eventually("the listener is woken", async () => woken === 1);
    stop();
    await add("n2");
    expect(woken).toBe(1);
  });

  test("an idempotency key is claimed once; who comes second waits and reads the answer; a rollback frees it", async () => {
    await expect(
      db.transaction(async (tx) => {
        await claimKey(tx, "a", "k", "h");
        throw new Error("cut");
      }),
    ).rejects.toThrow("cut");
    const claim = () =>
      db.transaction(async (tx) => {
        const seen = await claimKey(tx, "a", "k", "h");
        if (!seen) await storeAnswer(tx, "a", "k", 201, Buffer.from("answer"));
        return seen;
      });
    const [first, second] = await Promise.all([claim(), claim()]);
    const seen = first ?? second;
    expect([first, second].filter(Boolean)).toHaveLength(1);
    expect(seen).toMatchObject({ status: 201, body_hash: "h" });
    expect(Buffer.from(seen!.answer).toString()).toBe("answer");
  });

  test("a nonce counts once", async () => {
    expect(await Promise.all([1, 2, 3].map(() => useNonce(db, "a", "n", 60)))).toEqual(
      expect.arrayContaining([true, false, false]),
    );
  });
});

test("generated/migrations.ts is what `npx tsx server/control/store/generate.ts` makes of the .sql files", async () => {
  expect(await readFile(new URL("./generated/migrations.ts", import.meta.url), "utf8")).toBe(migrationsModule());
});

test("statements: comments go, bodies in $$ stay whole", () => {
  expect(statements("-- c\ncreate table a (x int);\n\ncreate function f() as\n  $$ select 1 $$;\n")).toEqual([
    "create table a (x int)",
    "create function f() as\n  $$ select 1 $$",
  ]);
});

describe("the embedded store's folder", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "outpost-store-"));
  });
  afterEach(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));

  test("is refused to a second process with a clear message, and kept over a restart", async () => {
    const template = await templateStore();
    const first = await openStore({ dir, template });
    await ensureAccount(first, "a");
    const refused = await openStore({ dir }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(FolderInUse);
    expect((refused as Error).message).toContain(`in use by process ${process.pid}`);
    await first.close();
    const again = await openStore({ dir });
    expect(await ensureAccount(again, "a")).toBe(false);
    await again.close();
  }, 30_000);

  const holders: [string, { lock: () => Promise<string>; want: "taken over" | "refused" }][] = [
    [
      "a process that ended",
      { lock: async () => JSON.stringify({ pid: await deadPid(), born: "1", host: hostname() }), want: "taken over" },
    ],
    [
      "an earlier process with our number",
      { lock: async () => JSON.stringify({ pid: process.pid, born: "1", host: hostname() }), want: "taken over" },
    ],
    [
      "another host, touched just now",
      { lock: async () => JSON.stringify({ pid: 1, born: "1", host: "elsewhere" }), want: "refused" },
    ],
    ["nobody: it was cut off while written", { lock: async () => "{", want: "taken over" }],
  ];
  test.each(holders)(
    "a lock of %s",
    async (_, { lock, want }) => {
      const template = await templateStore();
      await writeFile(join(dir, "lock"), await lock());
      const opened = await openStore({ dir, template }).catch((error: unknown) => error);
      if (want === "refused") expect(opened).toBeInstanceOf(FolderInUse);
      else await (opened as Database).close();
    },
    30_000,
  );

  async function deadPid(): Promise<number> {
    const child = spawn("/bin/true");
    await new Promise((resolve) => child.on("exit", resolve));
    return child.pid!;
  }
});

test("a store in memory is gone with its handle", async () => {
  const stores = await embeddedStores();
  await stores.open();
  await stores.stop();
});

test("the embedded store keeps few buffers: each start clears all of them", async () => {
  const stores = await embeddedStores();
  const db = await stores.open();
  expect(await db.query("show shared_buffers")).toEqual([{ shared_buffers: "32MB" }]);
  await stores.stop();
});
