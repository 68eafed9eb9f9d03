import type { Resource } from "../../server/kube/path.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, settings, synced, value, type World, world } from "./engine-world.ts";
import { leave } from "./former-engine.ts";

/** Where applications are tracked by label, that label is copied to what the cluster and others make: none of it is pruned or deleted. */
const CLAIM: Resource = {
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
};
const INSTANCE = "app.kubernetes.io/instance";
const claim = (name: string) => `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;
const NAMES = ["data", "going"];
const finalizers = ["resources-finalizer.argocd.argoproj.io/background"];

let w: World;
beforeAll(async () => {
  w = await world();
  await w.halt();
  await settings(w, "argocd-cm", { "application.resourceTrackingMethod": "label" });
  for (const name of NAMES) {
    await leave(w, {
      name,
      manifests: `${configMap("a", {})}---\n${claim("own")}`,
      metadata: name === "going" ? { finalizers } : {},
    });
    const labels = { [INSTANCE]: name };
    const marks = { metadata: { labels, annotations: { "argocd.argoproj.io/tracking-id": null } } };
    const a = value(await w.client.mergePatch(CONFIG_MAP, name, "a", marks, { manager: "argocd-controller" }));
    value(await w.client.mergePatch(CLAIM, name, "own", marks, { manager: "argocd-controller" }));
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    const made = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "data-db-0", namespace: name, labels },
      spec,
    };
    value(await w.client.create(CLAIM, made));
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: a.metadata.uid! }];
    const metadata = { name: "copy", namespace: name, labels, ownerReferences };
    value(await w.client.create(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata }));
  }
  await w.restart();
  for (const name of NAMES) await w.refresh(name);
}, 120_000);
afterAll(() => w?.stop(), 30_000);

test("what bears the label by copy is neither shown as to be pruned nor pruned", async () => {
  const app = await w.until("data", (one) => one.status?.sync?.status === "Synced", "Synced");
  expect(app.status?.resources?.map(({ kind, name }) => `${kind}/${name}`)).toEqual([
    "ConfigMap/a",
    "PersistentVolumeClaim/own",
  ]);
  const { startedAt } = app.status!.operationState!;
  await w.git.commit("data", { "app/all.yaml": `${configMap("a", { v: "1" })}---\n${claim("own")}` }, "another");
  await w.refresh("data");
  await w.until("data", (one) => synced(one) && one.status?.operationState?.startedAt !== startedAt, "synced anew");
  expect((await w.object(CLAIM, "data", "data-db-0"))?.metadata.deletionTimestamp).toBeUndefined();
  expect(await w.object(CLAIM, "data", "data-db-0")).toBeDefined();
  expect(await w.object(CONFIG_MAP, "data", "copy")).toBeDefined();
});

test("a deletion leaves it too", async () => {
  value(await w.client.delete(RESOURCES.application, w.namespace, "going"));
  await w.settled(async () => (await w.object(CONFIG_MAP, "going", "a")) === undefined, "without its ConfigMap");
  const gone = async () => (await w.object(CLAIM, "going", "own"))?.metadata.deletionTimestamp !== undefined;
  await w.settled(
    async () => (await w.object(CLAIM, "going", "own")) === undefined || (await gone()),
    "without its claim",
  );
  expect((await w.object(CLAIM, "going", "data-db-0"))?.metadata.deletionTimestamp).toBeUndefined();
  expect(await w.object(CLAIM, "going", "data-db-0")).toBeDefined();
});
