import type { Application, Operation } from "../../server/agent/controller/application.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "./engine-world.ts";

/** What is known before a sync writes anything: by a dry run of all of it, and of what the cluster does not have. */
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const state = (app: Application) => app.status?.operationState;
const results = (app: Application) =>
  state(app)?.syncResult?.resources?.map((r) => `${r.name} ${r.status} ${r.message}`);
async function sync(name: string, asked: Operation["sync"]): Promise<Application> {
  const before = state(await w.get(name))?.startedAt;
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { operation: { sync: asked } }));
  const ended = (app: Application) =>
    app.operation === undefined && /^(Succeeded|Failed|Error)$/.test(state(app)?.phase ?? "");
  return w.until(name, (app) => ended(app) && state(app)?.startedAt !== before, "tried");
}
const hook = configMap("hook", {}, ", annotations: {argocd.argoproj.io/hook: PreSync}");
const wave = (n: number) => `, annotations: {argocd.argoproj.io/sync-wave: "${n}"}`;

test("a dry run tells of each object what would become of it, and nothing is written but that", async () => {
  await w.git.createRepository("tried", {
    files: { "a.yaml": configMap("a", { rev: "1" }), "b.yaml": configMap("b", {}), "hook.yaml": hook },
  });
  const syncPolicy = {
    syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"],
    managedNamespaceMetadata: { labels: { team: "a" } },
  };
  await w.app("tried", { repo: "tried", syncPolicy });
  const first = await sync("tried", { dryRun: true });
  expect(state(first)).toMatchObject({ phase: "Succeeded", message: "successfully synced (no more tasks)" });
  expect(results(first)).toEqual([
    "hook Synced configmap/hook created (dry run)",
    "a Synced configmap/a created (dry run)",
    "b Synced configmap/b created (dry run)",
  ]);
  expect(first.status?.history).toBeUndefined();
  expect(await w.object(RESOURCES.namespace, undefined, "tried")).toBeUndefined();

  expect(synced(await sync("tried", {}))).toBe(true);
  const versions = async () =>
    Promise.all(
      ["a", "b", "hook", "c"].map(
        async (name) => (await w.object(CONFIG_MAP, "tried", name))?.metadata.resourceVersion,
      ),
    );
  await w.settled(
    async () => (await w.object(CONFIG_MAP, "tried", "hook"))?.metadata.finalizers === undefined,
    "let go of",
  );
  const before = await versions();
  await w.git.commit(
    "tried",
    { "a.yaml": configMap("a", { rev: "2" }), "b.yaml": null, "c.yaml": configMap("c", {}) },
    "two",
  );
  const second = await sync("tried", { dryRun: true, prune: true });
  expect(results(second)?.sort()).toEqual([
    "a Synced configmap/a configured (dry run)",
    "b Pruned pruned (dry run)",
    "c Synced configmap/c created (dry run)",
    "hook Synced configmap/hook created (dry run)",
  ]);
  expect(second.status?.history).toHaveLength(1);
  // The labels of the namespace are still as the last sync has made them.
  expect(state(second)?.syncResult?.managedNamespaceMetadata).toEqual({ labels: { team: "a" } });
  expect(results(await sync("tried", { dryRun: true }))).toContain("b PruneSkipped ignored (requires pruning)");
  expect(await versions()).toEqual(before);
});

test("a dry run fails for what the API server would refuse", async () => {
  await w.git.createRepository("refused", {
    files: { "a.yaml": configMap("a", {}), "b.yaml": configMap("b", {}).replace("data: {}", "data: []") },
  });
  await w.app("refused", { repo: "refused", syncPolicy: { syncOptions: ["CreateNamespace=true"] } });
  value(
    await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "refused" } }),
  );
  const app = await sync("refused", { dryRun: true });
  expect(state(app)).toMatchObject({ phase: "Failed", message: "one or more objects failed to apply (dry run)" });
  expect(state(app)?.syncResult?.resources?.map((r) => [r.name, r.status])).toEqual(
    expect.arrayContaining([
      ["a", "Synced"],
      ["b", "SyncFailed"],
    ]),
  );
  expect(await w.object(CONFIG_MAP, "refused", "a")).toBeUndefined();
});

test("a kind that the cluster does not have fails a sync before its first write, in whichever wave it is", async () => {
  const widget = (options = "") =>
    `apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, annotations: {argocd.argoproj.io/sync-wave: "5"${options}}}\n`;
  await w.git.createRepository("late", {
    files: { "a.yaml": configMap("a", {}, wave(-1)), "hook.yaml": hook, "w.yaml": widget() },
  });
  await w.app("late", { repo: "late", syncPolicy: { syncOptions: ["CreateNamespace=true"] } });
  const app = await sync("late", {});
  expect(state(app)).toMatchObject({
    phase: "Failed",
    message: expect.stringMatching(
      /^one or more synchronization tasks are not valid: The Kubernetes API could not find/,
    ),
  });
  expect(state(app)?.syncResult?.resources).toMatchObject([
    {
      name: "w",
      status: "SyncFailed",
      reason: "KindNotFound",
      message: expect.stringContaining("could not find example.com/Widget for requested resource late/w."),
    },
  ]);
  expect(await w.object(RESOURCES.namespace, undefined, "late")).toBeUndefined();
  await w.git.commit(
    "late",
    { "w.yaml": widget(", argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true") },
    "it may come later",
  );
  const later = await sync("late", {});
  expect(state(later)?.phase).toBe("Failed");
  expect(await w.object(CONFIG_MAP, "late", "a")).toBeDefined();
});
