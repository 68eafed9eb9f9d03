import { Redis } from "ioredis";
import pg from "pg";
import { type PostgresServer, startPostgres, unprivileged } from "./postgres.ts";
import { startRedis } from "./redis.ts";
import { daemon, ready } from "./run.ts";

test("Redis starts, asks for its password, and is empty after a kill", async () => {
  const server = await startRedis({ password: "p/@ss" });
  const redis = new Redis(server.url, { lazyConnect: true, retryStrategy: () => 20 });
  redis.on("error", () => {});
  try {
    await redis.set("k", "v");
    expect(await redis.get("k")).toBe("v");
    await server.kill();
    await server.start();
    expect(await redis.get("k")).toBeNull();
  } finally {
    redis.disconnect();
    await server.stop();
  }
});

test("a missing program is said with what to do", async () => {
  await expect(startRedis({ program: "no-such-redis" })).rejects.toThrow(/apt-get install redis-server/);
});

test("a daemon that ends at once is reported with what it said", async () => {
  const server = daemon("sh", ["-c", "echo cannot bind >&2; exit 3"]);
  await expect(ready("it", server, async () => false)).rejects.toThrow(/ended with code 3; it said:\ncannot bind/);
});

test("a daemon that never answers is ended at the deadline", async () => {
  const server = daemon("sleep", ["60"]);
  await expect(ready("it", server, async () => false, 50)).rejects.toThrow(/not ready within 50 ms/);
  expect(server.ended()).toBeDefined();
});

describe("PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.stop());

  const query = async (url: string, text: string) => {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };

  test("every database is a copy of the template and apart from the others", async () => {
    await server.template((url) => query(url, "create table t (n int)").then(() => {}));
    const [a, b] = [await server.database(), await server.database()];
    await query(a.url, "insert into t values (1)");
    expect(await query(a.url, "select n from t")).toEqual([{ n: 1 }]);
    expect(await query(b.url, "select n from t")).toEqual([]);
    await a.drop();
    await expect(query(a.url, "select 1")).rejects.toThrow(/does not exist/);
  });

  test("a wrong password is refused", async () => {
    await expect(query(server.url.replace(/:[^:@]+@/, ":wrong@"), "select 1")).rejects.toThrow(/password/);
  });

  test("a killed server recovers what was committed", async () => {
    const { url } = await server.database();
    await query(url, "set synchronous_commit = on; create table kept (n int); insert into kept values (7)");
    await server.kill();
    await server.start();
    expect(await query(url, "select n from kept")).toEqual([{ n: 7 }]);
  });
});

test.each([
  [1000, "", undefined],
  [0, "root:x:0:0::/root:\npostgres:x:105:111::/:", { uid: 105, gid: 111 }],
  [0, "nobody:x:65534:65534::/:", { uid: 65534, gid: 65534 }],
])("uid %d runs PostgreSQL as %#", (uid, passwd, want) => expect(unprivileged(uid, passwd)).toEqual(want));
