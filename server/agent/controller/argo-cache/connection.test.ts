import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { type RedisServer, startRedis } from "../../../../test/servers/redis.ts";
import { makeServerCertificate } from "../../../../test/servers/tls.ts";
import { Secret } from "../../../base/secret.ts";
import { Connection } from "./connection.ts";
import type { CacheAccess } from "./options.ts";

const PASSWORD = new Secret("of-the-redis");
const folder = mkdtempSync(join(tmpdir(), "argo-cache-"));
let redis: RedisServer;
let ca: string;

beforeAll(async () => {
  const made = await makeServerCertificate(folder);
  ca = readFileSync(made.ca, "utf8");
  redis = await startRedis({ password: PASSWORD.reveal(), tls: made });
}, 60_000);
afterAll(async () => {
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 30_000);

/** Resolves when it is known whether the connection can be used, with why not. */
function connect(access: Partial<CacheAccess>, password: Secret | undefined, port = redis.port) {
  let connection!: Connection;
  const state = new Promise<string>((resolve) => {
    connection = new Connection({
      server: `127.0.0.1:${port}`,
      db: 0,
      access: { treeShardSize: 0, ttlSeconds: 60, ...access },
      password,
      ready: () => resolve("ready"),
      failed: resolve,
    });
  });
  return { connection, state };
}

const tls = (more: object) => ({ tls: { insecure: false, ...more } });
test.each<[string, () => ReturnType<typeof connect>, RegExp]>([
  ["with the password", () => connect({}, PASSWORD), /^ready$/],
  ["without it", () => connect({}, undefined), /NOAUTH/],
  ["with another one", () => connect({}, new Secret("wrong")), /WRONGPASS/],
  ["over TLS", () => connect(tls({ ca }), PASSWORD, redis.tlsPort), /^ready$/],
  ["over TLS with an unknown authority", () => connect(tls({}), PASSWORD, redis.tlsPort), /certificate|self.signed/i],
  ["over TLS unchecked", () => connect(tls({ insecure: true }), PASSWORD, redis.tlsPort), /^ready$/],
  ["where nothing listens", () => connect({}, PASSWORD, 1), /ECONNREFUSED/],
])("a connection %s", async (_name, open, want) => {
  const { connection, state } = open();
  try {
    expect(await state).toMatch(want);
    expect(connection.usable).toBe(want.source === "^ready$");
    expect(await connection.set("k", Buffer.from("v"), 60)).toBe(want.source === "^ready$");
  } finally {
    connection.close();
  }
});

test("a user who may not publish nor count listeners writes all the same", async () => {
  const admin = new Redis({ port: redis.port, password: PASSWORD.reveal() });
  await admin.call(
    "ACL",
    "SETUSER",
    "writer",
    "on",
    ">pw",
    "~*",
    "+set",
    "+del",
    "+ping",
    "+info",
    "+select",
    "+client",
  );
  const { connection, state } = connect({ username: "writer" }, new Secret("pw"));
  try {
    expect(await state).toBe("ready");
    await connection.publish("c");
    expect(await connection.listeners(["c"])).toEqual([0]);
    expect(await connection.set("mine", Buffer.from("v"), 60)).toBe(true);
    expect(await admin.get("mine")).toBe("v");
  } finally {
    connection.close();
    admin.disconnect();
  }
});
