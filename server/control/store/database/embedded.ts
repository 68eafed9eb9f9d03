import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { PGlite } from "@electric-sql/pglite";
import { lockFolder } from "./lock.ts";
import type { Database, FakeClock, Row } from "./sql.ts";
import { upkeep } from "./upkeep.ts";
import { Wakers } from "./wake.ts";

/** PGlite clears its buffers at each start: 128 MB, its default, take 90 ms and stay resident. The file system's cache holds the rest. */
const SETTINGS = ["-c", "shared_buffers=32MB"];

/**
 * How much a function of PGlite runs before V8 compiles it anew with all optimisations; the default is a tenth of that. A start ran into that with
 * some hundred functions, for 0.2 s of processor time. Under load the same functions are compiled as soon: within two seconds.
 */
const TIERING = "--wasm-tiering-budget=20000000";

export interface EmbeddedOptions {
  /** Folder of the store; none keeps everything in memory. */
  dir?: string | undefined;
  /** File with a migrated, empty store (gzipped tar): a first start from it takes under a second instead of several. */
  template?: string | Uint8Array | undefined;
  clock?: FakeClock | undefined;
}

/**
 * PostgreSQL inside this process (PGlite). It has one connection, so transactions run one after the other. PGlite lets a second
 * process open the same folder and ruin it; our own lock refuses that.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Database> {
  const unlock = options.dir ? await lockFolder(options.dir) : async () => {};
  let db: PGlite;
  try {
    setFlagsFromString(TIERING);
    const { PGlite } = await import("@electric-sql/pglite");
    db = await start(PGlite, options);
  } catch (error) {
    await unlock();
    throw error;
  }
  const wakers = new Wakers();
  // PGlite gives bigint as number when it is safe, else as BigInt; versions and fences are always safe.
  const rows = async <R extends Row>(on: Pick<PGlite, "query">, text: string, params: unknown[] = []) =>
    (await on.query<R>(text, params)).rows;
  return {
    kind: "embedded",
    query: (text, params) => rows(db, text, params),
    async transaction(work) {
      const topics: [string, string][] = [];
      const result = await db.transaction(async (inner) => {
        const at = options.clock?.();
        if (at) await inner.query("select set_config('outpost.now', $1, true)", [at.toISOString()]);
        return work({
          query: (text, params) => rows(inner as unknown as PGlite, text, params),
          notify: (account, topic) => void topics.push([account, topic]),
        });
      });
      for (const [account, topic] of topics) wakers.wake(account, topic);
      return result as never;
    },
    notify: (account, topic) => wakers.wake(account, topic),
    listen: (account, topic, wake) => wakers.add(account, topic, wake),
    listenAll: (account, prefix, wake) => wakers.addAll(account, prefix, wake),
    upkeep: () => upkeep({ query: (text, params) => rows(db, text, params) }),
    async close() {
      await db.close();
      await unlock();
    },
  };
}

async function start(PGliteClass: typeof PGlite, { dir, template }: EmbeddedOptions): Promise<PGlite> {
  const folder = dir ? join(dir, "pg") : undefined;
  // A folder without PG_VERSION is new, or its first start was cut off before it was whole.
  const fresh = folder ? !(await readFile(join(folder, "PG_VERSION")).catch(() => undefined)) : true;
  const seed = fresh && template ? await seedOf(template) : undefined;
  const loadDataDir = seed ? new Blob([new Uint8Array(seed)]) : undefined;
  return PGliteClass.create({
    startParams: [...PGliteClass.defaultStartParams, ...SETTINGS],
    ...(folder ? { dataDir: folder } : {}),
    ...(loadDataDir ? { loadDataDir } : {}),
  });
}

/** The content of a template file: a store with all migrations and nothing else. */
export async function dumpTemplate(migrate: (db: Database) => Promise<unknown>): Promise<Buffer> {
  const { PGlite } = await import("@electric-sql/pglite");
  const db = await PGlite.create();
  const query = async <R extends Row>(text: string, params: unknown[] = []) => (await db.query<R>(text, params)).rows;
  await migrate({
    kind: "embedded",
    query,
    transaction: (work) =>
      db.transaction((inner) =>
        work({ query: async (text, params) => (await inner.query(text, params)).rows as never, notify: () => {} }),
      ) as never,
    notify: () => {},
    listen: () => () => {},
    listenAll: () => () => {},
    close: async () => {},
  });
  const blob = await db.dumpDataDir("gzip");
  await db.close();
  return Buffer.from(await blob.arrayBuffer());
}

async function seedOf(template: NonNullable<EmbeddedOptions["template"]>) {
  return typeof template === "string" ? readFile(template).catch(() => undefined) : template;
}
