import { connect } from "node:net";
import { Redis } from "ioredis";
import { RedisCache } from "../../server/agent/cache/redis.ts";
import { Secret } from "../../server/base/secret.ts";
import { type RedisServer, startRedis } from "../servers/redis.ts";
import { until } from "../servers/run.ts";

// An intruder in Redis reads no rendering and supplies none: it would be applied with the controller's rights.
const CANARY = "canary-of-a-rendering";
const PREFIX = "outpost:render:";
const secret = new Secret("0123456789abcdef0123456789abcdef");
const rendering = (name: string) => [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text: CANARY } },
];
let redis: RedisServer;
let attacker: Redis;
let writer: RedisCache;
beforeAll(async () => {
  redis = await startRedis({ password: "of-redis" });
  attacker = new Redis(redis.url);
  writer = new RedisCache(redis.url, secret);
  // Until it is connected nothing is kept there.
  for (const name of ["mine", "theirs"])
    while ((await attacker.exists(PREFIX + name)) === 0) await writer.set(name, rendering(name));
}, 60_000);
afterAll(async () => {
  attacker?.disconnect();
  await writer?.close();
  await redis?.stop();
});

/** What a replica is given that has nothing in its own memory. */
async function read(name: string): Promise<unknown> {
  const cache = new RedisCache(redis.url, secret);
  try {
    // Before it is connected it finds nothing.
    await until("the replica finds what is good", async () => (await cache.get("theirs")) !== undefined);
    return await cache.get(name);
  } finally {
    await cache.close();
  }
}

test("nothing of a rendering can be read there", async () => {
  expect(await read("mine")).toEqual(rendering("mine"));
  for (const key of await attacker.keys("*")) {
    const text = (await attacker.getBuffer(key))!.toString("latin1");
    expect([key, text.includes(CANARY), text.includes("ConfigMap")]).toEqual([key, false, false]);
  }
});

test("nor is anything believed that somebody else has put there: no text, no other's entry, none that was changed or is from elsewhere", async () => {
  const mine = (await attacker.getBuffer(`${PREFIX}mine`))!;
  const theirs = (await attacker.getBuffer(`${PREFIX}theirs`))!;
  const flipped = (at: number) => Buffer.from(mine.map((byte, i) => (i === at ? byte ^ 1 : byte)));
  const evil = JSON.stringify(rendering("evil"));
  const poison: [string, Buffer][] = [
    ["plain text", Buffer.from(evil)],
    ["nothing", Buffer.alloc(0)],
    ["zeros", Buffer.alloc(200)],
    ["another's entry", theirs],
    ["its own with another nonce", flipped(0)],
    ["its own with another tag", flipped(12)],
    ["its own with another content", flipped(40)],
    ["its own, cut", mine.subarray(0, mine.length - 1)],
    ["its own, longer", Buffer.concat([mine, Buffer.from("x")])],
    ["its own nonce and tag, other content", Buffer.concat([mine.subarray(0, 28), Buffer.from(evil)])],
    ["a tag of four bytes", Buffer.concat([mine.subarray(0, 12), mine.subarray(12, 16)])],
  ];
  for (const [what, bytes] of poison) {
    await attacker.set(`${PREFIX}mine`, bytes);
    expect([what, await read("mine")]).toEqual([what, undefined]);
  }
  // Sealed well, but with the secret of another installation.
  const foreign = new RedisCache(redis.url, new Secret("another secret of some length"));
  const before = (await attacker.getBuffer(`${PREFIX}mine`))!;
  while ((await attacker.getBuffer(`${PREFIX}mine`))!.equals(before)) await foreign.set("mine", rendering("evil"));
  await foreign.close();
  expect(await read("mine")).toBeUndefined();
  await attacker.set(`${PREFIX}mine`, mine);
  expect(await read("mine")).toEqual(rendering("mine"));
});

test("who has no password of Redis gets nothing from it", async () => {
  const said = await new Promise<string>((resolve, reject) => {
    const socket = connect(redis.port, "127.0.0.1", () => socket.write(`GET ${PREFIX}mine\r\nKEYS *\r\nQUIT\r\n`));
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    socket.on("error", reject);
  });
  expect(said.match(/NOAUTH/g)?.length).toBeGreaterThanOrEqual(2);
});
