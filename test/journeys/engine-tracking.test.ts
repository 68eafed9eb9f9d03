import type { Operation } from "../../server/agent/controller/application.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, settings, synced, value, type World, world } from "./engine-world.ts";

/** By what objects are known as an application's, as `argocd-cm` says it, and that a change of it takes nothing away. */
const ID = "argocd.argoproj.io/tracking-id";
const INSTALLATION = "argocd.argoproj.io/installation-id";
const INSTANCE = "app.kubernetes.io/instance";
const METHOD = "application.resourceTrackingMethod";
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);
beforeEach(() => settings(w, "argocd-cm", {}));

const marks = async (namespace: string, name: string) => {
  const { labels, annotations } = (await w.object(CONFIG_MAP, namespace, name))?.metadata ?? {};
  return [labels?.[INSTANCE], annotations?.[ID], annotations?.[INSTALLATION]];
};
const there = async (namespace: string, ...names: string[]) =>
  Promise.all(names.map(async (name) => (await w.object(CONFIG_MAP, namespace, name)) !== undefined));
async function sync(name: string, asked: Operation["sync"] = {}) {
  const before = (await w.get(name)).status?.operationState?.startedAt;
  // Operations of one second are told apart by when they began.
  await w.settled(async () => before === undefined || Date.now() - Date.parse(before) > 1_000, "a second later");
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { operation: { sync: asked } }));
  return w.until(
    name,
    ({ operation, status }) =>
      !operation && status?.operationState?.startedAt !== before && status?.operationState?.phase === "Succeeded",
    "synced once more",
  );
}
const looked = async (name: string) => {
  const before = (await w.get(name)).status?.reconciledAt;
  await w.settled(async () => Date.now() - Date.parse(before ?? "1970") > 1_000, "a second later");
  await w.refresh(name);
  return w.get(name);
};
const two = (rev = "1") => ({ "a.yaml": configMap("a", { rev }), "b.yaml": configMap("b", {}) });

test("objects are marked by label where the settings say so, pruned and deleted by it, and the label that Git has does not count", async () => {
  await settings(w, "argocd-cm", { [METHOD]: "label" });
  const chart = configMap("b", {}, `, labels: {${INSTANCE}: release}`);
  await w.git.createRepository("by-label", { files: { "a.yaml": configMap("a", {}), "b.yaml": chart } });
  await w.app("by-label", { repo: "by-label" }, { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] });
  await w.until("by-label", synced);
  expect(await marks("by-label", "a")).toEqual(["by-label", undefined, undefined]);
  expect(await marks("by-label", "b")).toEqual(["by-label", undefined, undefined]);
  await w.git.commit("by-label", { "b.yaml": "" }, "without b");
  await w.refresh("by-label");
  await w.settled(async () => (await there("by-label", "a", "b")).join() === "true,false", "b pruned");
  value(await w.client.delete(RESOURCES.application, w.namespace, "by-label"));
  await w.settled(async () => (await there("by-label", "a")).join() === "false", "a deleted with its application");
});

test("from label to annotation nothing differs and nothing is pruned; the next sync brings the new marks", async () => {
  await settings(w, "argocd-cm", { [METHOD]: "label" });
  await w.git.createRepository("onward", { files: two() });
  await w.app("onward", { repo: "onward" });
  await w.until("onward", synced);
  const before = (await w.object(CONFIG_MAP, "onward", "a"))?.metadata.resourceVersion;
  await settings(w, "argocd-cm", {});
  expect((await looked("onward")).status?.sync?.status).toBe("Synced");
  expect((await w.object(CONFIG_MAP, "onward", "a"))?.metadata.resourceVersion).toBe(before);
  // What leaves Git now has no owner's mark: it stays, whatever this one may prune.
  await w.git.commit("onward", { "b.yaml": "" }, "without b");
  const app = await looked("onward");
  expect([app.status?.sync?.status, app.status?.resources?.map(({ name }) => name)]).toEqual(["Synced", ["a"]]);
  await sync("onward", { prune: true });
  expect(await there("onward", "a", "b")).toEqual([true, true]);
  expect(await marks("onward", "a")).toEqual([undefined, "onward:/ConfigMap:onward/a", undefined]);
});

test("from annotation to label the marks differ, which a sync puts right; what Git dropped meanwhile stays", async () => {
  await w.git.createRepository("back", { files: two() });
  const syncPolicy = { syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"] };
  await w.app("back", { repo: "back", syncPolicy });
  await sync("back");
  await w.git.commit("back", { "b.yaml": "" }, "without b");
  await settings(w, "argocd-cm", { [METHOD]: "label" });
  await w.until("back", ({ status }) => status?.sync?.status === "OutOfSync", "OutOfSync");
  await sync("back", { prune: true });
  expect(await marks("back", "a")).toEqual(["back", undefined, undefined]);
  expect(await there("back", "a", "b")).toEqual([true, true]);
});

test("what another installation or another application has marked is neither pruned nor deleted", async () => {
  await settings(w, "argocd-cm", { installationID: "eu" });
  await w.git.createRepository("shared-cluster", { files: two() });
  await w.app(
    "shared-cluster",
    { repo: "shared-cluster" },
    { finalizers: ["resources-finalizer.argocd.argoproj.io/background"] },
  );
  await w.until("shared-cluster", synced);
  expect(await marks("shared-cluster", "a")).toEqual([undefined, "shared-cluster:/ConfigMap:shared-cluster/a", "eu"]);
  const labels = { "outpost.dev/app": "shared-cluster" };
  const foreign = (name: string, app: string, installation: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name,
      namespace: "shared-cluster",
      labels,
      annotations: { [ID]: `${app}:/ConfigMap:shared-cluster/${name}`, [INSTALLATION]: installation },
    },
  });
  const forms = [
    foreign("theirs", "shared-cluster", "us"),
    foreign("other-app", "other", "eu"),
    foreign("mine", "shared-cluster", "eu"),
  ];
  for (const object of forms) value(await w.client.create(CONFIG_MAP, object));
  await w.settled(async () => (await there("shared-cluster", "mine")).join() === "false", "what is its own pruned");
  expect(await there("shared-cluster", "a", "b", "theirs", "other-app")).toEqual([true, true, true, true]);
  value(await w.client.delete(RESOURCES.application, w.namespace, "shared-cluster"));
  await w.settled(async () => (await there("shared-cluster", "a", "b")).join() === "false,false", "its own deleted");
  expect(await there("shared-cluster", "theirs", "other-app")).toEqual([true, true]);
});

test("from annotation to label an object with a chart's label stays its application's, which writes the new mark", async () => {
  const chart = configMap("a", { rev: "1" }, `, labels: {${INSTANCE}: release}`);
  await w.git.createRepository("charted", { files: { "a.yaml": chart } });
  await w.app("charted", { repo: "charted" });
  await w.until("charted", synced);
  expect(await marks("charted", "a")).toEqual(["release", "charted:/ConfigMap:charted/a", undefined]);
  await settings(w, "argocd-cm", { [METHOD]: "label" });
  await w.settled(async () => (await marks("charted", "a")).join() === "charted,,", "marked by label");
  expect((await w.until("charted", synced)).status?.conditions ?? []).toEqual([]);
});

test("after a change of the settings nobody takes what another application has, and what no mark holds any more is named", async () => {
  await settings(w, "argocd-cm", { [METHOD]: "label" });
  await w.git.createRepository("first", { files: two() });
  await w.app("first", { repo: "first" });
  await w.until("first", synced);
  await settings(w, "argocd-cm", {});
  // A controller that has just started does not know who wanted it first.
  await w.restart();
  await w.git.createRepository("second", { files: { "a.yaml": configMap("a", { rev: "2" }) } });
  await w.app("second", { repo: "second", destination: { name: "in-cluster", namespace: "first" } });
  const second = await w.until(
    "second",
    ({ status }) => status?.conditions?.some(({ type }) => type === "SharedResourceWarning") === true,
  );
  expect(second.status?.conditions?.[0]?.message).toContain("is part of applications second and first");
  expect((await w.object(CONFIG_MAP, "first", "a"))?.data).toEqual({ rev: "1" });
  await w.git.commit("first", { "b.yaml": "" }, "without b");
  const first = await looked("first");
  expect(first.status?.conditions?.map(({ type, message }) => [type, message])).toEqual([
    ["OrphanedResourceWarning", expect.stringMatching(/neither pruned nor deleted: ConfigMap first\/b$/)],
  ]);
  expect(await there("first", "a", "b")).toEqual([true, true]);
});

test("settings that change while Git is asked, which answers that nothing is new, count from the next look on", async () => {
  await w.git.createRepository("meanwhile", { files: two() });
  await w.app("meanwhile", { repo: "meanwhile" });
  await w.until("meanwhile", synced);
  const { repo, settings: read } = w.controller.deps;
  const render = repo.render.bind(repo);
  const asked: boolean[] = [];
  repo.render = async (request) => {
    const answer = await render(request);
    if (request.app.name !== "meanwhile") return answer;
    asked.push(answer.kind === "done" && answer.value.objects === undefined);
    if (asked.length > 1) return answer;
    await settings(w, "argocd-cm", { [METHOD]: "label" });
    await w.settled(async () => read.tracking.method === "label", "settings seen");
    return answer;
  };
  try {
    await sync("meanwhile");
    await w.settled(async () => (await marks("meanwhile", "a")).join() === "meanwhile,,", "marked by label");
  } finally {
    repo.render = render;
  }
  // The first answer was about what was known before.
  expect(asked.slice(0, 2)).toEqual([true, false]);
});
