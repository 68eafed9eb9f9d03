import { REPO } from "../../server/agent/repo/types.ts";
import { KUBE } from "../../server/kube/errors.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import {
  CONFIG_MAP,
  condition,
  configMap,
  DEPLOYMENT,
  fourObjects,
  synced,
  value,
  type World,
  world,
} from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const at = (revision: string) => (app: Parameters<typeof synced>[0]) =>
  synced(app) && app.status?.sync?.revision === revision;
const unknown = (reason: string) => (app: Parameters<typeof synced>[0]) =>
  app.status?.sync?.status === "Unknown" && condition(app, reason) !== undefined;
const secret = (name: string, type: string, data: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: w.namespace, labels: { "argocd.argoproj.io/secret-type": type } },
  stringData: data,
});

test("an application that is created becomes Synced, and a commit becomes live", async () => {
  await w.git.createRepository("first", { files: { "web/all.yaml": fourObjects() } });
  await w.app("first", { repo: "first", path: "web" }, { annotations: { "outpost.dev/generation": "7" } });
  const app = await w.until("first", synced, "Synced");
  expect(app.status).toMatchObject({
    sourceType: "Directory",
    observedGeneration: 7,
    history: [{ id: 0, initiatedBy: { automated: true } }],
    summary: { images: ["registry.example/web:1"] },
    operationState: { message: "successfully synced (all tasks run)" },
  });
  expect(app.status?.resources?.map((r) => `${r.kind} ${r.status}`)).toEqual([
    "ConfigMap Synced",
    "Service Synced",
    "ServiceAccount Synced",
    "Deployment Synced",
  ]);
  const made = await w.object(DEPLOYMENT, "first", "web");
  expect(made?.metadata.annotations).toMatchObject({
    "argocd.argoproj.io/tracking-id": "first:apps/Deployment:first/web",
  });

  const next = await w.git.commit("first", { "web/all.yaml": fourObjects("2") }, "two");
  await w.refresh("first");
  expect((await w.until("first", at(next))).status?.history).toHaveLength(2);
  expect((await w.object(CONFIG_MAP, "first", "web"))?.data).toEqual({ rev: "2" });
});

test("drift is repaired by itself, and a deleted object comes back", async () => {
  await w.git.createRepository("drift", { files: { "a.yaml": configMap("a", { key: "git" }) } });
  await w.app("drift", { repo: "drift" });
  await w.until("drift", synced);
  value(await w.client.mergePatch(CONFIG_MAP, "drift", "a", { data: { key: "hand" } }));
  await w.until(
    "drift",
    (app) => synced(app) && app.status?.operationState?.operation.sync?.autoHealAttemptsCount === 1,
    "healed",
  );
  expect((await w.object(CONFIG_MAP, "drift", "a"))?.data).toEqual({ key: "git" });
  value(await w.client.delete(CONFIG_MAP, "drift", "a"));
  await w.until(
    "drift",
    (app) => synced(app) && app.status?.operationState?.operation.sync?.autoHealAttemptsCount === 2,
    "healed again",
  );
  expect((await w.object(CONFIG_MAP, "drift", "a"))?.data).toEqual({ key: "git" });
});

test("what Git no longer has is pruned, and only that", async () => {
  const files = Object.fromEntries(["a", "b", "c", "d"].map((n) => [`${n}.yaml`, configMap(n, { n })]));
  await w.git.createRepository("prune", { files });
  await w.app("prune", { repo: "prune" });
  await w.until("prune", synced);
  value(
    await w.client.apply(CONFIG_MAP, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "by-hand", namespace: "prune" },
    }),
  );
  const next = await w.git.commit("prune", { "d.yaml": null }, "without d");
  await w.refresh("prune");
  const app = await w.until("prune", at(next));
  expect(app.status?.operationState?.syncResult?.resources).toContainEqual(
    expect.objectContaining({ name: "d", status: "Pruned", message: "pruned" }),
  );
  expect(await w.object(CONFIG_MAP, "prune", "d")).toBeUndefined();
  expect(await w.object(CONFIG_MAP, "prune", "by-hand")).toBeDefined();
});

test("more than half of an application is not pruned without consent", async () => {
  const names = ["a", "b", "c", "d", "e"];
  await w.git.createRepository("shrink", {
    files: Object.fromEntries(names.map((n) => [`${n}.yaml`, configMap(n, { n })])),
  });
  await w.app("shrink", { repo: "shrink" });
  await w.until("shrink", synced);
  const next = await w.git.commit(
    "shrink",
    Object.fromEntries(names.slice(1).map((n) => [`${n}.yaml`, null])),
    "nearly empty",
  );
  await w.refresh("shrink");
  await w.until("shrink", (app) => condition(app, "PruneNeedsConsent") !== undefined, "asking for consent");
  expect(await w.object(CONFIG_MAP, "shrink", "e")).toBeDefined();
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "shrink", {
      operation: { sync: { prune: true }, initiatedBy: { username: "ana" } },
    }),
  );
  const app = await w.until("shrink", at(next));
  expect(app.operation).toBeUndefined();
  expect(await w.object(CONFIG_MAP, "shrink", "e")).toBeUndefined();
});

test("an empty rendering prunes nothing", async () => {
  await w.git.createRepository("empty", { files: { "a.yaml": configMap("a", {}), "keep.txt": "text" } });
  await w.app("empty", { repo: "empty" });
  await w.until("empty", synced);
  await w.git.commit("empty", { "a.yaml": null }, "nothing");
  await w.refresh("empty");
  await w.until("empty", (app) => condition(app, "PruneWouldEmpty") !== undefined, "refusing");
  expect(await w.object(CONFIG_MAP, "empty", "a")).toBeDefined();
});

describe("bad input ends in a condition with its own reason, and nothing is deleted", () => {
  test("a commit with YAML that does not parse", async () => {
    await w.git.createRepository("badyaml", {
      files: { "a.yaml": configMap("a", { a: "1" }), "b.yaml": configMap("b", { b: "1" }) },
    });
    await w.app("badyaml", { repo: "badyaml" });
    await w.until("badyaml", synced);
    await w.git.commit("badyaml", { "b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b\n" }, "broken");
    await w.refresh("badyaml");
    const app = await w.until("badyaml", unknown(REPO.manifest));
    expect(condition(app, REPO.manifest)?.message).toMatch(/^b\.yaml: line \d+/);
    expect(await w.object(CONFIG_MAP, "badyaml", "b")).toBeDefined();
    await w.git.commit("badyaml", { "b.yaml": configMap("b", { b: "2" }) }, "mended");
    await w.refresh("badyaml");
    await w.until("badyaml", (a) => synced(a) && !a.status?.conditions, "mended");
  });

  test("a branch that is deleted", async () => {
    const repo = await w.git.createRepository("branches", { files: { "x.txt": "x" } });
    await repo.commit({ "a.yaml": configMap("a", { a: "1" }) }, "on a branch", { branch: "release" });
    await w.app("branch", { source: { repoURL: w.git.cloneUrl("branches"), path: ".", targetRevision: "release" } });
    await w.until("branch", synced);
    await w.git.deleteBranch("branches", "release");
    await w.refresh("branch");
    const app = await w.until("branch", unknown(REPO.revision));
    expect(condition(app, REPO.revision)?.message).toMatch(/no branch, tag or commit release/);
    expect(await w.object(CONFIG_MAP, "branch", "a")).toBeDefined();
  });

  test("a wrong password, and the right one afterwards", async () => {
    await w.git.createRepository("private", {
      users: { ana: "right" },
      files: { "a.yaml": configMap("a", { a: "1" }) },
    });
    const url = w.git.cloneUrl("private");
    await w.app("password", { repo: "private" });
    expect(condition(await w.until("password", unknown(REPO.authentication)), REPO.authentication)?.message).toMatch(
      /asks for credentials/,
    );
    value(
      await w.client.create(
        RESOURCES.secret,
        secret("repo-private", "repository", { url, username: "ana", password: "wrong-canary" }),
      ),
    );
    const app = await w.until("password", (a) =>
      /does not accept/.test(condition(a, REPO.authentication)?.message ?? ""),
    );
    expect(JSON.stringify(app)).not.toContain("canary");
    value(
      await w.client.mergePatch(RESOURCES.secret, w.namespace, "repo-private", { stringData: { password: "right" } }),
    );
    await w.until("password", synced);
    w.git.setPassword("private", "ana", "changed");
    await w.refresh("password");
    await w.until("password", unknown(REPO.authentication));
    expect(await w.object(CONFIG_MAP, "password", "a")).toBeDefined();
  });

  test("a repository that is not there", async () => {
    await w.app("norepo", { source: { repoURL: `${w.git.url}/nowhere.git`, path: ".", targetRevision: "main" } });
    await w.until("norepo", unknown(REPO.notFound));
  });

  test("a path that is not in the repository", async () => {
    await w.git.createRepository("paths", { files: { "a.yaml": configMap("a", {}) } });
    await w.app("nopath", { repo: "paths", path: "no/such/path" });
    expect(condition(await w.until("nopath", unknown(REPO.path)), REPO.path)?.message).toBe(
      "path no/such/path is not in the repository",
    );
  });

  test("a kind that the cluster lacks", async () => {
    const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";
    await w.git.createRepository("kinds", { files: { "a.yaml": configMap("a", {}), "w.yaml": widget } });
    await w.app("nokind", {
      repo: "kinds",
      syncPolicy: { automated: {}, syncOptions: ["CreateNamespace=true"], retry: { limit: 0 } },
    });
    const app = await w.until("nokind", (a) => a.status?.operationState?.phase === "Failed");
    expect(app.status?.conditions?.map((c) => `${c.type} ${c.reason}`)).toEqual(
      expect.arrayContaining([`ComparisonError ${KUBE.kindNotFound}`, `SyncError ${KUBE.kindNotFound}`]),
    );
    expect(app.status?.operationState?.message).toMatch(/^one or more synchronization tasks are not valid/);
    expect(app.status?.resources).toContainEqual(
      expect.objectContaining({ kind: "Widget", status: "OutOfSync", health: { status: "Missing" } }),
    );
  });

  test("a namespace that is missing", async () => {
    await w.git.createRepository("spaces", { files: { "a.yaml": configMap("a", {}) } });
    await w.app("nospace", { repo: "spaces", syncPolicy: { automated: {}, retry: { limit: 0 } } });
    const app = await w.until("nospace", (a) => a.status?.operationState?.phase === "Failed");
    expect(condition(app, KUBE.namespaceNotFound)?.message).toMatch(
      /namespaces "nospace" not found; create it, or set the sync option CreateNamespace=true/,
    );
  });

  test("two applications that claim one object", async () => {
    await w.git.createRepository("shared", {
      files: {
        "a.yaml": configMap("one", { of: "a" }, ", namespace: owner-a"),
        "b/b.yaml": configMap("one", { of: "b" }, ", namespace: owner-a"),
      },
    });
    await w.app("owner-a", { repo: "shared" });
    await w.until("owner-a", synced);
    await w.app("owner-b", { repo: "shared", path: "b", destination: { name: "in-cluster", namespace: "owner-a" } });
    const app = await w.until("owner-b", (a) => condition(a, "SharedResource") !== undefined);
    expect(condition(app, "SharedResource")).toMatchObject({
      type: "SharedResourceWarning",
      message: "ConfigMap owner-a/one is part of applications owner-b and owner-a",
    });
    const before = await w.object(CONFIG_MAP, "owner-a", "one");
    await w.refresh("owner-a", "hard");
    await w.refresh("owner-b", "hard");
    expect(await w.object(CONFIG_MAP, "owner-a", "one")).toEqual(before);
    expect(before?.data).toEqual({ of: "a" });
  });

  test("a destination that nobody knows, and a specification without a source", async () => {
    await w.app("nowhere", { repo: "paths", destination: { name: "mars", namespace: "x" } });
    expect(
      condition(await w.until("nowhere", (a) => condition(a, "ClusterNotFound") !== undefined), "ClusterNotFound"),
    ).toMatchObject({
      type: "InvalidSpecError",
      message: "there are no clusters with this name: mars",
    });
    await w.app("nosource", { source: undefined });
    await w.until("nosource", (a) => condition(a, "SourceMissing") !== undefined);
  });
});

test("a repository that is away changes nothing, and drift is still repaired", async () => {
  await w.git.createRepository("away", { files: { "a.yaml": configMap("a", { key: "git" }) } });
  await w.app("away", { repo: "away" });
  await w.until("away", synced);
  w.git.fault("down");
  try {
    await w.refresh("away");
    await w.until(
      "away",
      (app) => condition(app, REPO.unreachable) !== undefined && app.status?.sync?.status === "Synced",
      "warned",
    );
    value(await w.client.mergePatch(CONFIG_MAP, "away", "a", { data: { key: "hand" } }));
    await w.until("away", (app) => app.status?.operationState?.operation.sync?.autoHealAttemptsCount === 1, "healed");
    expect((await w.object(CONFIG_MAP, "away", "a"))?.data).toEqual({ key: "git" });
  } finally {
    w.git.fault("none");
  }
  await w.until("away", (app) => synced(app) && !app.status?.conditions, "back");
});

test("an application without automated sync waits for its operation", async () => {
  await w.git.createRepository("manual", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  const first = (await w.git.repository("manual").tip("main"))!;
  await w.git.commit("manual", { "a.yaml": configMap("a", { a: "2" }) }, "two");
  await w.app("manual", { repo: "manual", syncPolicy: { syncOptions: ["CreateNamespace=true"] } });
  await w.until("manual", (app) => app.status?.sync?.status === "OutOfSync" && app.status.health?.status === "Missing");
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "manual", {
      operation: { sync: {}, initiatedBy: { username: "ana" } },
    }),
  );
  const app = await w.until("manual", synced);
  expect(app.status?.operationState?.operation.initiatedBy).toEqual({ username: "ana" });
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "manual", {
      operation: { sync: { revision: first } },
    }),
  );
  const back = await w.until(
    "manual",
    (a) => a.status?.operationState?.syncResult?.revision === first && a.status.operationState.phase === "Succeeded",
  );
  expect(back.status?.sync?.status).toBe("OutOfSync");
  expect((await w.object(CONFIG_MAP, "manual", "a"))?.data).toEqual({ a: "1" });
});

test("deletion with a finalizer takes the objects along, without one it leaves them", async () => {
  await w.git.createRepository("deleted", {
    files: {
      "a.yaml": configMap("a", {}),
      "b.yaml": configMap("b", {}, ', annotations: {"argocd.argoproj.io/sync-options": Delete=false}'),
    },
  });
  const gone = async (name: string) => {
    value(await w.client.delete(RESOURCES.application, w.namespace, name));
    const deadline = Date.now() + 60_000;
    while (await w.object(RESOURCES.application, w.namespace, name)) {
      if (Date.now() > deadline) throw new Error(`${name} is still there`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  await w.app("cascade", { repo: "deleted" }, { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] });
  await w.until("cascade", synced);
  await gone("cascade");
  expect(await w.object(CONFIG_MAP, "cascade", "a")).toBeUndefined();
  expect(await w.object(CONFIG_MAP, "cascade", "b")).toBeDefined();
  await w.app("orphan", { repo: "deleted" });
  await w.until("orphan", synced);
  await gone("orphan");
  expect(await w.object(CONFIG_MAP, "orphan", "a")).toBeDefined();
});

test("hooks and waves run in their order", async () => {
  const hook = (name: string, phase: string, more = "") =>
    configMap(name, { name }, `, annotations: {"argocd.argoproj.io/hook": ${phase}${more}}`);
  const files = {
    "pre.yaml": hook("pre", "PreSync"),
    "post.yaml": hook("post", "PostSync", ', "argocd.argoproj.io/hook-delete-policy": HookSucceeded'),
    "late.yaml": configMap("late", {}, ', annotations: {"argocd.argoproj.io/sync-wave": "2"}'),
    "early.yaml": configMap("early", {}, ', annotations: {"argocd.argoproj.io/sync-wave": "-1"}'),
    "fail.yaml": hook("fail", "SyncFail"),
  };
  await w.git.createRepository("hooks", { files });
  await w.app("hooks", { repo: "hooks" });
  const app = await w.until("hooks", synced);
  const results = app.status?.operationState?.syncResult?.resources ?? [];
  expect(results.map((r) => [r.name, r.syncPhase, r.hookPhase ?? r.status])).toEqual([
    ["hooks", "PreSync", "Succeeded"],
    ["pre", "PreSync", "Succeeded"],
    ["early", "Sync", "Succeeded"],
    ["late", "Sync", "Succeeded"],
    ["post", "PostSync", "Succeeded"],
  ]);
  const rows = app.status?.resources ?? [];
  expect(rows.filter(({ hook }) => !hook).map((r) => r.name)).toEqual(["early", "late"]);
  expect(rows.filter(({ hook }) => hook).map((r) => r.name)).toContain("pre");
  expect(await w.object(CONFIG_MAP, "hooks", "pre")).toBeDefined();
  // It goes when it is written down that it has run.
  await w.settled(
    async () => (await w.object(CONFIG_MAP, "hooks", "post")) === undefined,
    "without the hook that has succeeded",
  );
});

test("a custom resource is made after the definition that comes with it", async () => {
  const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`;
  await w.git.createRepository("crds", {
    files: {
      "crd.yaml": crd,
      "g.yaml": "apiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 1}\n",
    },
  });
  await w.app("crds", { repo: "crds" });
  const app = await w.until("crds", synced);
  expect(app.status?.resources?.map((r) => `${r.kind} ${r.status}`)).toEqual([
    "CustomResourceDefinition Synced",
    "Gadget Synced",
  ]);
});

test("Helm and Kustomize sources are rendered with their parameters", async () => {
  const chart = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
    "chart/values.yaml": "greeting: default\n",
    "chart/values-prod.yaml": "greeting: file\nwho: file\n",
    "chart/templates/cm.yaml":
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {greeting: {{ .Values.greeting | quote }}, who: {{ .Values.who | quote }}, ns: {{ .Release.Namespace }}}\n",
    "base/kustomization.yaml": "resources: [cm.yaml]\n",
    "base/cm.yaml": configMap("cm", { a: "1" }),
    "overlay/kustomization.yaml": "resources: [../base]\n",
  };
  await w.git.createRepository("tools", { files: chart });
  const repoURL = w.git.cloneUrl("tools");
  await w.app("helm", {
    source: {
      repoURL,
      path: "chart",
      helm: { valueFiles: ["values-prod.yaml"], parameters: [{ name: "who", value: "a,b" }] },
    },
  });
  await w.app("kustomize", {
    source: { repoURL, path: "overlay", kustomize: { namePrefix: "x-", commonLabels: { team: "a" } } },
  });
  await Promise.all([w.until("helm", synced), w.until("kustomize", synced)]);
  expect((await w.object(CONFIG_MAP, "helm", "helm"))?.data).toEqual({ greeting: "file", who: "a,b", ns: "helm" });
  expect((await w.object(CONFIG_MAP, "kustomize", "x-cm"))?.metadata.labels).toMatchObject({ team: "a" });
  await w.git.commit("tools", { "chart/templates/cm.yaml": "{{ .Values.nothing.here }}" }, "broken chart");
  await w.refresh("helm");
  expect(condition(await w.until("helm", unknown(REPO.chart)), REPO.chart)?.message).toMatch(
    /chart chart does not render/,
  );
  await w.refresh("kustomize");
  expect((await w.get("kustomize")).status?.sync?.status).toBe("Synced");
});

test("unchanged objects keep their version over 100 loops and a restart", async () => {
  await w.git.createRepository("still", { files: { "all.yaml": fourObjects() } });
  await w.app("still", { repo: "still" });
  await w.until("still", synced);
  const versions = async () => {
    const objects = await Promise.all([
      w.object(DEPLOYMENT, "still", "web"),
      w.object(CONFIG_MAP, "still", "web"),
      w.object(RESOURCES.namespace, undefined, "still"),
    ]);
    return objects.map((object) => object?.metadata.resourceVersion);
  };
  const before = await versions();
  for (let i = 0; i < 50; i++) await w.refresh("still", i % 10 ? "normal" : "hard");
  await w.restart();
  for (let i = 0; i < 50; i++) await w.refresh("still", i % 10 ? "normal" : "hard");
  expect(await versions()).toEqual(before);
  expect((await w.get("still")).status?.history).toHaveLength(1);
}, 60_000);
