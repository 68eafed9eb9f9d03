import { TENANT } from "../../server/agent/project/tenant.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import {
  CONFIG_MAP,
  configMap,
  DEPLOYMENT,
  settings,
  synced,
  value,
  type World,
  world,
} from "../journeys/engine-world.ts";
import { A, B } from "./tenant-tricks.ts";
import { shareEverything } from "./tenant-world.ts";

// Where an installation tracks objects by label, as many do that came from Argo CD: what b's application or b's operators make never counts as
// a part of a's application.
const STATEFUL_SET: Resource = {
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
};

let w: World;
beforeAll(async () => {
  w = await world();
  await shareEverything(w);
}, 120_000);
afterAll(() => w?.stop(), 30_000);

const deploy = async (name: string, tenant: string, files: Record<string, string>, more: object = {}) => {
  await w.git.createRepository(name, { files });
  const namespace = tenant === A ? "team-a" : "team-b";
  const spec = { repo: name, project: "limit", destination: { name: "in-cluster", namespace }, ...more };
  await w.app(name, spec, { annotations: { [TENANT]: tenant } });
  await w.until(name, synced, "Synced");
};

const workloads = (key: string, victim: string) => {
  const labels = { [key]: victim, tier: "web" };
  const spec = (extra: object) => ({
    replicas: 0,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "x", image: "x" }] } },
    ...extra,
  });
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const set = { serviceName: "x", volumeClaimTemplates: [{ metadata: { name: "data", labels }, spec: claim }] };
  return [
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "forger" }, spec: spec({}) },
    { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "forger" }, spec: spec(set) },
  ]
    .map((one) => JSON.stringify(one))
    .join("\n---\n");
};

describe.each([
  ["the usual label", "app.kubernetes.io/instance", "one"],
  ["a label of the installation", "corp.example/part-of", "two"],
])("tracked by %s", (_, key, n) => {
  const [victim, forger] = [`victim-${n}`, `forger-${n}`];
  beforeAll(async () => {
    await settings(w, "argocd-cm", {
      "application.resourceTrackingMethod": "label",
      "application.instanceLabelKey": key,
    });
    await w.settled(async () => w.controller.deps.settings.tracking.labelKey === key, "the settings are read");
    await deploy(victim, A, { "a.yaml": configMap(`app-${n}`, { rev: "1" }), "b.yaml": configMap(`b-${n}`, {}) });
  });

  const shown = async () =>
    (await w.get(victim)).status!.resources!.map(({ kind: what, name, namespace }) => `${what}/${namespace}/${name}`);

  test("templates and the namespace of another tenant do not name its application", async () => {
    await deploy(
      forger,
      B,
      { "a.yaml": workloads(key, victim) },
      {
        destination: { name: "in-cluster", namespace: `made-${n}` },
        syncPolicy: {
          automated: { prune: true, selfHeal: true },
          syncOptions: ["CreateNamespace=true"],
          managedNamespaceMetadata: { labels: { [key]: victim, "outpost.dev/app": victim } },
        },
      },
    );
    for (const resource of [DEPLOYMENT, STATEFUL_SET]) {
      const live = await w.object(resource, `made-${n}`, "forger");
      expect(live!.spec.selector.matchLabels).toEqual({ [key]: forger, tier: "web" });
      expect(JSON.stringify(live!.spec)).not.toContain(victim);
    }
    const made = await w.object(RESOURCES.namespace, undefined, `made-${n}`);
    expect(JSON.stringify(made!.metadata.labels)).not.toContain(victim);
  });

  test("what an operator made with the label is neither shown, nor pruned, nor deleted with it", async () => {
    const metadata = { name: `operators-${n}`, namespace: "team-b", labels: { [key]: victim } };
    value(await w.client.create(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata }));
    await w.restart();
    await w.git.commit(victim, { "b.yaml": "" }, "without b");
    await w.refresh(victim, "hard");
    await w.settled(
      async () => (await w.object(CONFIG_MAP, "team-a", `b-${n}`)) === undefined,
      "its own object is pruned",
    );
    await w.settled(async () => (await shown()).join() === `ConfigMap/team-a/app-${n}`, "its own object is shown");
    expect((await w.object(CONFIG_MAP, "team-b", `operators-${n}`))?.metadata.labels).toEqual({ [key]: victim });
    const finalizers = ["resources-finalizer.argocd.argoproj.io/background"];
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, victim, { metadata: { finalizers } }));
    value(await w.client.delete(RESOURCES.application, w.namespace, victim));
    await w.settled(async () => (await w.object(CONFIG_MAP, "team-a", `app-${n}`)) === undefined, "deleted");
    await w.settled(async () => (await w.object(RESOURCES.application, w.namespace, victim)) === undefined, "gone");
    expect(await w.object(CONFIG_MAP, "team-b", `operators-${n}`)).toBeDefined();
  });
});
