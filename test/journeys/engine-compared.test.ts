import { readFileSync } from "node:fs";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { Resource } from "../../server/kube/path.ts";
import { settings, synced, value, type World, world } from "./engine-world.ts";

/** What `resource.compareoptions` of `argocd-cm` says of differences. */
const ROLE: Resource = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};
const LAMP: Resource = { group: "lamps.example", version: "v1", kind: "Lamp", plural: "lamps", namespaced: true };
const OPTIONS = "resource.compareoptions";
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

async function byHand(resource: Resource, namespace: string | undefined, name: string, patch: object) {
  const client = new KubeClient(parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8")), { fieldManager: "hand" });
  try {
    value(await client.mergePatch(resource, namespace, name, patch));
  } finally {
    await client.close();
  }
}
const outOfSync = (app: Parameters<typeof synced>[0]) => app.status?.sync?.status === "OutOfSync";
const manual = { automated: { prune: true }, syncOptions: ["CreateNamespace=true"] };

test("rules that the cluster gathers into a role are a difference, unless the settings say that they are not", async () => {
  const role = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gathered}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {gathered: "yes"}}]}
rules: []
`;
  await settings(w, "argocd-cm", {});
  await w.git.createRepository("roles", { files: { "role.yaml": role } });
  await w.app("roles", { repo: "roles", syncPolicy: manual });
  await w.until("roles", synced);
  // As the cluster's own controller does.
  await byHand(ROLE, undefined, "gathered", { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] });
  await w.until("roles", outOfSync, "OutOfSync");
  await settings(w, "argocd-cm", { [OPTIONS]: "ignoreAggregatedRoles: true" });
  await w.until("roles", synced, "Synced with the option");
  await byHand(ROLE, undefined, "gathered", {
    metadata: { labels: { "outpost.dev/app": "roles", more: "yes" } },
    aggregationRule: null,
  });
  await w.until("roles", outOfSync, "OutOfSync: the rest of the role counts");
});

test("a status in Git counts only where the settings say so, and then it is brought too", async () => {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "lamps.lamps.example" },
    spec: {
      group: "lamps.example",
      scope: "Namespaced",
      names: { kind: "Lamp", plural: "lamps", singular: "lamp", listKind: "LampList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  const lamp = (light: string) =>
    `apiVersion: lamps.example/v1\nkind: Lamp\nmetadata: {name: a}\nspec: {}\nstatus: {light: "${light}"}\n`;
  const light = async () => (await w.object(LAMP, "lamps", "a"))?.status?.light;
  await settings(w, "argocd-cm", {});
  await w.git.createRepository("lamps", { files: { "crd.json": JSON.stringify(crd), "a.yaml": lamp("on") } });
  await w.app("lamps", { repo: "lamps" });
  await w.until("lamps", synced);
  expect(await light()).toBeUndefined();
  await settings(w, "argocd-cm", { [OPTIONS]: "ignoreResourceStatusField: none" });
  await w.settled(async () => (await light()) === "on", "on");
  await w.until("lamps", synced);
  await byHand(LAMP, "lamps", "a", { status: { light: "by hand" } });
  await w.settled(async () => (await light()) === "on", "on again");
  await settings(w, "argocd-cm", {});
  await byHand(LAMP, "lamps", "a", { status: { light: "the cluster's" } });
  await w.refresh("lamps");
  expect([synced(await w.get("lamps")), await light()]).toEqual([true, "the cluster's"]);
});
