import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { RESOURCES } from "../../server/kube/path.ts";
import { type CacheWorld, cacheWorld, PARAMS, state, VERSION } from "./argo-cache-world.ts";
import { configMap, settings, type World } from "./engine-world.ts";

let c: CacheWorld;
let w: World;
let { shown } = {} as CacheWorld;
beforeAll(async () => {
  c = await cacheWorld();
  ({ w, shown } = c);
}, 120_000);
afterAll(() => c?.stop(), 30_000);

test("while the Redis is away applications are worked on as ever, and what it lost comes back with it", async () => {
  await w.git.createRepository("away", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  await w.app("away", { repo: "away" });
  await shown("app|managed-resources|away");
  await c.redis.kill();
  await w.git.commit("away", { "a.yaml": configMap("a", { a: "2" }) }, "Go on");
  const before = Date.now();
  await w.refresh("away");
  await w.settled(
    async () => (await w.object(RESOURCES.configMap, "away", "a"))?.data?.a === "2",
    "synced without the Redis",
  );
  expect(Date.now() - before).toBeLessThan(10_000);
  const text = await w.controller.metrics.registry.metrics();
  expect(text).toMatch(/^outpost_argocd_cache_up 0$/m);

  await c.redis.start();
  await shown("app|managed-resources|away", ([item]) => state(item.liveState).data.a === "2");
  await shown("app|resources-tree|away");
  expect(await w.controller.metrics.registry.metrics()).toMatch(/^outpost_argocd_cache_up 1$/m);
});

test("a Redis that takes commands and does not answer holds up a refresh for a second, and work on applications not at all", async () => {
  // It answers until the first entry is sent.
  let silent = false;
  const open = new Set<Socket>();
  const door = createServer((socket) => {
    const other = connect(c.redis.port, "127.0.0.1");
    for (const one of [socket, other]) {
      open.add(one);
      one.on("error", () => {}).on("close", () => open.delete(one));
    }
    socket.on("data", (chunk) => {
      silent ||= chunk.includes("app|");
      if (!silent) other.write(chunk);
    });
    other.on("data", (chunk) => socket.write(chunk));
  });
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve));
  try {
    await settings(w, PARAMS, { "redis.server": `127.0.0.1:${(door.address() as AddressInfo).port}` });
    await w.settled(async () => silent, "silent");
    await w.git.commit("away", { "a.yaml": configMap("a", { a: "3" }) }, "Go on");
    const before = Date.now();
    await w.refresh("away");
    await w.settled(
      async () => (await w.object(RESOURCES.configMap, "away", "a"))?.data?.a === "3",
      "synced beside a silent Redis",
    );
    expect(Date.now() - before).toBeLessThan(10_000);
  } finally {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => door.close(resolve));
  }
  await settings(w, PARAMS, { "redis.server": `127.0.0.1:${c.redis.port}` });
  await shown("app|managed-resources|away", ([item]) => state(item.liveState).data.a === "3");
});

test("another database without compression is written as the settings say, and nothing where none is named", async () => {
  await settings(w, PARAMS, {
    "redis.server": `127.0.0.1:${c.redis.port}`,
    "redis.db": "3",
    "redis.compression": "none",
  });
  const other = c.reader.duplicate({ db: 3 });
  try {
    let text: string | null = null;
    await w.settled(async () => {
      text = await other.get(`app|managed-resources|away|${VERSION}`);
      return text !== null;
    }, "written without compression");
    expect(JSON.parse(text!)[0]).toMatchObject({ kind: "ConfigMap", name: "a" });

    await settings(w, PARAMS, {});
    await w.settled(
      async () => /^outpost_argocd_cache_up -1$/m.test(await w.controller.metrics.registry.metrics()),
      "turned off",
    );
    await other.flushall();
    await w.refresh("away");
    expect(await other.dbsize()).toBe(0);
  } finally {
    other.disconnect();
  }
});
