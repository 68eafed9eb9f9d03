import { readFileSync } from "node:fs";
import { Agent, request } from "undici";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource, resourcePath } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, fourObjects, synced, value, type World, world } from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
  // Rights to bring ConfigMaps and namespaces into the cluster, and none to write an application.
  const [own, all] = [
    ["get", "list", "watch"],
    ["get", "list", "watch", "create", "patch", "update", "delete"],
  ];
  await grant(w.namespace, [
    { apiGroups: ["argoproj.io"], resources: ["applications", "appprojects"], verbs: own },
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: own },
  ]);
  await grant(undefined, [{ apiGroups: [""], resources: ["configmaps", "namespaces"], verbs: all }]);
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind,
  plural,
  namespaced,
});
async function grant(namespace: string | undefined, rules: object[]): Promise<void> {
  const [kind, apiVersion] = [namespace ? "Role" : "ClusterRole", "rbac.authorization.k8s.io/v1"];
  const metadata = { name: "silent", namespace };
  const binding = {
    apiVersion,
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: "silent" },
    subjects: [{ kind: "User", name: "limited", apiGroup: "rbac.authorization.k8s.io" }],
  };
  value(
    await w.client.apply(rbac(kind, `${kind.toLowerCase()}s`, Boolean(namespace)), {
      apiVersion,
      kind,
      metadata,
      rules,
    }),
  );
  value(await w.client.apply(rbac(`${kind}Binding`, `${kind.toLowerCase()}bindings`, Boolean(namespace)), binding));
}
/** A controller that can do everything but tell: what it does is as if it were killed before it could. */
const silenced = () => w.restart({ config: parseKubeconfig(readFileSync(w.api.kubeconfigFor("limited"), "utf8")) });

async function appears(what: () => Promise<KubeObject | undefined>, is = (_: KubeObject) => true): Promise<KubeObject> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const found = await what();
    if (found && is(found)) return found;
    if (Date.now() > deadline) throw new Error("it does not appear");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("a first sync is told in one write, which has one owner for all of the status", async () => {
  await w.git.createRepository("once", { files: { "all.yaml": fourObjects() } });
  const before = w.controller.deps.home.requests.PUT ?? 0;
  await w.app("once", { repo: "once" });
  const app = await w.until("once", synced);
  expect(app.status).toMatchObject({
    history: [{ id: 0 }],
    operationState: { phase: "Succeeded" },
    reconciledAt: expect.any(String),
  });
  expect(w.controller.deps.home.requests.PUT! - before).toBe(1);
  expect(app.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1?.["f:status"]).filter(Boolean)).toEqual([{}]);
});

test("a number that a program cannot hold exactly stays in the specification as it was written", async () => {
  await w.git.createRepository("exact", { files: { "a.yaml": configMap("a", {}) } });
  const config = parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8"));
  const call = async (method: "POST" | "GET", name: string, body?: string) => {
    const dispatcher = new Agent({ connect: { ca: config.ca } });
    const headers = {
      authorization: `Bearer ${(await config.token!())!.reveal()}`,
      "content-type": "application/json",
    };
    const path = resourcePath(RESOURCES.application, w.namespace, name);
    const answer = await request(config.server + path, { method, headers, body, dispatcher });
    const text = await answer.body.text();
    await dispatcher.close();
    return text;
  };
  const source = { repoURL: w.git.cloneUrl("exact"), path: ".", targetRevision: "main", note: "NUMBER" };
  const spec = {
    project: "default",
    source,
    destination: { name: "in-cluster", namespace: "exact" },
    syncPolicy: { automated: {}, syncOptions: ["CreateNamespace=true"] },
  };
  const app = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "exact", namespace: w.namespace },
    spec,
  };
  await call("POST", "", JSON.stringify(app).replace('"NUMBER"', "9007199254740993"));
  await w.until("exact", synced);
  expect(await call("GET", "exact")).toContain('"note":9007199254740993');
});

test("a controller killed between the apply and the write of its status: the next one tells of the sync once, and changes nothing", async () => {
  await w.git.createRepository("killed", { files: { "a.yaml": configMap("a", { rev: "1" }) } });
  const live = () => w.object(CONFIG_MAP, "killed", "a");
  await silenced();
  await w.app("killed", { repo: "killed" });
  const first = await appears(live);
  expect((await w.get("killed")).status).toBeUndefined();
  await w.restart();
  const told = await w.until("killed", synced, "told of");
  expect(told.status?.history).toMatchObject([{ id: 0, cause: "Automated" }]);
  expect(told.status?.operationState?.syncResult?.resources).toMatchObject([
    { name: "a", status: "Synced", message: "configmap/a unchanged" },
  ]);
  expect((await live())?.metadata.resourceVersion).toBe(first.metadata.resourceVersion);

  // The same for a later commit. The clock tells in whole seconds which of two came first.
  await silenced();
  const finished = Date.parse(told.status!.operationState!.finishedAt!);
  await appears(
    async () => first,
    () => Date.now() > finished + 1_000,
  );
  const next = await w.git.commit("killed", { "a.yaml": configMap("a", { rev: "2" }) }, "two");
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "killed", {
      metadata: { annotations: { "argocd.argoproj.io/refresh": "normal" } },
    }),
  );
  const second = await appears(live, ({ data }) => data.rev === "2");
  await w.restart();
  const again = await w.until(
    "killed",
    (a) => synced(a) && a.status?.operationState?.syncResult?.revision === next,
    "told of",
  );
  expect(again.status?.history?.map(({ id, revision }) => [id, revision === next])).toEqual([
    [0, false],
    [1, true],
  ]);
  expect((await live())?.metadata.resourceVersion).toBe(second.metadata.resourceVersion);
  await w.restart();
  await w.refresh("killed");
  expect((await w.get("killed")).status?.history).toHaveLength(2);
});

test("a hook does not run before it is written down that it will", async () => {
  const hook = configMap("pre", {}, ", annotations: {argocd.argoproj.io/hook: PreSync}");
  await w.git.createRepository("noted", { files: { "pre.yaml": hook, "a.yaml": configMap("a", {}) } });
  await w.git.createRepository("beside", { files: { "a.yaml": configMap("a", {}) } });
  await silenced();
  await w.app("noted", { repo: "noted" });
  // Its namespace is made in the step in which the hook would run; another application shows that time has gone by.
  await w.app("beside", { repo: "beside" });
  await appears(() => w.object(CONFIG_MAP, "beside", "a"));
  expect(await w.object(CONFIG_MAP, "noted", "pre")).toBeUndefined();
  await w.restart();
  const app = await w.until("noted", synced);
  expect(app.status?.history).toHaveLength(1);
  expect((await w.object(CONFIG_MAP, "noted", "pre"))?.metadata.annotations?.["outpost.dev/hook-started-at"]).toBe(
    app.status?.operationState?.startedAt,
  );
});

test("an application of more resources than etcd takes in one object tells of those that need it, and how many it leaves out", async () => {
  // 0.4 MB of rows beside a specification of 1.2 MB. Nothing is synced: what is not there yet is out of sync.
  const count = 1_000;
  const name = (i: number) => `${"a-configmap-with-a-long-name-".repeat(8)}${i}`;
  const all = Array.from({ length: count }, (_, i) => configMap(name(i), {})).join("---\n");
  await w.git.createRepository("many", { files: { "all.yaml": all } });
  await w.app("many", {
    repo: "many",
    syncPolicy: {},
    info: [{ name: "notes", value: "x".repeat(1_250_000) }],
  } as Parameters<typeof w.app>[1]);
  const app = await w.until("many", ({ status }) => status?.sync?.status === "OutOfSync", "compared");
  const { resources = [], conditions = [] } = app.status!;
  expect(resources.length).toBeGreaterThan(200);
  expect(resources.length).toBeLessThan(count);
  expect(conditions).toEqual([
    expect.objectContaining({
      type: "ResourcesLeftOutWarning",
      reason: "StatusTooLarge",
      message: expect.stringContaining(`${count - resources.length} of ${count} resources are left out`),
    }),
  ]);
  // Another look says the same, and writes nothing but that it was taken.
  await w.refresh("many");
  const again = await w.until(
    "many",
    ({ metadata }) => metadata.annotations?.["argocd.argoproj.io/refresh"] === undefined,
    "looked at again",
  );
  expect(again.status?.resources).toEqual(resources);
  expect(again.status?.conditions).toEqual(conditions);
}, 240_000);

/** No kubelet runs here, so no Pod is ever ready. */
const WEB = expect.objectContaining({ kind: "Deployment", images: ["registry.example/web:1"], ready: 0 });

test("a status tells where an application is reached, what images each object has, and whether it deploys applications", async () => {
  const ingress = `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: {link.argocd.argoproj.io/graphs: "Graphs|https://graphs.example"}}
spec: {tls: [{hosts: [shop.example]}], rules: [{host: shop.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`;
  const child = `---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: child, namespace: ${w.namespace}, annotations: {argocd.argoproj.io/skip-reconcile: "true"}}
spec: {project: default, source: {repoURL: "https://git.example/r", path: .}, destination: {name: in-cluster, namespace: child}}
`;
  await w.git.createRepository("reached", { files: { "all.yaml": `${fourObjects()}${ingress}${child}` } });
  await w.app("reached", { repo: "reached" });
  const app = await w.until(
    "reached",
    (a) => synced(a) && a.status?.summary?.isAppOfApps,
    "an application of applications",
  );
  expect(app.status?.summary).toEqual({
    images: ["registry.example/web:1"],
    externalURLs: ["Graphs|https://graphs.example", "https://shop.example/"],
    isAppOfApps: true,
    workloads: [WEB],
  });
  const images = app.status?.operationState?.syncResult?.resources?.map(({ kind, images }) => [kind, images]);
  expect(images).toContainEqual(["Deployment", ["registry.example/web:1"]]);
  expect(images).toContainEqual(["ConfigMap", undefined]);
  await w.git.commit("reached", { "all.yaml": fourObjects() }, "neither");
  await w.refresh("reached");
  const later = await w.until(
    "reached",
    (a) => synced(a) && a.status?.summary?.isAppOfApps === undefined,
    "without applications",
  );
  expect(later.status?.summary).toEqual({ images: ["registry.example/web:1"], workloads: [WEB] });
});
