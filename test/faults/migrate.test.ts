import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { person } from "../../server/cli/testing.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type ApiServer, startApiServer } from "../cluster/apiserver.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { until } from "../servers/run.ts";
import { must } from "./link-world.ts";

// Objects as Argo CD leaves them, a real API server, and a real Git server.
const OWN = "argocd";
const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
let cluster: ApiServer;
let git: GitServer;
let kube: KubeClient;

const manifest = (name: string, data: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "shop" },
  data,
});
/** A ConfigMap that Argo CD applied for an application, as it is now. */
async function applied(app: string, data: object, live: object = data): Promise<void> {
  const argo = new KubeClient(kube.config, { fieldManager: "argocd-controller" });
  const wanted = manifest(app, data);
  const annotations = {
    "argocd.argoproj.io/tracking-id": `${app}:/ConfigMap:shop/${app}`,
    "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify({ ...wanted, metadata: { ...wanted.metadata, annotations: {} } })}\n`,
  };
  must(
    await argo.create(RESOURCES.configMap, {
      ...manifest(app, live),
      metadata: { ...wanted.metadata, annotations },
    } as KubeObject),
  );
  await argo.close();
}
async function application(name: string, status: string, syncPolicy?: object): Promise<void> {
  const source = { repoURL: git.cloneUrl("apps"), path: name, targetRevision: "main" };
  const destination = { server: "https://kubernetes.default.svc", namespace: "shop" };
  const resources = [{ version: "v1", kind: "ConfigMap", namespace: "shop", name, status }];
  must(
    await kube.create(RESOURCES.application, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name, namespace: OWN },
      spec: { project: "default", source, destination, ...(syncPolicy ? { syncPolicy } : {}) },
      status: { resources, sync: { status, comparedTo: { source, destination } } },
    }),
  );
}

beforeAll(async () => {
  [cluster, git] = await Promise.all([startApiServer({ audit: true }), startGit()]);
  kube = new KubeClient(parseKubeconfig(readFileSync(cluster.kubeconfig, "utf8")));
  const crds = join(import.meta.dirname, "../../server/agent/crds");
  for (const file of readdirSync(crds)) must(await kube.create(CRD, parse(readFileSync(join(crds, file), "utf8"))));
  for (const name of [OWN, "shop"])
    must(await kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  await until(
    "the kind",
    async () => (await kube.list(RESOURCES.application, { namespace: OWN })).kind === "done",
    20_000,
  );
  const project = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
  };
  must(
    await kube.create(RESOURCES.appProject, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata: { name: "default", namespace: OWN },
      spec: project,
    }),
  );
  const file = (name: string) => JSON.stringify(manifest(name, { a: "1" }));
  const names = ["same", "waiting", "drifted"];
  await git.createRepository("apps", {
    files: Object.fromEntries(names.map((name) => [`${name}/a.json`, file(name)])),
  });
}, 240_000);
afterAll(async () => {
  await kube?.close();
  await git?.stop();
  await cluster?.stop();
}, 30_000);

const check = (...more: string[]) =>
  person(() => ({}), {}).types("agent", "migrate", "--check", "--kubeconfig", cluster.kubeconfig, ...more);

test("where both engines find the same, the check ends with 0 and has written nothing", async () => {
  await applied("same", { a: "1" });
  await application("same", "Synced", { automated: { prune: true, selfHeal: true } });
  // Git has moved on, and Argo CD has seen it.
  await applied("waiting", { a: "0" });
  await application("waiting", "OutOfSync");
  const from = cluster.audit().length;
  const { exit, err, out } = await check();
  expect([exit, out, err]).toEqual([
    0,
    "",
    expect.stringContaining("engine outpost would write no object of 2 applications"),
  ]);
  const writes = cluster
    .audit()
    .slice(from)
    .filter(
      ({ verb, requestURI, user }) =>
        user.username !== "system:apiserver" &&
        !["get", "list", "watch"].includes(verb) &&
        !requestURI.includes("dryRun=All"),
    );
  expect(writes).toEqual([]);
}, 60_000);

test("an object that Outpost would write and Argo CD calls Synced is named with its field, and the check ends with 1", async () => {
  await applied("drifted", { a: "1" }, { a: "changed by hand" });
  await application("drifted", "Synced", { automated: { selfHeal: true } });
  const { exit, err, out } = await check("-o", "json");
  expect([exit, err]).toEqual([1, expect.stringContaining("1 object would be written by engine outpost")]);
  expect(JSON.parse(out)).toEqual({
    checked: 3,
    failed: [],
    changes: [{ application: "drifted", object: "ConfigMap shop/drifted", change: "update /data/a", when: "at once" }],
  });
  expect((await check("same")).exit).toBe(0);
}, 60_000);

test("an application that cannot be compared is named, and no promise is made", async () => {
  await application("missing", "Unknown");
  const { exit, err } = await check("same", "missing");
  expect([exit, err]).toEqual([1, expect.stringMatching(/Application missing: \w+: /)]);
  expect((await check("nobody")).err).toContain("there is no Application nobody");
}, 60_000);

test("without --check nothing is done, and it says how to switch", async () => {
  const { exit, err } = await person(() => ({}), {}).types("agent", "migrate");
  expect([exit, err]).toEqual([2, expect.stringContaining("helm upgrade")]);
});
