import type { Application, Operation } from "../../server/agent/controller/application.ts";
import { META } from "../../server/agent/controller/application.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, DEPLOYMENT, fourObjects, synced, value, type World, world } from "./engine-world.ts";

/** What sync options and flags of an operation do, each as its words promise. */
const JOB: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const BACKGROUND = "PrunePropagationPolicy=background";
const BY_HAND = { syncOptions: ["CreateNamespace=true", BACKGROUND] };
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const write = async (name: string, patch: object) =>
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, patch));
const state = (app: Application) => app.status?.operationState;
const ended = (app: Application) =>
  app.operation === undefined && /^(Succeeded|Failed|Error)$/.test(state(app)?.phase ?? "");

/** Asks for a sync and waits for the end of that very one. */
async function sync(name: string, asked: Operation["sync"] = {}): Promise<Application> {
  const before = state(await w.get(name))?.startedAt;
  await write(name, { operation: { sync: asked } });
  return w.until(name, (app) => ended(app) && state(app)?.startedAt !== before, "synced once more");
}

const job = (options: string, image = "x") => `apiVersion: batch/v1
kind: Job
metadata: {name: each, annotations: {argocd.argoproj.io/sync-options: "${options}"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: ${image}}]}}}
`;
const uidOf = async (name: string) => (await w.object(JOB, name, "each"))?.metadata.uid;

test("what is replaced by force is re-created at every sync, as a Job that is to run each time, and nothing else is", async () => {
  await w.git.createRepository("forced", {
    files: { "a.yaml": configMap("a", {}), "job.yaml": job("Force=true,Replace=true") },
  });
  await w.app("forced", { repo: "forced", syncPolicy: BY_HAND });
  const uids = new Set<string | undefined>();
  const versions: (string | undefined)[] = [];
  for (let i = 0; i < 3; i++) {
    expect(synced(await sync("forced"))).toBe(true);
    uids.add(await uidOf("forced"));
    versions.push((await w.object(CONFIG_MAP, "forced", "a"))?.metadata.resourceVersion);
  }
  expect([uids.size, uids.has(undefined)]).toEqual([3, false]);
  expect(new Set(versions).size).toBe(1);
});

/** The variable `A` twice, as many charts have it. */
const twice = (second: string, options: string, more = "") => `apiVersion: apps/v1
kind: Deployment
metadata: {name: twice, annotations: {argocd.argoproj.io/sync-options: "${options}"${more}}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: main, image: x, env: [{name: A, value: "1"}, {name: A, value: "${second}"}]}]}
`;

test("a list with the same key twice is refused with advice, and synced by a client-side apply where that is asked for", async () => {
  await w.git.createRepository("twice", { files: { "d.yaml": twice("2", "Validate=true") } });
  await w.app("twice", { repo: "twice", syncPolicy: BY_HAND });
  const refused = await sync("twice");
  expect(state(refused)?.phase).toBe("Failed");
  expect(JSON.stringify(state(refused))).toMatch(
    /duplicate entries for key.*set the sync option ServerSideApply=false/,
  );

  await w.git.commit(
    "twice",
    { "d.yaml": twice("2", "ServerSideApply=false", ", gone: soon") },
    "on the client's side",
  );
  await sync("twice");
  await w.until("twice", synced, "Synced");
  const read = async () => (await w.object(DEPLOYMENT, "twice", "twice"))!;
  const envOf = (object: Awaited<ReturnType<typeof read>>) => object.spec.template.spec.containers[0].env;
  expect(envOf(await read())).toEqual([
    { name: "A", value: "1" },
    { name: "A", value: "2" },
  ]);
  expect((await read()).metadata.annotations).toMatchObject({
    gone: "soon",
    "kubectl.kubernetes.io/last-applied-configuration": expect.stringMatching(/^{/),
  });

  // What others add stays; what has left Git goes.
  value(
    await w.client.mergePatch(DEPLOYMENT, "twice", "twice", {
      spec: { replicas: 2 },
      metadata: { annotations: { theirs: "kept" } },
    }),
  );
  await w.git.commit("twice", { "d.yaml": twice("3", "ServerSideApply=false") }, "another value");
  await sync("twice");
  await w.until("twice", synced, "Synced");
  const after = await read();
  expect([
    envOf(after)[1].value,
    after.spec.replicas,
    after.metadata.annotations!.theirs,
    after.metadata.annotations!.gone,
  ]).toEqual(["3", 2, "kept", undefined]);

  // Drift is seen.
  value(
    await w.client.mergePatch(DEPLOYMENT, "twice", "twice", {
      spec: {
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "main", image: "drifted" }] } },
      },
    }),
  );
  await w.until("twice", (app) => app.status?.sync?.status === "OutOfSync", "OutOfSync");
}, 90_000);

test("what cannot be changed is re-created where the object or the operation says by force, and not for the application's options", async () => {
  await w.git.createRepository("immutable", { files: { "job.yaml": job("Validate=true") } });
  await w.app("immutable", { repo: "immutable", syncPolicy: { syncOptions: [...BY_HAND.syncOptions, "Force=true"] } });
  await sync("immutable");
  const uid = await uidOf("immutable");
  await w.git.commit("immutable", { "job.yaml": job("Validate=true", "other") }, "another image");
  expect(state(await sync("immutable"))?.phase).toBe("Failed");
  expect(await uidOf("immutable")).toBe(uid);
  expect(state(await sync("immutable", { syncStrategy: { hook: { force: true } } }))).toMatchObject({
    phase: "Succeeded",
  });
  expect(await uidOf("immutable")).not.toBe(uid);
});

test("a sync of what differs alone does not wait for what is as it should be", async () => {
  const late = (rev: string) => configMap("late", { rev }, ', annotations: {argocd.argoproj.io/sync-wave: "1"}');
  const files = (rev: string) => ({ "a.yaml": fourObjects(), "late.yaml": late(rev) });
  await w.git.createRepository("only", { files: files("1") });
  await w.app("only", {
    repo: "only",
    syncPolicy: { syncOptions: [...BY_HAND.syncOptions, "ApplyOutOfSyncOnly=true"] },
  });
  // No controller-manager runs here: the Deployment of the first wave never tells of itself, and this test says that it is well.
  await write("only", { operation: { sync: {} } });
  await w.settled(async () => (await w.object(DEPLOYMENT, "only", "web")) !== undefined, "a Deployment");
  const tell = (observedGeneration: number) =>
    w.client
      .mergePatch(
        DEPLOYMENT,
        "only",
        "web",
        { status: { observedGeneration, conditions: [] } },
        { subresource: "status" },
      )
      .then(value);
  await tell(1);
  await w.until("only", synced);
  // Now it is not well, and no part of what is to be synced.
  const failing = { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
  value(
    await w.client.mergePatch(
      DEPLOYMENT,
      "only",
      "web",
      { status: { conditions: [failing] } },
      { subresource: "status" },
    ),
  );
  await w.until("only", (app) => app.status?.health?.status === "Degraded", "Degraded");
  await w.git.commit("only", files("2"), "the later wave");
  const app = await sync("only");
  expect(state(app)?.phase).toBe("Succeeded");
  expect(state(app)?.syncResult?.resources?.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["ConfigMap late"]);
  await w.git.commit("only", files("3"), "once more");
  expect(state(await sync("only", { syncOptions: ["ApplyOutOfSyncOnly=false"] }))?.phase).toBe("Failed");
});

test("other labels for the namespace are a difference, and the next sync brings them", async () => {
  const managed = (team: string) => ({ managedNamespaceMetadata: { labels: { team } } });
  await w.git.createRepository("labelled", { files: { "a.yaml": configMap("a", {}) } });
  const automated = { prune: true, selfHeal: true };
  await w.app("labelled", { repo: "labelled", syncPolicy: { ...BY_HAND, ...managed("a"), automated } });
  const label = async () => (await w.object(RESOURCES.namespace, undefined, "labelled"))?.metadata.labels?.team;
  await w.until("labelled", synced);
  expect(await label()).toBe("a");
  await write("labelled", { spec: { syncPolicy: managed("b") } });
  await w.until(
    "labelled",
    (app) => synced(app) && state(app)?.syncResult?.managedNamespaceMetadata?.labels?.team === "b",
    "at b",
  );
  expect(await label()).toBe("b");
  await write("labelled", { spec: { syncPolicy: { automated: null, ...managed("c") } } });
  await w.until("labelled", (app) => app.status?.sync?.status === "OutOfSync", "OutOfSync");
  await sync("labelled");
  expect([(await w.get("labelled")).status?.sync?.status, await label()]).toEqual(["Synced", "c"]);
  // As Argo CD leaves it, so that neither engine undoes what the other one wrote.
  const annotations = (await w.object(RESOURCES.namespace, undefined, "labelled"))?.metadata.annotations;
  expect(annotations).toEqual({ "argocd.argoproj.io/sync-options": "ServerSideApply=true" });
});

test("an operation's own options count as the application's do; objects of its own are refused by name", async () => {
  await w.git.createRepository("own", { files: { "a.yaml": configMap("a", {}) } });
  await w.app("own", {
    repo: "own",
    syncPolicy: {},
    ignoreDifferences: [{ kind: "ConfigMap", jsonPointers: ["/data/x"] }],
  });
  expect(synced(await sync("own", { syncOptions: ["CreateNamespace=true"] }))).toBe(true);
  const app = await sync("own", {
    manifests: [JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine" } })],
  });
  expect(state(app)).toMatchObject({
    phase: "Failed",
    message: expect.stringMatching(/operation\.sync\.manifests is refused/),
  });
  expect(await w.object(CONFIG_MAP, "own", "mine")).toBeUndefined();
  expect(app.status?.sync?.comparedTo).toMatchObject({
    ignoreDifferences: [{ kind: "ConfigMap", jsonPointers: ["/data/x"] }],
  });
});

test("nothing is done on a cluster whose Secret says so, not even a deletion, and all of it afterwards", async () => {
  await w.git.createRepository("resting", { files: { "a.yaml": configMap("a", { rev: "1" }) } });
  await w.cluster("resting", `${w.api.url}/`);
  const rest = async (on: string | null) => {
    const patch = { metadata: { annotations: { [META.skipReconcile]: on } } };
    value(await w.client.mergePatch(RESOURCES.secret, w.namespace, "cluster-resting", patch));
  };
  const to = { repo: "resting", destination: { name: "resting", namespace: "resting" } };
  await w.app("resting", to, { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] });
  await w.until("resting", synced);
  await rest("true");
  await w.git.commit("resting", { "a.yaml": configMap("a", { rev: "2" }) }, "while it rests");
  await write("resting", { metadata: { annotations: { [META.refresh]: "normal" } } });
  value(await w.client.delete(RESOURCES.application, w.namespace, "resting"));
  // Another application shows that the controller has gone on meanwhile.
  await w.app("awake", { repo: "resting", path: "." });
  await w.until("awake", synced);
  expect((await w.get("resting")).metadata.finalizers).toHaveLength(1);
  expect((await w.object(CONFIG_MAP, "resting", "a"))?.data).toEqual({ rev: "1" });
  await rest(null);
  await w.settled(async () => (await w.object(CONFIG_MAP, "resting", "a")) === undefined, "deleted");
});

test("a field that a kind does not have fails a sync, unless nothing is to be validated: then it is left out, said so, and no difference", async () => {
  const kind: Resource = { group: "example.com", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true };
  const spec = { type: "object", properties: { size: { type: "integer" } } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec } } };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  value(await w.client.create(CRD, definition));
  await w.settled(async () => (await w.client.list(kind)).kind === "done", "served");
  const strange = (options = "") => `${fourObjects()
    .replace("  replicas: 0\n", "  replicas: 0\n  color: red\n")
    .replace("containers: [{name: web,", "containers: [{tint: 1, name: web,")
    .replace("metadata: {name: web, labels: {app: web}}", `metadata: {name: web, labels: {app: web}${options}}`)}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g${options}}
spec: {size: 1, color: blue}
`;
  await w.git.createRepository("strange", { files: { "a.yaml": strange() } });
  await w.app("strange", { repo: "strange", syncPolicy: BY_HAND });
  const results = (app: Application) =>
    Object.fromEntries((state(app)?.syncResult?.resources ?? []).map((r) => [r.kind, r]));
  const refused = await sync("strange");
  expect(state(refused)?.phase).toBe("Failed");
  expect(results(refused).Deployment).toMatchObject({
    status: "SyncFailed",
    reason: "Invalid",
    message: expect.stringContaining(".spec.color"),
  });

  const lenient = await sync("strange", { syncOptions: ["Validate=false"] });
  expect(state(lenient)?.phase).toBe("Succeeded");
  const [said, told] = [results(lenient).Deployment?.message, results(lenient).Gadget?.message];
  expect(said).toMatch(
    /\(without \.spec\.color, \.spec\.template\.spec\.containers\[name="web"\]\.tint, which its kind does not have\)$/,
  );
  expect(told).toMatch(/\(without \.spec\.color, which its kind does not have\)$/);
  for (const where of ["in the application", "in the object"]) {
    if (where === "in the object")
      await w.git.commit(
        "strange",
        { "a.yaml": strange(", annotations: {argocd.argoproj.io/sync-options: Validate=false}") },
        where,
      );
    const syncOptions = where === "in the object" ? BY_HAND.syncOptions : [...BY_HAND.syncOptions, "Validate=false"];
    await write("strange", { spec: { syncPolicy: { syncOptions } } });
    const app = await sync("strange");
    expect([where, state(app)?.phase, app.status?.sync?.status]).toEqual([where, "Succeeded", "Synced"]);
    // Also to a controller that has not sent it.
    const version = (await w.object(DEPLOYMENT, "strange", "web"))?.metadata.resourceVersion;
    await w.restart();
    await w.refresh("strange", "hard");
    expect([where, (await w.get("strange")).status?.sync?.status]).toEqual([where, "Synced"]);
    expect((await w.object(DEPLOYMENT, "strange", "web"))?.metadata.resourceVersion).toBe(version);
  }
  await write("strange", { spec: { syncPolicy: { syncOptions: BY_HAND.syncOptions } } });
  await w.git.commit("strange", { "a.yaml": strange() }, "once more as it was");
  const last = await sync("strange");
  expect([state(last)?.phase, last.status?.sync?.status]).toEqual(["Failed", "OutOfSync"]);
});

test("a replaced object is validated too: what its kind does not have fails the sync, unless nothing is to be validated", async () => {
  const replaced = (color: string, more = "") =>
    `${configMap("a", { rev: color }, `, annotations: {argocd.argoproj.io/sync-options: "Replace=true${more}"}`)}color: ${color}\n`;
  await w.git.createRepository("replaced", { files: { "a.yaml": replaced("red", ",Validate=false") } });
  await w.app("replaced", { repo: "replaced", syncPolicy: BY_HAND });
  expect(synced(await sync("replaced"))).toBe(true);
  await w.git.commit("replaced", { "a.yaml": replaced("green", ",Validate=false") }, "replaced");
  expect(synced(await sync("replaced"))).toBe(true);
  expect((await w.object(CONFIG_MAP, "replaced", "a"))?.data).toEqual({ rev: "green" });
  await w.git.commit("replaced", { "a.yaml": replaced("blue") }, "validated");
  const app = await sync("replaced");
  expect(state(app)?.syncResult?.resources?.[0]).toMatchObject({
    status: "SyncFailed",
    message: expect.stringContaining('unknown field "color"'),
  });
});

test("a controller that is told to end waits for no object that is to go, and the one after it ends the sync", async () => {
  const made = job("Force=true,Replace=true").replace(
    "metadata: {name: each,",
    "metadata: {name: each, finalizers: [example.com/stays],",
  );
  await w.git.createRepository("staying", { files: { "job.yaml": made } });
  await w.app("staying", { repo: "staying", syncPolicy: BY_HAND });
  await sync("staying");
  const uid = await uidOf("staying");
  await write("staying", { operation: { sync: {} } });
  const going = async () => (await w.object(JOB, "staying", "each"))?.metadata.deletionTimestamp !== undefined;
  await w.settled(going, "being deleted");
  const before = Date.now();
  await w.restart();
  // It would have been waited for for 35 s, and work that runs is given 8 s to end.
  expect(Date.now() - before).toBeLessThan(6_000);
  expect(state(await w.get("staying"))?.phase ?? "not begun").toMatch(/Running|not begun|Succeeded/);
  expect(await uidOf("staying")).toBe(uid);
  value(await w.client.mergePatch(JOB, "staying", "each", { metadata: { finalizers: null } }));
  await w.settled(async () => ![uid, undefined].includes(await uidOf("staying")), "re-created");
  expect(state(await w.until("staying", ended, "synced"))?.phase).toBe("Succeeded");
});

test("between two waves there is as long a pause as is asked for, and none after the last", async () => {
  const wave = (name: string, n: number) =>
    configMap(name, {}, `, annotations: {argocd.argoproj.io/sync-wave: "${n}"}`);
  await w.git.createRepository("slow", { files: { "a.yaml": wave("a", 0), "b.yaml": wave("b", 1) } });
  await w.app("slow", { repo: "slow", syncPolicy: BY_HAND });
  const took = async () => {
    const { startedAt, finishedAt } = state(await sync("slow"))!;
    return Date.parse(finishedAt!) - Date.parse(startedAt);
  };
  w.controller.deps.waveDelayMs = 2_000;
  // Told in whole seconds.
  expect(await took()).toBeGreaterThanOrEqual(1_000);
  w.controller.deps.waveDelayMs = 600_000;
  await write("slow", { operation: { sync: {} } });
  await w.until("slow", (app) => app.operation === undefined || state(app)?.phase === "Running", "begun");
  const before = Date.now();
  await w.restart();
  expect(Date.now() - before).toBeLessThan(6_000);
  expect(state(await w.until("slow", ended, "synced by the next one"))?.phase).toBe("Succeeded");
});
