import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { apiVersions, shortVersion } from "./clusters.ts";
import { channelOf, clusterKey, encode, encodeList, managedKey, storedKey, treeKey } from "./format.ts";
import { readCacheAccess, readCacheOptions } from "./options.ts";
import { shardsOf } from "./tree/tree.ts";

test("keys are those that Argo CD's cache has, and the channel has no ending", () => {
  expect([
    storedKey(treeKey("web"), "gzip"),
    storedKey(treeKey("teams_web", 2), "none"),
    storedKey(managedKey("web"), "gzip"),
    storedKey(clusterKey("https://kubernetes.default.svc"), "gzip"),
    channelOf("web"),
  ]).toEqual([
    "app|resources-tree|web|1.8.3.gz",
    "app|resources-tree|teams_web|2|1.8.3",
    "app|managed-resources|web|1.8.3.gz",
    "cluster|info|https://kubernetes.default.svc|1.8.3.gz",
    "app|managed-resources|web|1.8.3",
  ]);
});

async function* items(n: number) {
  for (let i = 0; i < n; i++) yield { i, text: "x".repeat(100) };
}
test.each([0, 1, 1_000])(
  "a list of %p items is the same in pieces as in one, with and without compression",
  async (n) => {
    const whole = Array.from({ length: n }, (_, i) => ({ i, text: "x".repeat(100) }));
    expect(JSON.parse(gunzipSync((await encodeList(items(n), "gzip"))!).toString())).toEqual(whole);
    expect((await encodeList(items(n), "none"))!.toString()).toBe((await encode(whole, "none")).toString());
  },
);

test("a list whose item cannot be made fails, and leaves nothing running", async () => {
  const broken = async function* () {
    yield 1;
    throw new Error("no");
  };
  await expect(encodeList(broken(), "gzip")).rejects.toThrow("no");
});

const node = (name: string) => ({ kind: "Pod", name });
test.each<[number, number, number[], number | undefined]>([
  [5, 0, [5], undefined],
  [5, 2, [2, 2, 1], 3],
  [4, 2, [2, 2], 2],
  [0, 2, [0], undefined],
])("a tree of %p items in pieces of %p has %j", (n, size, want, count) => {
  const shards = shardsOf({ nodes: Array.from({ length: n }, (_, i) => node(`${i}`)) }, size);
  expect(shards.map(({ nodes = [] }) => nodes.length)).toEqual(want);
  expect(shards[0]!.shardsCount).toBe(count);
});
test("a piece may end the nodes and begin the orphans and the hosts", () => {
  const host = { name: "n", systemInfo: {} };
  const shards = shardsOf({ nodes: [node("a")], orphanedNodes: [node("b"), node("c")], hosts: [host] }, 2);
  expect(shards).toEqual([
    { nodes: [node("a")], orphanedNodes: [node("b")], shardsCount: 2 },
    { orphanedNodes: [node("c")], hosts: [host] },
  ]);
});

const params = (data: Record<string, string>) => [
  { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cmd-params-cm" }, data },
];
test.each<[Record<string, string>, NodeJS.ProcessEnv, object]>([
  [{}, {}, { db: 0, compression: "gzip", problems: [] }],
  [{ "redis.server": "argocd-redis:6379" }, {}, { server: "argocd-redis:6379", db: 0, compression: "gzip" }],
  [{ "redis.server": "argocd-redis" }, {}, { server: "argocd-redis:6379" }],
  [
    { "redis.server": "[2001:db8::1]:6380", "redis.db": "2", "redis.compression": "none" },
    {},
    { server: "[2001:db8::1]:6380", db: 2, compression: "none" },
  ],
  [
    { "redis.server": "a:1" },
    { OUTPOST_ARGOCD_REDIS_SERVER: "b:2", OUTPOST_ARGOCD_REDIS_DB: "4" },
    { server: "b:2", db: 4 },
  ],
  [{ "redis.server": "a:1" }, { OUTPOST_ARGOCD_REDIS_SERVER: "off" }, { problems: [] }],
  [
    { "redis.server": "http://a:1" },
    {},
    { problems: ["redis.server must be a host and a port, for example argocd-redis:6379"] },
  ],
  [{ "redis.server": "a:1", "redis.db": "x" }, {}, { problems: ["redis.db must be a number, for example 0"] }],
  [{ "redis.server": "a:1", "redis.compression": "lz4" }, {}, { problems: ["redis.compression must be gzip or none"] }],
])("options of %j", (data, env, want) => {
  const found = readCacheOptions(params(data), env);
  expect(found).toMatchObject(want);
  expect(found.server).toBe((want as { server?: string }).server);
});

test("how the Redis is reached comes from the environment, and a wrong value ends the program at its start", () => {
  const read = (file: string) => (file === "/ca" ? "PEM" : readFileSync(file, "utf8"));
  expect(readCacheAccess({}, read)).toEqual({ treeShardSize: 0, ttlSeconds: 3_600 });
  expect(readCacheAccess({ OUTPOST_ARGOCD_REDIS_TLS: "true", OUTPOST_ARGOCD_REDIS_CA_FILE: "/ca" }, read).tls).toEqual({
    ca: "PEM",
    insecure: false,
  });
  expect(() => readCacheAccess({ OUTPOST_ARGOCD_REDIS_TLS: "yes" }, read)).toThrow("must be true, false or insecure");
  expect(() => readCacheAccess({ ARGOCD_APPLICATION_TREE_SHARD_SIZE: "-1" }, read)).toThrow("from 0 to 1000");
});

test.each([
  ["v1.33.13", "v1.33.13"],
  ["v1.32.1-gke.100", "v1.32.1"],
  ["1.31", "v1.31"],
  [undefined, ""],
])("version %p is shown as %p", (given, want) => expect(shortVersion(given)).toBe(want));

test("kinds are told with their versions, but none that is only asked", () => {
  const kind = (group: string, name: string, verbs: string[]) => ({
    group,
    version: "v1",
    kind: name,
    plural: "",
    namespaced: true,
    verbs,
  });
  const watched = ["get", "list", "watch"];
  expect(
    apiVersions([
      kind("apps", "Deployment", watched),
      kind("", "Pod", watched),
      kind("authorization.k8s.io", "SubjectAccessReview", ["create"]),
    ]),
  ).toEqual(["apps/v1", "apps/v1/Deployment", "v1", "v1/Pod"]);
});
