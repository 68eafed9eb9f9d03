import type { Application } from "../../server/agent/controller/application.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, DEPLOYMENT, synced, value, type World, world } from "./engine-world.ts";
import { LAST_APPLIED, leave, TRACKING } from "./former-engine.ts";

/** Another engine is replaced by this one: nothing changes that Git did not change, and then each change of Git does what it did there. */
const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const SERVICE: Resource = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };
const OPTIONS = ["CreateNamespace=true", "PrunePropagationPolicy=background"];
const BY_HAND = { syncOptions: OPTIONS };
const NO_HEAL = { automated: { prune: true }, syncOptions: OPTIONS };
const AUTOMATED = { automated: { prune: true, selfHeal: true }, syncOptions: OPTIONS };
const FILE = "app/all.yaml";
const NAMES = [
  "plain",
  "moved",
  "ignore",
  "hooks",
  "manual",
  "noheal",
  "pruned",
  "kept",
  "gone",
  "server",
  "services",
  "forms",
  "owned",
];

const ROLLING = "replicas: 0\n  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}";
const deployment = (more = "replicas: 0", image = "x:1") => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  ${more}
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "${image}", env: [{name: A, value: "1"}, {name: B, value: "2"}]}]}}
`;
const job = (name: string, phase: string) => `apiVersion: batch/v1
kind: Job
metadata: {name: ${name}, annotations: {argocd.argoproj.io/hook: ${phase}}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
`;
const service = (ports: string) => `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [${ports}]}
`;
const all = (...documents: string[]) => documents.join("---\n");
const HOOKS = all(job("pre", "PreSync"), configMap("a", { v: "1" }), job("post", "PostSync"));

let w: World;
let before: Map<string, { app: Application; objects: Map<string, KubeObject> }>;
beforeAll(async () => {
  w = await world();
  await w.halt();
  await leave(w, { name: "plain", manifests: all(configMap("a", { v: "1", w: "1" }), deployment()) });
  await leave(w, { name: "moved", manifests: HOOKS });
  await leave(w, {
    name: "ignore",
    manifests: all(configMap("a", { v: "1" }), deployment("replicas: 1")),
    spec: {
      syncPolicy: { ...AUTOMATED, syncOptions: [...OPTIONS, "RespectIgnoreDifferences=true"] },
      ignoreDifferences: [
        { group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] },
        { kind: "ConfigMap", jqPathExpressions: [".data.v"] },
      ],
    },
  });
  await leave(w, { name: "hooks", manifests: HOOKS });
  await leave(w, { name: "manual", manifests: configMap("a", { v: "1" }), spec: { syncPolicy: BY_HAND } });
  await leave(w, { name: "noheal", manifests: configMap("a", { v: "1" }), spec: { syncPolicy: NO_HEAL } });
  await leave(w, { name: "pruned", manifests: all(configMap("a", {}), configMap("b", {})) });
  await leave(w, {
    name: "kept",
    manifests: all(configMap("a", {}), configMap("b", {})),
    spec: { syncPolicy: BY_HAND },
  });
  await leave(w, {
    name: "gone",
    manifests: all(configMap("a", {}), service("{port: 80, name: http}")),
    spec: { syncPolicy: NO_HEAL },
    metadata: { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] },
  });
  await leave(w, { name: "server", manifests: configMap("a", { v: "1", w: "1" }), serverSide: true });
  await leave(w, { name: "services", manifests: service("{port: 80, name: http}, {port: 81, name: more}") });
  await leave(w, { name: "forms", manifests: deployment(ROLLING) });
  await leave(w, { name: "owned", manifests: all(configMap("a", { v: "1" }), configMap("b", {})) });
  const { uid } = value(await w.client.get(CONFIG_MAP, "owned", "b")).metadata;
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "b", uid, controller: true }];
  value(await w.client.mergePatch(CONFIG_MAP, "owned", "a", { metadata: { ownerReferences } }, { manager: "theirs" }));
  // What others have changed, and what the application does not mind.
  const scaled = { spec: { replicas: 3 } };
  value(await w.client.mergePatch(DEPLOYMENT, "ignore", "web", scaled, { manager: "autoscaler" }));
  value(await w.client.mergePatch(CONFIG_MAP, "ignore", "a", { data: { v: "theirs" } }, { manager: "theirs" }));
  // No controller-manager runs here.
  const well = (replicas: number) => ({
    observedGeneration: 10,
    replicas,
    updatedReplicas: replicas,
    availableReplicas: replicas,
  });
  for (const name of ["plain", "forms"]) value(await w.client.patchStatus(DEPLOYMENT, name, "web", well(0)));
  value(await w.client.patchStatus(DEPLOYMENT, "ignore", "web", { ...well(3), readyReplicas: 3 }));
  for (const name of ["moved", "hooks"]) for (const hook of ["pre", "post"]) await complete(name, hook);
  // A commit that is none of the application's.
  await w.git.commit("moved", { "elsewhere/x.yaml": configMap("x", {}) }, "elsewhere");
  before = await snapshot();
  await w.restart();
  for (const name of NAMES) await w.refresh(name);
}, 240_000);
afterAll(() => w?.stop(), 30_000);

async function complete(namespace: string, name: string): Promise<void> {
  const at = new Date().toISOString().replace(/\.\d+/, "");
  const conditions = ["SuccessCriteriaMet", "Complete"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: at,
  }));
  value(
    await w.client.patchStatus(JOB, namespace, name, { conditions, startTime: at, completionTime: at, succeeded: 1 }),
  );
}

async function snapshot() {
  const kinds = [CONFIG_MAP, DEPLOYMENT, JOB, SERVICE];
  const lists = await Promise.all(kinds.map((kind) => w.client.list(kind)));
  const objects = lists.flatMap((list) => value(list).items).filter(({ metadata }) => metadata.annotations?.[TRACKING]);
  const entries = NAMES.map(async (name) => {
    const own = objects.filter(({ metadata }) => metadata.namespace === name);
    return [
      name,
      { app: await w.get(name), objects: new Map(own.map((one) => [`${one.kind}/${one.metadata.name}`, one])) },
    ] as const;
  });
  return new Map(await Promise.all(entries));
}

/** What a user has put there and the cluster counts: all but our label and who wrote what. */
function substance(object: KubeObject | undefined) {
  if (!object) return undefined;
  const { managedFields: _, resourceVersion: __, labels, ...metadata } = object.metadata;
  const { "outpost.dev/app": ___, ...others } = labels ?? {};
  return { ...object, metadata: { ...metadata, labels: others } };
}

const sync = (name: string, operation: object = { sync: { prune: true } }) =>
  w.client.mergePatch(RESOURCES.application, w.namespace, name, { operation }).then(value);
const commit = (name: string, text: string) => w.git.commit(name, { [FILE]: text }, "another");
const object = (resource: Resource, namespace: string, name: string) => w.object(resource, namespace, name);
const data = async (namespace: string, name = "a") => (await object(CONFIG_MAP, namespace, name))?.data;
const last = async (namespace: string, name = "a") =>
  JSON.parse((await object(CONFIG_MAP, namespace, name))!.metadata.annotations![LAST_APPLIED]!);

/** The sync that follows a commit, to its end. */
async function after(name: string, change: () => Promise<unknown>): Promise<Application> {
  const { startedAt } = (await w.get(name)).status!.operationState!;
  await change();
  await w.refresh(name);
  return w.until(name, (app) => synced(app) && app.status!.operationState!.startedAt !== startedAt, "synced anew");
}

test("taking over changes no object, begins no sync and keeps every word of sync and health", async () => {
  const now = await snapshot();
  for (const name of NAMES) {
    const [was, is] = [before.get(name)!, now.get(name)!];
    expect([name, [...is.objects.keys()].sort()]).toEqual([name, [...was.objects.keys()].sort()]);
    for (const [key, one] of was.objects) expect(substance(is.objects.get(key))).toEqual(substance(one));
    for (const one of is.objects.values()) expect(one.metadata.labels?.["outpost.dev/app"]).toBe(name);
    expect([name, is.app.status?.sync?.status, is.app.status?.health?.status]).toEqual([name, "Synced", "Healthy"]);
    expect(is.app.status?.operationState).toEqual(was.app.status?.operationState);
    expect(is.app.status?.history).toEqual(was.app.status?.history);
    expect(is.app.status?.conditions ?? []).toEqual([]);
  }
});

test("what autoscalers and others have set, and an application ignores, survives the first sync of another change", async () => {
  const files = all(configMap("a", { v: "1", more: "1" }), deployment("replicas: 1", "x:2"));
  await after("ignore", () => commit("ignore", files));
  expect((await object(DEPLOYMENT, "ignore", "web"))?.spec).toMatchObject({ replicas: 3 });
  expect((await object(DEPLOYMENT, "ignore", "web"))?.spec.template.spec.containers[0].image).toBe("x:2");
  expect(await data("ignore")).toEqual({ v: "theirs", more: "1" });
});

test("hooks of the first change run anew, though those of the engine before have completed", async () => {
  const old = {
    pre: (await object(JOB, "hooks", "pre"))!.metadata.uid,
    post: (await object(JOB, "hooks", "post"))!.metadata.uid,
  };
  await commit("hooks", HOOKS.replace('"1"', '"2"'));
  await w.refresh("hooks");
  for (const hook of ["pre", "post"] as const) {
    await w.settled(async () => {
      const there = await object(JOB, "hooks", hook);
      return there !== undefined && there.metadata.uid !== old[hook] && there.metadata.deletionTimestamp === undefined;
    }, `re-created: ${hook}`);
    expect(await data("hooks")).toEqual({ v: hook === "pre" ? "1" : "2" });
    await complete("hooks", hook);
  }
  const app = await w.until(
    "hooks",
    (one) => synced(one) && one.status!.history!.length === 2,
    "synced with its hooks",
  );
  expect(
    app.status?.operationState?.syncResult?.resources
      ?.filter(({ hookPhase }) => hookPhase === "Succeeded")
      .map(({ name }) => name),
  ).toEqual(expect.arrayContaining(["pre", "post"]));
});

test("an object that leaves Git is pruned, or shown as to be pruned where nothing syncs by itself", async () => {
  await after("pruned", () => commit("pruned", configMap("a", {})));
  expect(await object(CONFIG_MAP, "pruned", "b")).toBeUndefined();
  await commit("kept", configMap("a", {}));
  await w.refresh("kept");
  const app = await w.until("kept", (one) => one.status?.sync?.status === "OutOfSync", "OutOfSync");
  expect(app.status?.resources?.filter(({ requiresPruning }) => requiresPruning).map(({ name }) => name)).toEqual([
    "b",
  ]);
  await after("kept", () => sync("kept"));
  expect(await object(CONFIG_MAP, "kept", "b")).toBeUndefined();
});

test("a field that leaves Git is removed: a key, an environment variable, a port, and what was applied on the server's side", async () => {
  await after("plain", () =>
    commit("plain", all(configMap("a", { v: "1" }), deployment().replace(', {name: B, value: "2"}', ""))),
  );
  expect(await data("plain")).toEqual({ v: "1" });
  expect((await object(DEPLOYMENT, "plain", "web"))?.spec.template.spec.containers[0].env).toEqual([
    { name: "A", value: "1" },
  ]);
  await after("server", () => commit("server", configMap("a", { v: "1" })));
  expect(await data("server")).toEqual({ v: "1" });
  await after("services", () => commit("services", service("{port: 80, name: http}")));
  expect((await object(SERVICE, "services", "web"))?.spec.ports.map(({ port }: { port: number }) => port)).toEqual([
    80,
  ]);
});

test("a field takes the place of another one that may not be beside it", async () => {
  const { generation } = (await object(DEPLOYMENT, "forms", "web"))!.metadata;
  const app = await after("forms", () =>
    commit("forms", deployment("replicas: 0\n  strategy: {type: Recreate}", "x:2")),
  );
  expect(app.status?.operationState?.phase).toBe("Succeeded");
  const { spec, metadata } = (await object(DEPLOYMENT, "forms", "web"))!;
  expect(spec.strategy).toEqual({ type: "Recreate" });
  expect(metadata.generation).toBe(Number(generation) + 1);
});

test("what was applied last is kept true on the objects that have it", async () => {
  expect(await last("plain")).toMatchObject({
    data: { v: "1" },
    metadata: { name: "a", annotations: { [TRACKING]: "plain:/ConfigMap:plain/a" } },
  });
  expect((await last("plain")).metadata.labels).toBeUndefined();
  expect((await object(CONFIG_MAP, "server", "a"))?.metadata.annotations?.[LAST_APPLIED]).toBeUndefined();
  // The same again is no change.
  const version = (await object(CONFIG_MAP, "plain", "a"))!.metadata.resourceVersion;
  await after("plain", () => sync("plain"));
  expect((await object(CONFIG_MAP, "plain", "a"))!.metadata.resourceVersion).toBe(version);
});

test("a field that somebody edited by hand goes all the same when it leaves Git", async () => {
  await w.halt();
  await leave(w, { name: "edited", manifests: configMap("a", { v: "1", w: "1" }), spec: { syncPolicy: BY_HAND } });
  value(
    await w.client.mergePatch(
      CONFIG_MAP,
      "edited",
      "a",
      { data: { w: "theirs", other: "theirs" } },
      { manager: "kubectl-edit" },
    ),
  );
  await w.restart();
  await commit("edited", configMap("a", { v: "1" }));
  await w.refresh("edited");
  await after("edited", () => sync("edited"));
  expect(await data("edited")).toEqual({ v: "1", other: "theirs" });
  expect(await last("edited")).toMatchObject({ data: { v: "1" } });
  await w.until("edited", (app) => app.status?.sync?.status === "Synced", "Synced");
});

test("a field that left Git while no engine ran is a difference, and goes with the next sync", async () => {
  await w.halt();
  await leave(w, { name: "late", manifests: configMap("a", { v: "1", w: "1" }), spec: { syncPolicy: BY_HAND } });
  await commit("late", configMap("a", { v: "1" }));
  await w.restart();
  await w.refresh("late");
  await w.until("late", (app) => app.status?.sync?.status === "OutOfSync", "OutOfSync");
  const app = await after("late", () => sync("late"));
  expect(app.status?.operationState?.syncResult?.resources?.[0]?.message).toMatch(/configured/);
  expect(await data("late")).toEqual({ v: "1" });
});

test("a deletion takes what only the engine before had written", async () => {
  value(await w.client.delete(RESOURCES.application, w.namespace, "gone"));
  await w.settled(async () => (await object(CONFIG_MAP, "gone", "a")) === undefined, "without its ConfigMap");
  await w.settled(async () => (await object(SERVICE, "gone", "web")) === undefined, "without its Service");
  await w.settled(async () => (await object(RESOURCES.application, w.namespace, "gone")) === undefined, "gone itself");
});
