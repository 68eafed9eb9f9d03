import { KUBE } from "../../server/kube/errors.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, condition, configMap, synced, value, type World, world } from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

type App = Parameters<typeof synced>[0];
const rbac = (kind: string, plural: string): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind,
  plural,
  namespaced: true,
});
const all = { server: "*", namespace: "*" };
const everything = { sourceRepos: ["*"], destinations: [all], clusterResourceWhitelist: [{ group: "*", kind: "*" }] };
async function project(name: string, spec: object): Promise<KubeObject> {
  const object = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name, namespace: w.namespace },
    spec,
  };
  return value(await w.client.apply(RESOURCES.appProject, object));
}
const namespace = async (name: string) =>
  value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
const results = (app: App) => app.status?.operationState?.syncResult?.resources ?? [];
const plain = {
  automated: { prune: true, selfHeal: true },
  retry: { limit: 0 },
  syncOptions: ["PrunePropagationPolicy=background"],
};

test("an application of a project that does not exist is refused by name, and goes on when it is there", async () => {
  await w.git.createRepository("absent", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  await w.app("absent", { repo: "absent", project: "coming" });
  const app = await w.until("absent", (a) => condition(a, "ProjectNotFound") !== undefined, "refused");
  expect(condition(app, "ProjectNotFound")).toMatchObject({
    type: "InvalidSpecError",
    message: "Application referencing project coming which does not exist",
  });
  expect(await w.object(CONFIG_MAP, "absent", "a")).toBeUndefined();
  await project("coming", everything);
  await w.until("absent", synced, "Synced");
  // Withdrawn: nothing that is there is touched.
  await project("coming", { ...everything, sourceRepos: ["https://git.example/**"] });
  const refused = await w.until("absent", (a) => condition(a, "SourceNotPermitted") !== undefined, "refused");
  expect(refused.status?.sync?.status).toBe("Unknown");
  expect(await w.object(CONFIG_MAP, "absent", "a")).toBeDefined();
});

test("a chart's dependency comes from where the project permits it, and a change of the project is heard at once", async () => {
  const needs = 'dependencies: [{name: d, version: "1", repository: "https://charts.corp.internal"}]';
  await w.git.createRepository("needy", {
    files: { "Chart.yaml": `apiVersion: v2\nname: c\nversion: 0.1.0\n${needs}\n` },
  });
  await project("needy", { ...everything, sourceRepos: [w.git.cloneUrl("needy")] });
  await w.app("needy", { repo: "needy", project: "needy" });
  const app = await w.until("needy", (a) => condition(a, "DependencyRefused") !== undefined, "refused");
  expect(condition(app, "DependencyRefused")?.message).toMatch(/not permitted by the project's sourceRepos/);
  // Permitted now, but it is a name of a private network: those are registered.
  await project("needy", everything);
  await w.until(
    "needy",
    (a) => /a private address/.test(condition(a, "DependencyRefused")?.message ?? ""),
    "permitted",
  );
});

test("a project that cannot be read permits nothing", async () => {
  await project("broken", { ...everything, destinations: "everywhere" });
  await w.git.createRepository("broken", { files: { "a.yaml": configMap("a", {}) } });
  await w.app("broken", { repo: "broken", project: "broken" });
  const app = await w.until("broken", (a) => condition(a, "ProjectInvalid") !== undefined, "refused");
  expect(condition(app, "ProjectInvalid")?.message).toMatch(/spec\.destinations must be a list/);
});

test("an object of a kind or namespace that the project does not permit keeps everything of its sync out", async () => {
  await namespace("fenced");
  await namespace("elsewhere");
  await project("fenced", {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "fenced" }],
    namespaceResourceBlacklist: [{ group: "", kind: "Secret" }],
  });
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n";
  await w.git.createRepository("fenced", {
    files: {
      "a.yaml": configMap("a", { a: "1" }),
      "s.yaml": secret,
      "b.yaml": configMap("b", {}, ", namespace: elsewhere"),
      "n.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n",
    },
  });
  await w.app("fenced", { repo: "fenced", project: "fenced", syncPolicy: plain });
  const app = await w.until("fenced", (a) => a.status?.operationState?.phase === "Failed", "Failed");
  expect(app.status?.operationState?.message).toMatch(/^one or more synchronization tasks are not valid/);
  expect(Object.fromEntries(results(app).map((r) => [`${r.kind}/${r.name}`, r.message]))).toEqual({
    "Secret/s": "resource :Secret is not permitted in project fenced",
    "ConfigMap/b": "namespace elsewhere is not permitted in project 'fenced'",
    "Namespace/mine": "resource :Namespace is not permitted in project fenced",
  });
  expect(Object.fromEntries((app.status?.resources ?? []).map((r) => [`${r.kind}/${r.name}`, r.status]))).toEqual({
    "ConfigMap/a": "OutOfSync",
    "ConfigMap/b": "Unknown",
    "Namespace/mine": "Unknown",
    "Secret/s": "Unknown",
  });
  for (const [where, name] of [
    ["fenced", "a"],
    ["elsewhere", "b"],
  ] as const)
    expect(await w.object(CONFIG_MAP, where, name)).toBeUndefined();
  await w.git.commit("fenced", { "s.yaml": null, "b.yaml": null, "n.yaml": null }, "what is permitted");
  await w.refresh("fenced");
  await w.until("fenced", synced, "Synced");
});

test("what a project does not permit any more is neither pruned nor deleted", async () => {
  await project("narrowed", everything);
  await w.git.createRepository("narrowed", {
    files: { "a.yaml": configMap("a", {}), "b.yaml": configMap("b", {}), "s.txt": "" },
  });
  await namespace("narrowed");
  await w.app(
    "narrowed",
    { repo: "narrowed", project: "narrowed", syncPolicy: plain },
    { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] },
  );
  await w.until("narrowed", synced);
  await project("narrowed", { ...everything, namespaceResourceBlacklist: [{ group: "", kind: "ConfigMap" }] });
  await w.until("narrowed", (a) => condition(a, "NotPermitted") !== undefined, "refused");
  value(await w.client.delete(RESOURCES.application, w.namespace, "narrowed"));
  await gone("narrowed");
  expect(await w.object(CONFIG_MAP, "narrowed", "a")).toBeDefined();
});

async function gone(name: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while ((await w.object(RESOURCES.application, w.namespace, name)) && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 25));
  expect(await w.object(RESOURCES.application, w.namespace, name)).toBeUndefined();
}

test("a project's account writes, and what it may not write is not written", async () => {
  await namespace("acting");
  const api = "rbac.authorization.k8s.io/v1";
  const metadata = { name: "deployer", namespace: "acting" };
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["create", "patch", "delete"] }];
  value(await w.client.apply(rbac("Role", "roles"), { apiVersion: api, kind: "Role", metadata, rules }));
  value(
    await w.client.apply(rbac("RoleBinding", "rolebindings"), {
      apiVersion: api,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "deployer" },
      subjects: [{ kind: "ServiceAccount", name: "deployer", namespace: "acting" }],
    }),
  );
  await project("acting", {
    ...everything,
    destinationServiceAccounts: [{ server: "*", namespace: "acting", defaultServiceAccount: "deployer" }],
  });
  await w.git.createRepository("acting", {
    files: { "a.yaml": configMap("a", { a: "1" }), "s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" },
  });
  await w.app("acting", { repo: "acting", project: "acting", syncPolicy: plain });
  const app = await w.until("acting", (a) => a.status?.operationState?.phase === "Failed", "Failed");
  const denied = results(app).find((r) => r.kind === "Secret");
  expect(denied).toMatchObject({ status: "SyncFailed", reason: KUBE.forbidden });
  expect(denied?.message).toContain("system:serviceaccount:acting:deployer");
  expect(await w.object(RESOURCES.secret, "acting", "s")).toBeUndefined();
  expect(await w.object(CONFIG_MAP, "acting", "a")).toBeDefined();
  // To make a namespace it has no right, but this one is there.
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "acting", {
      spec: { syncPolicy: { syncOptions: ["CreateNamespace=true"] } },
    }),
  );
  await w.git.commit("acting", { "s.yaml": null, "b.yaml": configMap("b", {}) }, "only what it may");
  await w.refresh("acting");
  await w.until("acting", synced);
  // A destination for which the project names no account: nothing is written.
  await w.app("actless", {
    repo: "acting",
    project: "acting",
    destination: { name: "in-cluster", namespace: "other" },
  });
  const refused = await w.until("actless", (a) => condition(a, "ServiceAccountNotFound") !== undefined, "refused");
  expect(condition(refused, "ServiceAccountNotFound")?.message).toMatch(
    /no matching service account found .* namespace other/,
  );
});

describe("sync windows", () => {
  const deny = {
    kind: "deny",
    schedule: "* * * * *",
    duration: "2h",
    applications: ["held*"],
    description: "stocktaking",
  };

  test("an automatic sync waits for its window, names it, and runs when it opens", async () => {
    await project("windows", { ...everything, syncWindows: [deny] });
    await w.git.createRepository("held", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await w.app("held", { repo: "held", project: "windows" });
    const app = await w.until("held", (a) => condition(a, "SyncWindow") !== undefined, "held back");
    expect(app.status?.sync?.status).toBe("OutOfSync");
    expect(app.status?.operationState).toBeUndefined();
    expect(condition(app, "SyncWindow")?.message).toBe(
      'Sync operation blocked by sync window (deny "* * * * *" for 2h: stocktaking)',
    );
    expect(await w.object(CONFIG_MAP, "held", "a")).toBeUndefined();
    await project("windows", { ...everything, syncWindows: [{ ...deny, schedule: "0 0 31 2 *" }] });
    const after = await w.until("held", synced);
    expect(condition(after, "SyncWindow")).toBeUndefined();
  });

  test("a sync by hand is held back too, unless the window lets people through; it can be terminated", async () => {
    await project("byhand", { ...everything, syncWindows: [deny] });
    await w.git.createRepository("byhand", { files: { "a.yaml": configMap("a", { a: "1" }) } });
    await w.app("held-byhand", {
      repo: "byhand",
      project: "byhand",
      syncPolicy: { syncOptions: ["CreateNamespace=true"] },
    });
    await w.until("held-byhand", (a) => a.status?.sync?.status === "OutOfSync");
    const ask = async () =>
      value(
        await w.client.mergePatch(RESOURCES.application, w.namespace, "held-byhand", {
          operation: { sync: {}, initiatedBy: { username: "ana" } },
        }),
      );
    await ask();
    const blocked = (a: App) => /blocked by sync window/.test(a.status?.operationState?.message ?? "");
    const app = await w.until("held-byhand", blocked, "held back");
    expect(app.status?.operationState?.phase).toBe("Running");
    expect(app.operation).toBeUndefined();
    value(
      await w.client.mergePatch(RESOURCES.application, w.namespace, "held-byhand", {
        status: { operationState: { phase: "Terminating" } },
      }),
    );
    await w.until("held-byhand", (a) => a.status?.operationState?.phase === "Failed", "terminated");
    await ask();
    await w.until("held-byhand", (a) => a.status?.operationState?.phase === "Running" && blocked(a), "held back again");
    expect(await w.object(CONFIG_MAP, "held-byhand", "a")).toBeUndefined();
    await project("byhand", { ...everything, syncWindows: [{ ...deny, manualSync: true }] });
    await w.until("held-byhand", synced);
  });

  test("a window that cannot be read lets nothing through", async () => {
    await project("badwindow", { ...everything, syncWindows: [{ ...deny, duration: "1day" }] });
    await w.git.createRepository("badwindow", { files: { "a.yaml": configMap("a", {}) } });
    await w.app("held-bad", { repo: "badwindow", project: "badwindow" });
    const app = await w.until("held-bad", (a) => condition(a, "SyncWindow") !== undefined, "held back");
    expect(condition(app, "SyncWindow")?.message).toMatch(/cannot parse duration '1day'/);
  });
});
