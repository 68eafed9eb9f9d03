import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type CacheWorld, cacheWorld, type Json, state, VERSION } from "./argo-cache-world.ts";
import { configMap, project, synced, value, type World } from "./engine-world.ts";

const POD: Resource = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const NODE: Resource = { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false };
const DEPLOYMENTS: Resource = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
};
const REPLICA_SET: Resource = {
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
};

let c: CacheWorld;
let w: World;
let { entry, shown } = {} as CacheWorld;
beforeAll(async () => {
  c = await cacheWorld();
  ({ w, entry, shown } = c);
}, 120_000);
afterAll(() => c?.stop(), 30_000);

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`;
const SERVICE = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;
const SECRET = `apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {user: admin, password: hunter2}
`;

test("an application's objects, what came of them and where it runs are there for argocd-server to read", async () => {
  const files = { "web.yaml": DEPLOYMENT, "service.yaml": SERVICE, "settings.yaml": configMap("settings", { a: "1" }) };
  await w.git.createRepository("shown", { files });
  await w.app("shown", { repo: "shown" });
  await w.until("shown", (app) => app.status?.sync?.status === "Synced");
  const deployment = (await w.object(DEPLOYMENTS, "shown", "web"))!;

  // No controller-manager runs here.
  const owner = (apiVersion: string, kind: string, name: string, uid: string) => [
    { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true },
  ];
  const template = {
    metadata: { labels: { app: "web" } },
    spec: { containers: [{ name: "web", image: "registry.example/web:1" }] },
  };
  const set = value(
    await w.client.create(REPLICA_SET, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: "web-1",
        namespace: "shown",
        annotations: { "deployment.kubernetes.io/revision": "3" },
        labels: { app: "web" },
        ownerReferences: owner("apps/v1", "Deployment", "web", deployment.metadata.uid!),
      },
      spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
    }),
  );
  value(
    await w.client.create(NODE, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "worker-1", labels: { "topology.kubernetes.io/zone": "a" } },
    }),
  );
  value(
    await w.client.patchStatus(NODE, undefined, "worker-1", {
      capacity: { cpu: "4", memory: "8Gi", pods: "110" },
      nodeInfo: {
        architecture: "amd64",
        bootID: "b",
        containerRuntimeVersion: "containerd://2.0.0",
        kernelVersion: "6.1.0",
        kubeProxyVersion: "v1.33.0",
        kubeletVersion: "v1.33.0",
        machineID: "m",
        operatingSystem: "linux",
        osImage: "Debian",
        systemUUID: "s",
      },
    }),
  );
  const resources = { requests: { cpu: "250m", memory: "64Mi" } };
  const pod = value(
    await w.client.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "web-1-x",
        namespace: "shown",
        labels: { app: "web" },
        ownerReferences: owner("apps/v1", "ReplicaSet", "web-1", set.metadata.uid!),
      },
      spec: { nodeName: "worker-1", containers: [{ name: "web", image: "registry.example/web:1", resources }] },
    }),
  );
  value(
    await w.client.patchStatus(POD, "shown", "web-1-x", {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [
        {
          name: "web",
          image: "registry.example/web:1",
          imageID: "x",
          ready: true,
          restartCount: 2,
          state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
        },
      ],
    }),
  );
  await w.refresh("shown");
  // The API server adds defaults, which starts another look at once: this reads the newest.
  const tree = await shown("app|resources-tree|shown", ({ nodes }) =>
    nodes?.some((node: Json) => node.kind === "Pod" && node.health?.status === "Healthy"),
  );
  expect(Object.keys(tree).sort()).toEqual(["hosts", "nodes"]);
  expect(tree.nodes.map(({ kind, name }: Json) => `${kind} ${name}`)).toEqual([
    "ConfigMap settings",
    "Pod web-1-x",
    "Service web",
    "Deployment web",
    "ReplicaSet web-1",
  ]);
  const node = (name: string) => tree.nodes.find((one: Json) => one.name === name);
  expect(node("web-1-x")).toEqual({
    version: "v1",
    kind: "Pod",
    namespace: "shown",
    name: "web-1-x",
    uid: pod.metadata.uid,
    parentRefs: [
      { group: "apps", version: "v1", kind: "ReplicaSet", namespace: "shown", name: "web-1", uid: set.metadata.uid },
    ],
    info: [
      { name: "Status Reason", value: "Running" },
      { name: "Node", value: "worker-1" },
      { name: "Containers", value: "1/1" },
      { name: "Restart Count", value: "2" },
      { name: "cpu", value: "250" },
      { name: "memory", value: "67108864000" },
    ],
    networkingInfo: { labels: { app: "web" } },
    resourceVersion: expect.stringMatching(/^\d+$/),
    images: ["registry.example/web:1"],
    health: { status: "Healthy" },
    createdAt: pod.metadata.creationTimestamp,
  });
  expect(node("web-1")).toMatchObject({
    parentRefs: [
      {
        group: "apps",
        version: "v1",
        kind: "Deployment",
        namespace: "shown",
        name: "web",
        uid: deployment.metadata.uid,
      },
    ],
    info: [{ name: "Revision", value: "Rev:3" }],
  });
  expect(tree.nodes.find(({ kind }: Json) => kind === "Service")).toMatchObject({
    networkingInfo: { targetLabels: { app: "web" } },
    health: { status: "Healthy" },
  });
  expect(node("settings").parentRefs).toBeUndefined();
  expect(tree.hosts).toEqual([
    {
      name: "worker-1",
      resourcesInfo: [
        { resourceName: "cpu", requestedByApp: 250, capacity: 4_000 },
        { resourceName: "memory", requestedByApp: 67_108_864_000, capacity: 8_589_934_592_000 },
      ],
      systemInfo: expect.objectContaining({ kubeletVersion: "v1.33.0", osImage: "Debian" }),
    },
  ]);

  const items = await shown("app|managed-resources|shown");
  expect(items.map((item: Json) => `${item.group ?? ""}/${item.kind}/${item.namespace}/${item.name}`)).toEqual([
    "/ConfigMap/shown/settings",
    "/Service/shown/web",
    "apps/Deployment/shown/web",
  ]);
  const [first] = items;
  expect(Object.keys(first).sort()).toEqual([
    "kind",
    "liveState",
    "name",
    "namespace",
    "normalizedLiveState",
    "predictedLiveState",
    "resourceVersion",
    "targetState",
  ]);
  const [target, live] = [state(first.targetState), state(first.liveState)];
  expect(target).toMatchObject({
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "shown" },
    data: { a: "1" },
  });
  expect(target.metadata.annotations["argocd.argoproj.io/tracking-id"]).toBe("shown:/ConfigMap:shown/settings");
  expect(live).toMatchObject({
    metadata: { uid: expect.any(String), resourceVersion: first.resourceVersion },
    data: { a: "1" },
  });
  expect(first.predictedLiveState).toBe(first.normalizedLiveState);

  const ttl = await c.reader.ttl(`app|resources-tree|shown|${VERSION}.gz`);
  expect(ttl).toBeGreaterThan(3_000);
  expect(ttl).toBeLessThanOrEqual(3_600);
});

test("the cluster is told with its version, its kinds and its applications", async () => {
  const info = await shown(
    "cluster|info|https://kubernetes.default.svc",
    ({ applicationsCount }) => applicationsCount > 0,
  );
  expect(info).toEqual({
    connectionState: { status: "Successful", message: "", attemptedAt: expect.stringMatching(/^\d{4}-.*:\d\dZ$/) },
    serverVersion: expect.stringMatching(/^v1\.\d+\.\d+$/),
    cacheInfo: {
      resourcesCount: expect.any(Number),
      apisCount: expect.any(Number),
      lastCacheSyncTime: expect.stringMatching(/Z$/),
    },
    applicationsCount: expect.any(Number),
    apiVersions: expect.arrayContaining(["v1", "v1/Pod", "apps/v1/Deployment", "argoproj.io/v1alpha1"]),
  });
  const ttl = await c.reader.ttl(`cluster|info|https://kubernetes.default.svc|${VERSION}.gz`);
  expect(ttl).toBeGreaterThan(500);
  expect(ttl).toBeLessThanOrEqual(600);
});

test("of a Secret only equality is seen, and what a sync would change is shown before it", async () => {
  await w.git.createRepository("masked", {
    files: { "secret.yaml": SECRET, "settings.yaml": configMap("settings", { a: "1", b: "2" }) },
  });
  await w.app("masked", { repo: "masked", syncPolicy: { syncOptions: ["CreateNamespace=true"] } });
  await w.until("masked", (app) => app.status?.sync?.status === "OutOfSync");
  const missing = await shown("app|managed-resources|masked");
  expect(
    missing.map(({ liveState, normalizedLiveState, modified }: Json) => [liveState, normalizedLiveState, modified]),
  ).toEqual([
    ["null", "null", true],
    ["null", "null", true],
  ]);
  expect(state(missing[1].predictedLiveState).data).toEqual({ user: "++++++++", password: "++++++++" });
  expect((await shown("app|resources-tree|masked")).nodes.map(({ name, health }: Json) => [name, health])).toEqual([
    ["settings", { status: "Missing" }],
    ["login", { status: "Missing" }],
  ]);

  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "masked", {
      operation: { sync: { revision: "main" } },
    }),
  );
  await w.until("masked", synced);
  await w.git.commit(
    "masked",
    { "secret.yaml": SECRET.replace("hunter2", "changed"), "settings.yaml": configMap("settings", { a: "1", b: "3" }) },
    "Change both",
  );
  await w.refresh("masked");
  // No wait here: the client that asked for the refresh reads at once.
  const [config, secret] = await entry("app|managed-resources|masked");
  expect([config.modified, secret.modified]).toEqual([true, true]);
  expect(state(config.normalizedLiveState).data).toEqual({ a: "1", b: "2" });
  expect(state(config.predictedLiveState).data).toEqual({ a: "1", b: "3" });
  const seen = [secret.targetState, secret.liveState, secret.normalizedLiveState, secret.predictedLiveState].map(
    (one) => state(one).data,
  );
  const [first, second] = ["++++++++", "++++++++++++"];
  expect(seen).toEqual([
    { user: first, password: first },
    { user: first, password: second },
    { user: first, password: second },
    { user: first, password: first },
  ]);
  const all = JSON.stringify([await entry("app|managed-resources|masked"), await entry("app|resources-tree|masked")]);
  for (const value of ["hunter2", "changed", "admin"])
    expect(all.includes(value) || all.includes(Buffer.from(value).toString("base64"))).toBe(false);
});

test("readers are told on the channel, and an application that goes takes its entries with it", async () => {
  await w.git.createRepository("brief", { files: { "web.yaml": DEPLOYMENT } });
  await w.app("brief", { repo: "brief" });
  const { nodes } = await shown("app|resources-tree|brief", (tree) => tree.nodes?.[0]?.uid !== undefined);
  const heard: string[] = [];
  const listener = c.reader.duplicate();
  await listener.subscribe(`app|managed-resources|brief|${VERSION}`);
  listener.on("message", (_channel, message) => heard.push(message));

  // The controller has no watch for this one. It is found because a client listens.
  const uid = nodes[0].uid;
  const template = {
    metadata: { labels: { app: "web" } },
    spec: { containers: [{ name: "web", image: "registry.example/web:1" }] },
  };
  value(
    await w.client.create(REPLICA_SET, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: "web-1",
        namespace: "brief",
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid }],
      },
      spec: { replicas: 0, selector: { matchLabels: { app: "web" } }, template },
    }),
  );
  await shown("app|resources-tree|brief", (tree) => tree.nodes.length === 2);
  await w.settled(async () => heard.length > 0, "heard");
  expect(new Set(heard)).toEqual(new Set([""]));

  value(await w.client.delete(RESOURCES.application, w.namespace, "brief"));
  await w.settled(
    async () => (await c.reader.keys("app|*|brief|*")).length === 0,
    "without the entries of the application that went away",
  );
  listener.disconnect();
});

test("an application that is deleted with its objects leaves no entry, and the others are written as ever", async () => {
  await w.git.createRepository("deleted", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  await w.app("deleted", { repo: "deleted" }, { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] });
  await w.until("deleted", synced);
  await shown("app|resources-tree|deleted", ({ nodes }) => nodes?.[0]?.uid !== undefined);
  value(await w.client.delete(RESOURCES.application, w.namespace, "deleted"));
  await w.settled(async () => (await w.object(RESOURCES.application, w.namespace, "deleted")) === undefined, "gone");
  await w.settled(async () => (await c.reader.keys("app|*|deleted|*")).length === 0, "without its entries");
  // Longer than a write waits after the last look.
  const seen = await entry("cluster|info|https://kubernetes.default.svc");
  await shown(
    "cluster|info|https://kubernetes.default.svc",
    ({ connectionState }) => connectionState.attemptedAt !== seen.connectionState.attemptedAt,
  );
  expect(await c.reader.keys("app|*|deleted|*")).toEqual([]);
  await w.refresh("masked");
});

test("what belongs to no application is there with what came of it, where the project wants to know", async () => {
  await project(w, "watchful", {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    orphanedResources: {},
  });
  await w.git.createRepository("orphans", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  await w.app("orphans", { repo: "orphans", project: "watchful", syncPolicy: { automated: {} } });
  value(
    await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "orphans" } }),
  );
  const template = {
    metadata: { labels: { app: "web" } },
    spec: { containers: [{ name: "web", image: "registry.example/web:1" }] },
  };
  const lone = { apiVersion: "apps/v1", spec: { replicas: 0, selector: { matchLabels: { app: "web" } }, template } };
  const deployment = value(
    await w.client.create(DEPLOYMENTS, {
      ...lone,
      kind: "Deployment",
      metadata: { name: "lone", namespace: "orphans" },
    }),
  );
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "Deployment", name: "lone", uid: deployment.metadata.uid! }];
  value(
    await w.client.create(REPLICA_SET, {
      ...lone,
      kind: "ReplicaSet",
      metadata: { name: "lone-1", namespace: "orphans", ownerReferences },
    }),
  );
  await w.refresh("orphans");
  const { orphanedNodes } = await shown("app|resources-tree|orphans", (tree) => tree.orphanedNodes?.length > 0);
  expect(orphanedNodes).toEqual([
    expect.objectContaining({ group: "apps", kind: "Deployment", name: "lone", uid: deployment.metadata.uid }),
    expect.objectContaining({
      group: "apps",
      kind: "ReplicaSet",
      name: "lone-1",
      parentRefs: [expect.objectContaining({ name: "lone" })],
    }),
  ]);
});

test("an entry that the Redis has dropped is there again when it is asked for, and no entry is sent twice", async () => {
  const key = `app|managed-resources|shown|${VERSION}.gz`;
  const written = async () =>
    Number(
      /^outpost_argocd_cache_writes_total{result="written"} (\d+)$/m.exec(
        await w.controller.metrics.registry.metrics(),
      )?.[1],
    );
  await w.refresh("shown");
  await c.reader.del(key);
  // As argocd-server does when it misses one: it asks for a refresh and reads at once.
  await w.refresh("shown");
  expect(await c.reader.exists(key)).toBe(1);
  const before = await written();
  await c.reader.expire(key, 100);
  await w.refresh("shown");
  expect(await c.reader.ttl(key)).toBeGreaterThan(3_000);
  expect(await written()).toBe(before);
});
