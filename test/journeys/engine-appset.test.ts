import { createServer } from "node:http";
import type { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { ApplicationSet, ApplicationSetSpec, SetCondition } from "../../server/agent/appset/types.ts";
import type { KubeClient } from "../../server/kube/client.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "./engine-world.ts";
import { startSets, until } from "./set-world.ts";

let w: World;
let sets: SetController;
let home: KubeClient;

beforeAll(async () => {
  w = await world();
  ({ sets, home } = await startSets(w));
}, 90_000);
afterAll(async () => {
  await sets?.stop();
  await home?.close();
  await w?.stop();
}, 30_000);

const FINALIZER = "resources-finalizer.argocd.argoproj.io";
const elements = (...names: string[]) => [{ list: { elements: names.map((name) => ({ name, rev: "1" })) } }];
const template = (repo = "sets") => ({
  metadata: { name: "{{.name}}", labels: { env: "{{.name}}" } },
  spec: {
    project: "default",
    source: { repoURL: w.git.cloneUrl(repo), path: ".", targetRevision: "main" },
    destination: { name: "in-cluster", namespace: "{{.name}}" },
    syncPolicy: {
      automated: { prune: true },
      syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"],
    },
  },
});
const make = async (name: string, spec: ApplicationSetSpec) =>
  value(
    await w.client.create(APPLICATION_SET, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name, namespace: w.namespace },
      spec: { goTemplate: true, goTemplateOptions: ["missingkey=error"], template: template(), ...spec },
    }),
  ) as ApplicationSet;
const change = async (name: string, spec: object) =>
  value(await w.client.mergePatch(APPLICATION_SET, w.namespace, name, { spec }));
const setNow = async (name: string) => value(await w.client.get(APPLICATION_SET, w.namespace, name)) as ApplicationSet;
const said = (set: ApplicationSet, type: SetCondition["type"]) =>
  set.status?.conditions?.find((one) => one.type === type);
const settled = (name: string, fits: (set: ApplicationSet) => boolean, what?: string) =>
  until(() => setNow(name), fits, what);
const names = async (owner: string) =>
  value(await w.client.list(RESOURCES.application, { namespace: w.namespace }))
    .items.filter(
      ({ metadata }) => metadata.ownerReferences?.some((one) => one.name === owner) && !metadata.deletionTimestamp,
    )
    .map(({ metadata }) => metadata.name)
    .sort();
const failing = (set: ApplicationSet) => said(set, "ErrorOccurred")?.status === "True";
const well = (set: ApplicationSet) => said(set, "ResourcesUpToDate")?.status === "True";

test("a set makes applications, changes them and deletes those it does not make any more", async () => {
  await w.git.createRepository("sets", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  await make("basic", { generators: elements("one", "two") });
  await until(
    () => names("basic"),
    (all) => all.length === 2,
  );
  await w.until("one", synced, "Synced");
  const app = await w.until("two", synced, "Synced");
  const set = await settled(
    "basic",
    (one) => one.status?.resources?.every(({ status }) => status === "Synced") === true,
    "reported",
  );
  expect(app.metadata.ownerReferences).toEqual([
    expect.objectContaining({ kind: "ApplicationSet", name: "basic", uid: set.metadata.uid, controller: true }),
  ]);
  expect(app.metadata.finalizers).toEqual([FINALIZER]);
  expect(set.status?.conditions?.map(({ type, status }) => [type, status])).toEqual([
    ["ErrorOccurred", "False"],
    ["ParametersGenerated", "True"],
    ["ResourcesUpToDate", "True"],
  ]);
  expect(set.status).toMatchObject({ resourcesCount: 2, health: { status: "Healthy" } });
  expect(await w.object(CONFIG_MAP, "one", "a")).toBeDefined();

  await change("basic", { generators: elements("two", "three") });
  await until(
    () => names("basic"),
    (all) => all.join() === "three,two",
  );
  await until(
    () => w.object(CONFIG_MAP, "one", "a"),
    // A deletion in the foreground does not end here.
    (object) => object === undefined || object.metadata.deletionTimestamp !== undefined,
    "pruned with its application",
  );
});

test("what somebody changes in an application is put back, but not what is preserved or ignored", async () => {
  await make("kept", {
    generators: elements("kept-a"),
    preservedFields: { annotations: ["team"], labels: ["owner"] },
    ignoreApplicationDifferences: [
      { jsonPointers: ["/spec/source/targetRevision"], jqPathExpressions: [".spec.syncPolicy"] },
    ],
  });
  await until(
    () => names("kept"),
    (all) => all.length === 1,
  );
  await w.until("kept-a", synced, "Synced");
  const patch = {
    metadata: { annotations: { team: "a", other: "b" }, labels: { owner: "me", env: "wrong" } },
    spec: {
      source: { targetRevision: "HEAD" },
      syncPolicy: { automated: null },
      destination: { namespace: "elsewhere" },
    },
  };
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "kept-a", patch));
  const app = await w.until("kept-a", ({ spec }) => spec.destination.namespace === "kept-a", "put back");
  expect(app.metadata.annotations).toEqual({ team: "a" });
  expect(app.metadata.labels).toEqual({ owner: "me", env: "kept-a" });
  expect(app.spec.source?.targetRevision).toBe("HEAD");
  expect(app.spec.syncPolicy?.automated).toBeUndefined();
});

test("nothing is deleted when a generator fails: absence is not deletion", async () => {
  const repository = await w.git.createRepository("dirs", {
    files: { "apps/dir-a/x.yaml": configMap("x", {}), "apps/dir-b/x.yaml": configMap("x", {}) },
  });
  const url = w.git.cloneUrl("dirs");
  const git = (repoURL: string) => [
    { git: { repoURL, revision: "main", directories: [{ path: "apps/*" }], requeueAfterSeconds: 3_600 } },
  ];
  const dirs = { ...template("dirs"), metadata: { name: "{{.path.basename}}" } };
  dirs.spec = {
    ...dirs.spec,
    source: { ...dirs.spec.source, path: "{{.path.path}}" },
    destination: { name: "in-cluster", namespace: "{{.path.basename}}" },
  };
  await make("dirs", { generators: git(url), template: dirs });
  await until(
    () => names("dirs"),
    (all) => all.join() === "dir-a,dir-b",
  );
  await change("dirs", { generators: git(`${url}-gone`) });
  const failed = await settled("dirs", failing, "failing");
  expect(said(failed, "ErrorOccurred")).toMatchObject({ reason: "RepositoryNotFound" });
  expect(await names("dirs")).toEqual(["dir-a", "dir-b"]);
  await repository.commit({ "apps/dir-b/x.yaml": null, "apps/dir-c/x.yaml": configMap("x", {}) }, "Change folders");
  await change("dirs", { generators: git(url) });
  await until(
    () => names("dirs"),
    (all) => all.join() === "dir-a,dir-c",
  );
  await repository.commit({ "apps/dir-d/x.yaml": configMap("x", {}) }, "One more");
  // A refresh is asked for.
  const annotations = { "argocd.argoproj.io/application-set-refresh": "true" };
  value(await w.client.mergePatch(APPLICATION_SET, w.namespace, "dirs", { metadata: { annotations } }));
  await until(
    () => names("dirs"),
    (all) => all.join() === "dir-a,dir-c,dir-d",
  );
  await settled(
    "dirs",
    ({ metadata }) => !metadata.annotations?.["argocd.argoproj.io/application-set-refresh"],
    "answered",
  );
});

test.each<[string, ApplicationSetSpec, RegExp]>([
  ["twice", { generators: elements("same", "same") }, /duplicate name: same/],
  ["typo", { generators: [{ lists: {} } as never] }, /unrecognized generators: lists/],
  [
    "keyless",
    { generators: elements("k"), template: { metadata: { name: "{{.nope}}" }, spec: {} } },
    /map has no entry for key "nope"/,
  ],
  ["named", { generators: elements("Bad_Name") }, /"Bad_Name" is not a name of an application/],
  ["stepped", { generators: elements("s"), strategy: { type: "Sometimes" } }, /neither AllAtOnce nor RollingSync/],
  [
    "jq",
    { generators: elements("j"), ignoreApplicationDifferences: [{ jqPathExpressions: [".["] }] },
    /cannot be used/,
  ],
  ["shapeless", { generators: [{ list: { elements: "x" } }] } as never, /./],
])("a set that is wrong says so and makes nothing: %s", async (name, spec, why) => {
  await make(name, spec);
  const set = await settled(name, failing, "failing");
  expect(said(set, "ErrorOccurred")?.message).toMatch(why);
  expect(set.status?.health?.status).toBe("Degraded");
  expect(await names(name)).toEqual([]);
});

test("an application of somebody else is not taken, and its name is said", async () => {
  await w.app("taken", { repo: "sets", path: "elsewhere" });
  await make("taker", { generators: elements("taken", "free") });
  const set = await settled("taker", failing, "failing");
  expect(said(set, "ErrorOccurred")).toMatchObject({
    reason: "ApplicationNameTaken",
    message: expect.stringContaining("application taken exists already"),
  });
  expect(await names("taker")).toEqual(["free"]);
  expect((await w.get("taken")).metadata.ownerReferences).toBeUndefined();
  // When the name is free, the set has it.
  value(await w.client.delete(RESOURCES.application, w.namespace, "taken"));
  await until(
    () => names("taker"),
    (all) => all.join() === "free,taken",
  );
  await settled("taker", well, "well");
});

test.each<["create-only" | "create-update" | "create-delete", string, string]>([
  ["create-only", "gone,stays", "main"],
  ["create-update", "gone,stays", "HEAD"],
  ["create-delete", "stays", "main"],
])("with policy %s a set leaves %s, at %s", async (policy, left, revision) => {
  const own = (name: string) => `${policy}-${name}`;
  const spec = { generators: elements(own("stays"), own("gone")), syncPolicy: { applicationsSync: policy } };
  await make(policy, spec);
  await until(
    () => names(policy),
    (all) => all.length === 2,
  );
  await change(policy, {
    generators: [...elements(own("stays")), ...elements(own("new"))],
    template: { spec: { source: { targetRevision: "HEAD" } } },
  });
  await until(
    () => names(policy),
    (all) => all.includes(own("new")),
    "made",
  );
  await settled(policy, well, "well");
  expect((await names(policy)).filter((name) => name !== own("new"))).toEqual(left.split(",").map(own));
  expect((await w.get(own("stays"))).spec.source?.targetRevision).toBe(revision);
});

test("applications outlive a set that may not delete, and lose it as their owner", async () => {
  await make("outlived", {
    generators: elements("survivor"),
    syncPolicy: { applicationsSync: "create-update", preserveResourcesOnDeletion: true },
  });
  await until(
    () => names("outlived"),
    (all) => all.length === 1,
  );
  await settled("outlived", ({ metadata }) => metadata.finalizers?.includes(FINALIZER) === true, "held");
  expect((await w.get("survivor")).metadata.finalizers).toBeUndefined();
  value(await w.client.delete(APPLICATION_SET, w.namespace, "outlived"));
  await until(
    async () => (await w.client.get(APPLICATION_SET, w.namespace, "outlived")).kind,
    (kind) => kind === "stop",
    "gone",
  );
  expect((await w.get("survivor")).metadata.ownerReferences ?? []).toEqual([]);
  // The same set, made again, takes back what is still what it makes.
  await make("outlived", { generators: elements("survivor") });
  await until(
    () => names("outlived"),
    (all) => all.join() === "survivor",
  );
});

test("a progressive sync goes step by step, as many at once as it may", async () => {
  const repository = await w.git.createRepository("rolled", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  const order: string[] = [];
  const step = (...values: string[]) => ({ matchExpressions: [{ key: "env", operator: "In", values }] });
  const spec: ApplicationSetSpec = {
    generators: elements("roll-dev", "roll-prod-a", "roll-prod-b", "roll-other"),
    template: template("rolled"),
    strategy: {
      type: "RollingSync",
      rollingSync: { steps: [step("roll-dev"), { ...step("roll-prod-a", "roll-prod-b"), maxUpdate: "10%" }] },
    },
  };
  await make("rolling", spec);
  const done = (set: ApplicationSet) => said(set, "RolloutProgressing")?.reason === "ApplicationSetRolloutComplete";
  const steps = (set: ApplicationSet) =>
    Object.fromEntries((set.status?.applicationStatus ?? []).map((one) => [one.application, one]));
  await settled(
    "rolling",
    (set) => {
      for (const { application, status } of set.status?.applicationStatus ?? []) {
        if (status !== "Waiting" && !order.includes(application)) order.push(application);
      }
      return done(set);
    },
    "rolled out",
  );
  expect(order[0]).toBe("roll-dev");
  expect(order.sort()).toEqual(["roll-dev", "roll-prod-a", "roll-prod-b"]);
  const set = await setNow("rolling");
  expect(steps(set)["roll-other"]).toMatchObject({ step: "-1", status: "Waiting" });
  expect(steps(set)["roll-prod-b"]).toMatchObject({
    step: "2",
    status: "Healthy",
    targetRevisions: [expect.stringMatching(/^[0-9a-f]{40}$/)],
  });
  const other = await w.get("roll-other");
  expect(other.status?.operationState).toBeUndefined();
  expect((await w.get("roll-dev")).spec.syncPolicy?.automated).toEqual({ prune: true, enabled: false });

  // A new commit: development first, and production only when that is healthy.
  await repository.commit({ "a.yaml": configMap("a", { a: "2" }) }, "Second");
  for (const name of ["roll-dev", "roll-prod-a", "roll-prod-b"]) await w.refresh(name);
  const data = async (name: string) => (await w.object(CONFIG_MAP, name, "a"))?.data?.a;
  await until(
    async () => Promise.all(["roll-dev", "roll-prod-a", "roll-prod-b"].map(data)),
    (all) => all.every((one) => one === "2"),
    "at 2",
  );
  await settled("rolling", done, "rolled out again");

  // An older release, and an older Argo CD, took the automation away instead of turning it off: putting it back is no reason to sync.
  const startedAt = async () => (await w.get("roll-dev")).status?.operationState?.startedAt;
  const before = await startedAt();
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "roll-dev", {
      spec: { syncPolicy: { automated: null } },
    }),
  );
  const automated = async () => (await w.get("roll-dev")).spec.syncPolicy?.automated;
  await until(automated, (now) => now?.enabled === false, "turned off again");
  await change("rolling", { goTemplateOptions: ["missingkey=error", "missingkey=error"] });
  await settled("rolling", done, "looked at again");
  expect(await startedAt()).toBe(before);
});

test("a progressive sync does not repeat what failed, and goes no further; the fix goes through all steps", async () => {
  const bad = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n";
  const repository = await w.git.createRepository("broken-roll", { files: { "s.yaml": bad } });
  const step = (value: string) => ({ matchExpressions: [{ key: "env", operator: "In", values: [value] }] });
  const steps = [step("broken-a"), step("broken-b")];
  const strategy: ApplicationSetSpec["strategy"] = { type: "RollingSync", rollingSync: { steps } };
  // Unless the template says otherwise, a rollout's sync is tried five times more.
  const { metadata, spec } = template("broken-roll");
  const once = { metadata, spec: { ...spec, syncPolicy: { ...spec.syncPolicy, retry: { limit: 0 } } } };
  await make("broken-roll", { generators: elements("broken-a", "broken-b"), template: once, strategy });
  const stepOf = (set: ApplicationSet, name: string) =>
    set.status?.applicationStatus?.find(({ application }) => application === name);
  await settled("broken-roll", (set) => stepOf(set, "broken-a")?.status === "Progressing", "begun");
  const failed = await w.until(
    "broken-a",
    (app) => app.operation === undefined && app.status?.operationState?.phase === "Failed",
    "failed",
  );
  // News of the application and of the set are looked at, and are no reason to begin again.
  for (const rev of ["2", "3"]) {
    await w.refresh("broken-a");
    await change("broken-roll", { generators: elements("broken-a", "broken-b", `broken-more-${rev}`) });
    await settled("broken-roll", (set) => stepOf(set, `broken-more-${rev}`) !== undefined, `with a third, ${rev}`);
  }
  expect((await w.get("broken-a")).status?.operationState?.startedAt).toBe(failed.status?.operationState?.startedAt);
  expect(stepOf(await setNow("broken-roll"), "broken-b")?.status).toBe("Waiting");
  expect((await w.get("broken-b")).status?.operationState).toBeUndefined();

  await repository.commit({ "s.yaml": bad.replace("99999", "99") }, "The fix");
  for (const name of ["broken-a", "broken-b"]) await w.refresh(name);
  await settled(
    "broken-roll",
    (set) => said(set, "RolloutProgressing")?.reason === "ApplicationSetRolloutComplete",
    "rolled out",
  );
  for (const name of ["broken-a", "broken-b"]) expect(synced(await w.get(name))).toBe(true);
});

test("clusters come and go with their Secrets, and a plugin is asked with its token", async () => {
  const asked: { authorization?: string; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      asked.push({ authorization: request.headers.authorization, body });
      response.end(JSON.stringify({ output: { parameters: [{ name: "plug-a" }, { name: "plug-b" }] } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as { port: number };
    const create = async (resource: Resource, object: object) =>
      value(await w.client.create(resource, { apiVersion: "v1", kind: resource.kind, ...object } as KubeObject));
    const at = (name: string, labels = {}) => ({ metadata: { name, namespace: w.namespace, labels } });
    await create(CONFIG_MAP, {
      ...at("plug"),
      data: { baseUrl: `http://127.0.0.1:${port}`, token: "$plug-token:key" },
    });
    await create(RESOURCES.secret, { ...at("plug-token"), stringData: { key: "plugin-token-value" } });
    await make("plugged", {
      generators: [{ plugin: { configMapRef: { name: "plug" }, input: { parameters: { x: 1 } } } }],
    });
    await until(
      () => names("plugged"),
      (all) => all.join() === "plug-a,plug-b",
    );
    // News of the applications are no reason to ask again.
    await w.until("plug-a", synced, "Synced");
    await settled(
      "plugged",
      (set) => set.status?.resources?.every(({ status }) => status === "Synced") === true,
      "reported",
    );
    expect(asked).toHaveLength(1);
    expect(asked[0]).toEqual({
      authorization: "Bearer plugin-token-value",
      body: '{"applicationSetName":"plugged","input":{"parameters":{"x":1}}}',
    });

    const selector = { matchLabels: { env: "prod" } };
    const clustered = { ...template(), metadata: { name: "on-{{.nameNormalized}}" } };
    clustered.spec = { ...clustered.spec, destination: { name: "{{.name}}", namespace: "x" } };
    await make("clustered", { generators: [{ clusters: { selector } }], template: clustered });
    await settled("clustered", well, "well");
    expect(await names("clustered")).toEqual([]);
    const labels = { "argocd.argoproj.io/secret-type": "cluster", env: "prod" };
    await create(RESOURCES.secret, {
      ...at("far", labels),
      stringData: { name: "far_away", server: "https://127.0.0.1:1", config: "{}" },
    });
    await until(
      () => names("clustered"),
      (all) => all.join() === "on-far-away",
    );
    value(await w.client.delete(RESOURCES.secret, w.namespace, "far"));
    await until(
      () => names("clustered"),
      (all) => all.length === 0,
    );
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
