import { readEvents } from "../../server/cli/output/events.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { type Kubelet, startKubelet } from "../servers/kubelet.ts";
import { type Daemon, until } from "../servers/run.ts";
import { asInstalled, type LinkWorld, linkWorld, must, ok } from "./link-world.ts";

// Events and logs through service, agent, the real API server and a small kubelet of the test's own.
const kind = (group: string, name: string, plural: string, namespaced = true): Resource => ({
  group,
  version: "v1",
  kind: name,
  plural,
  namespaced,
});
const [POD, NODE, EVENT] = [kind("", "Pod", "pods"), kind("", "Node", "nodes", false), kind("", "Event", "events")];
const DEPLOYMENT = kind("apps", "Deployment", "deployments");
const REPLICA_SET = kind("apps", "ReplicaSet", "replicasets");

let w: LinkWorld;
let git: GitServer;
let controller: Daemon;
let kubelet: Kubelet;
const followed = new Map<string, (line: string) => void>();
let flood = false;
let long: string | undefined;

beforeAll(async () => {
  [w, git, kubelet] = await Promise.all([
    linkWorld(["agent"]),
    startGit(),
    startKubelet(({ pod, container, query, out }) => {
      const line = (text: string) => out.write(`2026-01-02T03:04:05.000000006Z ${text}\n`);
      const many = Number(query.get("tailLines") ?? 3);
      for (let i = 3 - Math.min(many, 3); i < 3; i++)
        line(`${pod} ${container} ${query.get("previous") === "true" ? "before" : i}`);
      if (long) line(long);
      if (flood) for (let i = 0; i < 4_000; i++) line("x".repeat(8_000));
      if (query.get("follow") !== "true") return out.end();
      followed.set(`${pod}/${container}`, line);
    }),
  ]);
  controller = await asInstalled(w);
  must(await w.kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } }));
  const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } } };
  must(await w.kube.create(NODE, { apiVersion: "v1", kind: "Node", metadata: { name: "node" } }));
  must(await w.kube.patchStatus(NODE, undefined, "node", status));
  const container = '{ name: web, image: "registry.example/web:1" }';
  const web = `apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec:\n  replicas: 2\n  selector: { matchLabels: { app: web } }\n  template: { metadata: { labels: { app: web } }, spec: { containers: [${container}] } }\n`;
  await git.createRepository("shop", { files: { "web.yaml": web } });
  const spec = {
    agent: "one",
    argoProject: "default",
    revisionHistoryLimit: 10,
    source: { repoUrl: git.cloneUrl("shop"), path: "." },
    destination: { namespace: "shop" },
    syncPolicy: { automated: {} },
  };
  ok(await w.service.api.PUT("/v1/applications/{id}", { params: { path: { id: "shop" } }, body: { spec } }));
  await until("the Deployment", async () => (await w.kube.get(DEPLOYMENT, "shop", "web")).kind === "done", 60_000);
  const above = must(await w.kube.get(DEPLOYMENT, "shop", "web")) as KubeObject;
  const owner = (of: KubeObject) => [
    { apiVersion: of.apiVersion, kind: of.kind, name: of.metadata.name, uid: of.metadata.uid!, controller: true },
  ];
  const { template, selector } = above.spec;
  const set = must(
    await w.kube.create(REPLICA_SET, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: "web-1",
        namespace: "shop",
        ownerReferences: owner({ ...above, apiVersion: "apps/v1", kind: "Deployment" }),
      },
      spec: { replicas: 2, selector, template },
    }),
  ) as KubeObject;
  for (const name of ["web-1-a", "web-1-b"])
    await pod(name, owner({ ...set, apiVersion: "apps/v1", kind: "ReplicaSet" }));
  await pod("stranger", []);
}, 300_000);
afterAll(async () => {
  await controller?.stop();
  await kubelet?.stop();
  await git?.stop();
  await w?.stop();
}, 60_000);

async function pod(name: string, ownerReferences: object[]): Promise<void> {
  const containers = ["web", "side"].map((one) => ({ name: one, image: "registry.example/web:1" }));
  const initContainers = [{ name: "prepare", image: "registry.example/web:1" }];
  const metadata = { name, namespace: "shop", labels: { app: "web" }, ownerReferences };
  must(
    await w.kube.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      spec: { nodeName: "node", containers, initContainers },
    } as KubeObject),
  );
}

interface Told {
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: of every event another
  data: any;
}

/** Reads the stream until `enough`, or its end. */
async function read(
  query: Record<string, string | number | boolean>,
  enough: (told: Told[]) => boolean = () => false,
  signal?: AbortSignal,
): Promise<Told[]> {
  const answer = await w.service.api.GET("/v1/applications/{id}/logs", {
    params: { path: { id: "shop" }, query: query as never },
    parseAs: "stream",
    ...(signal ? { signal } : {}),
    headers: { accept: "text/event-stream" },
  });
  if (!answer.response.ok) throw Object.assign(new Error(JSON.stringify(answer.error)), { problem: answer.error });
  const told: Told[] = [];
  for await (const { event, data } of readEvents(answer.data as unknown as AsyncIterable<Uint8Array>)) {
    told.push({ event, data: JSON.parse(data) });
    // Who breaks off a body closes its connection.
    if (enough(told)) break;
  }
  return told;
}
const refusal = (query: Record<string, string | number | boolean>) =>
  read(query).then(
    () => undefined,
    (error) => error.problem,
  );
const lines = (told: Told[]) => told.filter(({ event }) => event === "line").map(({ data }) => data);
const nothingLeft = () => until("no log is being read, and none is kept", async () => kubelet.readers() === 0, 60_000);

test("the logs of all its Pods are read, of each container that works, and of no Pod that is not its own", async () => {
  const told = await read({ tail: 2 });
  expect(told[0]).toMatchObject({ event: "open", data: { streams: expect.any(Array) } });
  expect(told.at(-1)).toEqual({ event: "end", data: {} });
  const texts = lines(told)
    .map(({ text }) => text)
    .sort();
  const want = ["web-1-a", "web-1-b"].flatMap((name) =>
    ["side", "web"].flatMap((one) => [1, 2].map((i) => `${name} ${one} ${i}`)),
  );
  expect(texts).toEqual(want.sort());
  expect(lines(told)[0]).toMatchObject({ namespace: "shop", at: "2026-01-02T03:04:05.000000006Z" });
  await nothingLeft();
}, 120_000);

test("one object is chosen by its kind and name, a container by its name, and what it wrote before its restart", async () => {
  const of = async (query: Record<string, string | number | boolean>) =>
    [
      ...new Set(
        lines(await read({ tail: 1, ...query })).map(
          ({ pod, container, text }) => `${pod}/${container} ${text.split(" ").at(-1)}`,
        ),
      ),
    ].sort();
  const deployment = { group: "apps", kind: "Deployment", namespace: "shop", name: "web" };
  expect(await of({ ...deployment, container: "side" })).toEqual(["web-1-a/side 2", "web-1-b/side 2"]);
  expect(await of({ kind: "Pod", namespace: "shop", name: "web-1-a", container: "prepare" })).toEqual([
    "web-1-a/prepare 2",
  ]);
  expect(await of({ kind: "Pod", namespace: "shop", name: "web-1-a", container: "web", previous: true })).toEqual([
    "web-1-a/web before",
  ]);
}, 120_000);

const refusals: [string, Record<string, string | number | boolean>, RegExp][] = [
  [
    "a Pod of nobody",
    { kind: "Pod", namespace: "shop", name: "stranger" },
    /Pod stranger is not part of application shop/,
  ],
  [
    "a Pod that is not there",
    { kind: "Pod", namespace: "kube-system", name: "etcd" },
    /Pod etcd is not part of application shop/,
  ],
  [
    "a container that it does not have",
    { container: "nothing" },
    /has no container nothing; there are (side, web|web, side)/,
  ],
  ["half a name", { kind: "Pod" }, /`kind` and `name`/],
];
test.each(refusals)(
  "what is refused is refused before anything is streamed: %s",
  async (_, query, want) => {
    expect(await refusal(query)).toMatchObject({ detail: expect.stringMatching(want) });
  },
  120_000,
);

test("a log is followed as it is written, and a reader that leaves ends it down to the node", async () => {
  const query = { kind: "Pod", namespace: "shop", name: "web-1-b", container: "web", follow: true, tail: 1 };
  const told = await read(query, (so) => {
    const texts = lines(so).map(({ text }) => text);
    // Each line is written after the one before has arrived.
    if (texts.length > 0 && texts.length < 4) followed.get("web-1-b/web")?.(`more ${texts.length}`);
    return texts.length >= 4;
  });
  expect(lines(told).map(({ text }) => text)).toEqual(["web-1-b web 2", "more 1", "more 2", "more 3"]);
  await nothingLeft();
}, 120_000);

test("a log that is followed ends at its time, and says so", async () => {
  const told = await read({
    kind: "Pod",
    namespace: "shop",
    name: "web-1-a",
    container: "web",
    follow: true,
    timeoutSeconds: 2,
  });
  expect(told.slice(-2).map(({ event, data }) => [event, data])).toEqual([
    ["note", { text: "the time is over" }],
    ["end", {}],
  ]);
  await nothingLeft();
}, 120_000);

test("a long line arrives whole, in pieces that each are one and have its time, whatever it is made of", async () => {
  // As JSON has it, most of these are six characters; and one looks like the beginning of another line.
  long = `${"\u0001".repeat(40_000)}${'\u001b[31m😀\\"'.repeat(20_000)}${"2026-01-02T03:04:05.7Z ".repeat(2_000)}`;
  try {
    const told = await read({ kind: "Pod", namespace: "shop", name: "web-1-a", container: "web", tail: 1 });
    expect([...new Set(told.map(({ event }) => event))]).toEqual(["open", "line", "end"]);
    const [, ...all] = lines(told);
    expect(all.length).toBeGreaterThan(1);
    expect(all.map(({ text }) => text).join("")).toBe(long);
    expect(new Set(all.map(({ at }) => at))).toEqual(new Set(["2026-01-02T03:04:05.000000006Z"]));
  } finally {
    long = undefined;
  }
  await nothingLeft();
}, 120_000);

test("a flood ends at its bound, with a word on it", async () => {
  flood = true;
  try {
    const told = await read({ kind: "Pod", namespace: "shop", name: "web-1-a", container: "web" });
    const bytes = lines(told).reduce((sum, { text }) => sum + text.length, 0);
    expect([bytes > 10_000_000, bytes < 15_000_000]).toEqual([true, true]);
    expect(told.at(-2)).toMatchObject({ event: "note", data: { text: expect.stringContaining("15 MB") } });
  } finally {
    flood = false;
  }
  await nothingLeft();
}, 240_000);

test("many read at once, within a bound, and questions are answered all the same", async () => {
  const query = { kind: "Pod", namespace: "shop", name: "web-1-a", container: "web", follow: true, timeoutSeconds: 60 };
  const leave = new AbortController();
  const readers = Array.from({ length: 8 }, () => read(query, undefined, leave.signal));
  await until("eight read", async () => kubelet.readers() === 8, 60_000);
  expect(await refusal(query)).toMatchObject({ code: "agent_refused", detail: expect.stringContaining("8 others") });
  ok(await w.service.api.GET("/v1/applications/{id}/tree", { params: { path: { id: "shop" } } }));
  leave.abort();
  await Promise.allSettled(readers);
  await nothingLeft();
}, 240_000);

test("events of its objects and of itself are told, the newest first, and of nothing else", async () => {
  const event = async (
    name: string,
    of: KubeObject | undefined,
    reason: string,
    at: string,
    namespace = "shop",
    more = {},
  ) => {
    const { apiVersion, kind, metadata } = of!;
    const involvedObject = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace, uid: metadata.uid };
    const object = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject,
      reason,
      message: `${reason} it`,
      type: "Warning",
    };
    must(
      await w.kube.create(EVENT, {
        ...object,
        firstTimestamp: at,
        lastTimestamp: at,
        count: 3,
        source: { component: "test" },
        ...more,
      } as KubeObject),
    );
  };
  const got = async (name: string) => ({
    ...(must(await w.kube.get(POD, "shop", name)) as KubeObject),
    apiVersion: "v1",
    kind: "Pod",
  });
  await event("one", await got("web-1-a"), "Pulled", "2026-01-02T00:00:01Z");
  await event("two", await got("web-1-b"), "BackOff", "2026-01-02T00:00:03Z");
  await event("three", await got("stranger"), "Hidden", "2026-01-02T00:00:04Z");
  const app = (await w.cr("shop"))!;
  await event(
    "four",
    { ...app, apiVersion: "argoproj.io/v1alpha1", kind: "Application" },
    "Synced",
    "2026-01-02T00:00:02Z",
    w.namespace,
  );
  const events = async (query = {}) =>
    ok(await w.service.api.GET("/v1/applications/{id}/events", { params: { path: { id: "shop" }, query } }));
  const { items } = await events();
  expect(
    items.filter(({ source }) => source === "test").map(({ kind, name, reason }) => `${kind} ${name} ${reason}`),
  ).toEqual(["Pod web-1-b BackOff", "Application shop Synced", "Pod web-1-a Pulled"]);
  expect(items.find(({ reason }) => reason === "BackOff")).toMatchObject({
    type: "Warning",
    count: 3,
    message: "BackOff it",
    at: "2026-01-02T00:00:03Z",
  });
  expect(JSON.stringify(items)).not.toContain("Hidden");
  expect((await events({ kind: "Pod", name: "web-1-a" })).items.map(({ reason }) => reason)).toEqual(["Pulled"]);
  // The controller tells of the application as well, and later than these.
  const newest = await events({ limit: 1 });
  expect([newest.items.length, newest.truncated]).toEqual([1, true]);
  expect(Date.parse(newest.items[0]!.at!)).toBeGreaterThanOrEqual(Date.parse("2026-01-02T00:00:03Z"));
}, 120_000);
