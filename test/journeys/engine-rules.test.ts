import { readFileSync } from "node:fs";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
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

type App = Parameters<typeof synced>[0];
const at = (revision: string) => (app: App) => synced(app) && app.status?.sync?.revision === revision;
const settings = async (data: Record<string, string>): Promise<KubeObject> =>
  value(
    await w.client.apply(CONFIG_MAP, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "argocd-cm", namespace: w.namespace, labels: { "app.kubernetes.io/part-of": "argocd" } },
      data,
    }),
  );
const byHand = async (name: string, patch: object, manager = "hand") => {
  const client = new KubeClient(parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8")), { fieldManager: manager });
  try {
    return value(await client.mergePatch(DEPLOYMENT, name, "web", patch));
  } finally {
    await client.close();
  }
};
const replicas = async (name: string) => (await w.object(DEPLOYMENT, name, "web"))?.spec.replicas;

describe("differences that are ignored", () => {
  const manual = { automated: { prune: true }, syncOptions: ["CreateNamespace=true", "RespectIgnoreDifferences=true"] };
  test.each<[string, object]>([
    ["jq", { jqPathExpressions: [".spec | select(.replicas == 3) | .replicas", ".spec.nothing[].at"] }],
    ["manager", { managedFieldsManagers: ["autoscaler"] }],
    ["pointer", { jsonPointers: ["/spec/replicas"] }],
  ])("by %s: they are none, and a sync leaves them as they are", async (how, rule) => {
    const name = `ignore-${how}`;
    await w.git.createRepository(name, { files: { "a.yaml": fourObjects().replace("replicas: 0", "replicas: 1") } });
    await w.app(name, {
      repo: name,
      syncPolicy: manual,
      ignoreDifferences: [{ group: "apps", kind: "Deployment", ...rule }],
    });
    await w.until(name, synced);
    await byHand(name, { spec: { replicas: 3 } }, "autoscaler");
    await byHand(name, { metadata: { labels: { app: "other" } } });
    // The label is a difference, the number is none.
    await w.until(name, (a) => a.status?.sync?.status === "OutOfSync", "OutOfSync");
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { operation: { sync: {} } }));
    await w.until(name, (a) => a.operation === undefined && synced(a), "Synced");
    expect(await replicas(name)).toBe(3);
    expect((await w.object(DEPLOYMENT, name, "web"))?.metadata.labels?.app).toBe("web");
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { spec: { ignoreDifferences: null } }));
    await w.until(name, (a) => a.status?.sync?.status === "OutOfSync", "OutOfSync without the rule");
  });

  test("for all applications, from the ConfigMap, at once when it changes", async () => {
    await w.git.createRepository("everywhere", { files: { "a.yaml": fourObjects() } });
    await w.app("everywhere", { repo: "everywhere", syncPolicy: manual });
    await w.until("everywhere", synced);
    await byHand("everywhere", { spec: { replicas: 2 } });
    await w.until("everywhere", (a) => a.status?.sync?.status === "OutOfSync");
    await settings({
      "resource.customizations.ignoreDifferences.apps_Deployment": "jqPathExpressions: [.spec.replicas]",
    });
    await w.until("everywhere", synced);
    await settings({});
    await w.until("everywhere", (a) => a.status?.sync?.status === "OutOfSync");
  });

  test("an expression that cannot be read is a condition, not a silence", async () => {
    await w.git.createRepository("badrule", { files: { "a.yaml": configMap("a", {}) } });
    await w.app("badrule", {
      repo: "badrule",
      ignoreDifferences: [{ kind: "ConfigMap", jqPathExpressions: [".data["] }],
    });
    const app = await w.until("badrule", (a) => condition(a, "IgnoreRuleInvalid") !== undefined);
    expect(condition(app, "IgnoreRuleInvalid")?.message).toMatch(/jq path expression \.data\[ cannot be used/);
  });
});

test("kinds that the settings leave out are neither applied nor pruned", async () => {
  await w.git.createRepository("excluded", { files: { "a.yaml": configMap("a", {}), "d.yaml": fourObjects() } });
  await w.app("excluded", { repo: "excluded" });
  await w.until("excluded", synced);
  await settings({ "resource.exclusions": "- {apiGroups: [apps], kinds: [Deployment]}" });
  const app = await w.until("excluded", (a) => condition(a, "Excluded") !== undefined);
  expect(condition(app, "Excluded")).toMatchObject({
    type: "ExcludedResourceWarning",
    message: "Resource apps/Deployment web is excluded in the settings",
  });
  const next = await w.git.commit("excluded", { "d.yaml": null, "b.yaml": configMap("b", {}) }, "without it");
  await w.refresh("excluded");
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "excluded", { operation: { sync: { prune: true } } }),
  );
  await w.until("excluded", at(next));
  expect(await w.object(DEPLOYMENT, "excluded", "web")).toBeDefined();
  await settings({});
});

test("what was applied by another's hand before becomes ours: what Git has no longer is removed", async () => {
  value(
    await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "migrate" } }),
  );
  for (const [manager, name] of [
    ["kubectl-client-side-apply", "a"],
    ["argocd-controller", "b"],
    ["somebody", "c"],
  ]) {
    const client = new KubeClient(parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8")), { fieldManager: manager });
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: name!, namespace: "migrate" },
      data: { old: "1", same: "1" },
    };
    value(await client.create(CONFIG_MAP, object));
    await client.close();
  }
  const files = Object.fromEntries(["a", "b", "c"].map((n) => [`${n}.yaml`, configMap(n, { same: "1" })]));
  await w.git.createRepository("migrate", { files });
  await w.app("migrate", { repo: "migrate" });
  await w.until("migrate", synced);
  expect((await w.object(CONFIG_MAP, "migrate", "a"))?.data).toEqual({ same: "1" });
  expect((await w.object(CONFIG_MAP, "migrate", "b"))?.data).toEqual({ same: "1" });
  // A writer that did not apply keeps its fields.
  expect((await w.object(CONFIG_MAP, "migrate", "c"))?.data).toEqual({ old: "1", same: "1" });
});

test("objects of a namespace that belong to no application are told, where the project asks", async () => {
  const spec = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
  };
  const metadata = { name: "watched", namespace: w.namespace };
  const project = (orphanedResources: object) => ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata,
    spec: { ...spec, orphanedResources },
  });
  value(await w.client.apply(RESOURCES.appProject, project({ warn: true })));
  await w.git.createRepository("orphans", { files: { "a.yaml": configMap("a", {}) } });
  await w.app("orphans", { repo: "orphans", project: "watched" });
  await w.until("orphans", synced);
  for (const name of ["left", "cache-1"])
    value(
      await w.client.create(CONFIG_MAP, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, namespace: "orphans" },
      }),
    );
  await w.refresh("orphans");
  const app = await w.until("orphans", (a) => condition(a, "OrphanedResources") !== undefined);
  expect(condition(app, "OrphanedResources")).toMatchObject({
    type: "OrphanedResourceWarning",
    message: "Application has 2 orphaned resources: /ConfigMap cache-1, /ConfigMap left",
  });
  value(await w.client.apply(RESOURCES.appProject, project({ ignore: [{ kind: "ConfigMap", name: "cache-*" }] })));
  await w.refresh("orphans");
  await w.until("orphans", (a) =>
    /has 1 orphaned resources: \/ConfigMap left/.test(condition(a, "OrphanedResources")?.message ?? ""),
  );
});

test("an application waits for those it depends on, and says for which", async () => {
  for (const name of ["base", "above"]) await w.git.createRepository(name, { files: { "a.yaml": configMap("a", {}) } });
  await w.app("above", { repo: "above" }, { annotations: { "outpost.dev/depends-on": "base" } });
  const waiting = await w.until("above", (a) => condition(a, "DependencyWaiting") !== undefined);
  expect(condition(waiting, "DependencyWaiting")?.message).toMatch(/base \(does not exist\)$/);
  await w.app("base", { repo: "base", syncPolicy: { syncOptions: ["CreateNamespace=true"] } });
  await w.until("above", (a) => /base \(OutOfSync, Missing\)/.test(condition(a, "DependencyWaiting")?.message ?? ""));
  expect(await w.object(CONFIG_MAP, "above", "a")).toBeUndefined();
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "base", { operation: { sync: {} } }));
  await w.until("above", synced);
  await w.app("round", { repo: "base" }, { annotations: { "outpost.dev/depends-on": "round" } });
  const cycle = await w.until("round", (a) => condition(a, "DependencyCycle") !== undefined);
  expect(condition(cycle, "DependencyCycle")?.message).toMatch(/round → round/);
});

test("a newer commit takes the place of an automatic sync that waits", async () => {
  const waves = (image: string) =>
    `${fourObjects().replace("replicas: 0", "replicas: 1").replace("web:1", image)}---\n${configMap("late", { image }, ', annotations: {argocd.argoproj.io/sync-wave: "1"}')}`;
  await w.git.createRepository("newer", { files: { "a.yaml": waves("web:broken") } });
  await w.app("newer", { repo: "newer" });
  // No Pod ever becomes ready here, so the first wave waits for ever.
  await w.until(
    "newer",
    (a) => /^waiting for healthy state of/.test(a.status?.operationState?.message ?? ""),
    "waiting",
  );
  const next = await w.git.commit("newer", { "a.yaml": waves("web:fixed") }, "the fix");
  await w.refresh("newer");
  const app = await w.until(
    "newer",
    (a) => a.status?.operationState?.syncResult?.revision === next && a.status.operationState.phase === "Running",
    "at the newer commit",
  );
  expect(app.status?.operationState?.operation.initiatedBy).toEqual({ automated: true });
  expect((await w.object(DEPLOYMENT, "newer", "web"))?.spec.template.spec.containers[0].image).toBe(
    "registry.example/web:fixed",
  );
  expect(await w.object(CONFIG_MAP, "newer", "late")).toBeUndefined();
});

test("a further attempt goes to the newest commit where that is asked for", async () => {
  const bad = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 99999}]}\n";
  const retry = { limit: 5, backoff: { duration: "1s", factor: 1 }, refresh: true };
  await w.git.createRepository("retry-new", { files: { "s.yaml": bad } });
  await w.app("retry-new", {
    repo: "retry-new",
    syncPolicy: { automated: {}, syncOptions: ["CreateNamespace=true"], retry },
  });
  await w.until("retry-new", (a) => /Retrying attempt #1/.test(a.status?.operationState?.message ?? ""), "retrying");
  const next = await w.git.commit("retry-new", { "s.yaml": bad.replace("99999", "99") }, "a port that exists");
  // No refresh is asked for: the attempt itself looks.
  await w.until("retry-new", at(next));
});
