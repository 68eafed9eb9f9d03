import type { Application } from "../../server/agent/controller/application.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import type { Resource } from "../../server/kube/path.ts";
import { type Gate, startGate } from "../servers/gate.ts";
import { within } from "../within.ts";
import { CONFIG_MAP, condition, configMap, synced, value, type World, world } from "./engine-world.ts";

/** What cannot be seen is Unknown, with the reason, and the rest goes on. A real API server, a real Git server. */
let w: World;
let gate: Gate;
beforeAll(async () => {
  w = await world();
  gate = await startGate(Number(new URL(w.api.url).port));
}, 90_000);
afterAll(async () => {
  await gate?.stop();
  await w?.stop();
});

const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const BELL: Resource = { group: "bells.example", version: "v2", kind: "Bell", plural: "bells", namespaced: true };
const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
const bells = (conversion: object): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "bells.bells.example" },
  spec: {
    group: "bells.example",
    scope: "Namespaced",
    names: { kind: "Bell", plural: "bells", singular: "bell", listKind: "BellList" },
    // Stored in another version than it is asked for: each read needs a conversion.
    versions: [
      { name: "v1", served: true, storage: true, schema },
      { name: "v2", served: true, storage: false, schema },
    ],
    conversion,
  },
});
const WORKS = { strategy: "None" };
const BROKEN = {
  strategy: "Webhook",
  webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://127.0.0.1:1/convert" } },
};
const bell = (name: string) => `apiVersion: bells.example/v2\nkind: Bell\nmetadata: {name: ${name}}\nspec: {tone: a}\n`;
const row = (app: Application, kind: string, name: string) =>
  app.status?.resources?.find((r) => r.kind === kind && r.name === name);
const rev = async (namespace: string) => (await w.object(CONFIG_MAP, namespace, "conf"))?.data.rev;

test("a broken conversion webhook makes that kind alone Unknown: the rest is synced and pruned, and nothing of the kind is", async () => {
  value(await w.client.apply(CRD, bells(WORKS)));
  await w.git.createRepository("bells", {
    files: {
      "conf.yaml": configMap("conf", { rev: "1" }),
      "old.yaml": configMap("old", {}),
      "a.yaml": bell("a"),
      "b.yaml": bell("b"),
    },
  });
  await w.app("bells", { repo: "bells" });
  await w.until("bells", synced, "synced");
  value(await w.client.apply(CRD, bells(BROKEN)));
  const unknown = await w.until("bells", (app) => row(app, "Bell", "a")?.status === "Unknown", "Unknown");
  expect(unknown.status?.sync?.status).toBe("Unknown");
  expect(unknown.status?.conditions).toContainEqual(
    expect.objectContaining({
      type: "ComparisonError",
      message: expect.stringMatching(/^bells\.example\/Bell cannot be watched: .*conver/),
    }),
  );
  expect(row(unknown, "ConfigMap", "conf")?.status).toBe("Synced");

  // A commit that changes one object, and takes another and one of the broken kind away.
  await w.git.commit(
    "bells",
    { "conf.yaml": configMap("conf", { rev: "2" }), "old.yaml": null, "b.yaml": null },
    "two",
  );
  await w.refresh("bells");
  const done = await w.until(
    "bells",
    (app) => app.status?.operationState?.syncResult?.revision === app.status?.sync?.revision,
    "synced",
  );
  await w.until(
    "bells",
    (app) => app.status?.operationState?.phase === "Succeeded" && row(app, "ConfigMap", "old") === undefined,
    "pruned",
  );
  expect(await rev("bells")).toBe("2");
  expect(await w.object(CONFIG_MAP, "bells", "old")).toBeUndefined();
  expect(row(done, "Bell", "b")?.status).toBe("Unknown");
  const results = (await w.get("bells")).status?.operationState?.syncResult?.resources ?? [];
  expect(results).toContainEqual(expect.objectContaining({ kind: "Bell", name: "a", reason: "KindUnseen" }));
  expect((await w.get("bells")).status?.operationState?.message).toMatch(
    /but for \d objects of kinds that cannot be seen/,
  );
  // Its own drift is healed meanwhile.
  value(await w.client.mergePatch(CONFIG_MAP, "bells", "conf", { data: { rev: "by hand" } }));
  await w.until(
    "bells",
    (app) => app.status?.operationState?.operation.sync?.autoHealAttemptsCount !== undefined,
    "healed",
  );
  expect(await rev("bells")).toBe("2");

  // Mended: what was left is done.
  value(await w.client.apply(CRD, bells(WORKS)));
  const mended = await w.until(
    "bells",
    (app) => app.status?.sync?.status === "Synced" && row(app, "Bell", "b") === undefined,
    "Synced",
  );
  expect(condition(mended, "KindUnseen")).toBeUndefined();
  expect(await w.object(BELL, "bells", "a")).toBeDefined();
  expect(await w.object(BELL, "bells", "b")).toBeUndefined();
}, 120_000);

test("an application whose cluster is away is Unknown with the time of the last contact, another's is not, and it comes back by itself", async () => {
  await w.cluster("away", `https://localhost:${gate.port}`);
  await w.git.createRepository("away", { files: { "conf.yaml": configMap("conf", { rev: "1" }) } });
  await w.app("away", { repo: "away", destination: { name: "away", namespace: "away" } });
  await w.app("home", { repo: "away" });
  await w.until("away", synced, "synced");
  await w.until("home", synced, "synced");
  gate.shut();
  const shut = Date.now();
  const gone = await w.until("away", (app) => app.status?.sync?.status === "Unknown", "Unknown");
  const said = gone.status?.conditions?.find((c) => c.type === "ComparisonError");
  expect(said).toMatchObject({
    reason: "ClusterUnavailable",
    message: expect.stringMatching(/^cluster away cannot be seen, last contact at /),
  });
  const at = Date.parse(/last contact at (\S+):/.exec(said!.message)![1]!);
  expect(Math.abs(at - shut)).toBeLessThan(within(5_000));
  const newer = await w.git.commit("away", { "conf.yaml": configMap("conf", { rev: "2" }) }, "meanwhile");
  await w.controller.repositoryChanged(w.git.cloneUrl("away"));
  await w.until("home", (app) => synced(app) && app.status?.operationState?.syncResult?.revision === newer, "synced");
  expect(await rev("home")).toBe("2");
  expect((await w.get("away")).status?.sync?.status).toBe("Unknown");
  gate.open();
  const back = await w
    .until("away", (app) => synced(app), "back")
    .catch(() => w.until("away", (app) => synced(app), "back"));
  expect(back.status?.conditions ?? []).toEqual([]);
  expect(await rev("away")).toBe("2");
}, 120_000);

test("a newer commit takes the place of a running automatic sync between its waves", async () => {
  const waved = (name: string, wave: number, image = "registry.example/web:1") =>
    `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ${name}, annotations: {argocd.argoproj.io/sync-wave: "${wave}"}}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: ${name}}}\n  template: {metadata: {labels: {app: ${name}}}, spec: {containers: [{name: web, image: "${image}"}]}}\n`;
  const last = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last, annotations: {argocd.argoproj.io/sync-wave: "2"}}\ndata: {rev: "REV"}\n`;
  await w.git.createRepository("waves", {
    files: { "first.yaml": waved("first", 1), "last.yaml": last.replace("REV", "1") },
  });
  await w.app("waves", { repo: "waves" });
  // No controller makes the Deployment healthy: the first wave is waited for.
  const waits = (app: Application) =>
    app.status?.operationState?.message?.includes("waiting for healthy state of apps/Deployment/first");
  await w.until("waves", waits, "waiting");
  const newer = await w.git.commit(
    "waves",
    { "first.yaml": configMap("first", { rev: "2" }), "last.yaml": last.replace("REV", "2") },
    "newer",
  );
  await w.controller.repositoryChanged(w.git.cloneUrl("waves"));
  const done = await w.until(
    "waves",
    (app) => synced(app) && app.status?.sync?.revision === newer,
    "at the newer commit",
  );
  expect(done.status?.operationState?.syncResult?.revision).toBe(newer);
  expect((await w.object(CONFIG_MAP, "waves", "last"))?.data.rev).toBe("2");
  expect(done.status?.history?.map(({ revision }) => revision)).toEqual([newer]);
}, 60_000);
