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

const SET: Resource = {
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "ApplicationSet",
  plural: "applicationsets",
  namespaced: true,
};
const CLAIM: Resource = {
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
};
const claim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "claim", namespace: "shop" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const manifest = (name: string, data: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "shop" },
  data,
});
/** A ConfigMap that Argo CD applied for an application, as it is now. */
const applied = (app: string, data: object, live: object = data): Promise<void> =>
  appliedAs(app, RESOURCES.configMap, manifest(app, data), manifest(app, live));
async function appliedAs(app: string, resource: Resource, wanted: KubeObject, live: KubeObject = wanted) {
  const argo = new KubeClient(kube.config, { fieldManager: "argocd-controller" });
  const annotations = {
    "argocd.argoproj.io/tracking-id": `${app}:/${wanted.kind}:shop/${app}`,
    "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify({ ...wanted, metadata: { ...wanted.metadata, annotations: {} } })}\n`,
  };
  must(await argo.create(resource, { ...live, metadata: { ...wanted.metadata, annotations } }));
  await argo.close();
}
interface Left {
  syncPolicy?: object;
  kind?: string;
  status?: object;
  finalizers?: string[];
}
async function application(name: string, status: string, left: Left = {}): Promise<void> {
  const { syncPolicy, kind = "ConfigMap" } = left;
  const source = { repoURL: git.cloneUrl("apps"), path: name, targetRevision: "main" };
  const destination = { server: "https://kubernetes.default.svc", namespace: "shop" };
  const resources = [{ version: "v1", kind, namespace: "shop", name, status }];
  must(
    await kube.create(RESOURCES.application, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name, namespace: OWN, ...(left.finalizers ? { finalizers: left.finalizers } : {}) },
      spec: { project: "default", source, destination, ...(syncPolicy ? { syncPolicy } : {}) },
      status: { resources, sync: { status, comparedTo: { source, destination } }, ...left.status },
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
  const names = ["same", "waiting", "drifted", "left", "open"];
  await git.createRepository("apps", {
    files: {
      ...Object.fromEntries(names.map((name) => [`${name}/a.json`, file(name)])),
      "claim/a.json": JSON.stringify(claim),
    },
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
  await application("same", "Synced", { syncPolicy: { automated: { prune: true, selfHeal: true } } });
  // The API server gives a claim a finalizer and a volume mode.
  await appliedAs("claim", CLAIM, claim);
  await application("claim", "Synced", { kind: claim.kind, syncPolicy: { automated: { selfHeal: true } } });
  // Git has moved on, and Argo CD has seen it.
  await applied("waiting", { a: "0" });
  await application("waiting", "OutOfSync");
  const from = cluster.audit().length;
  const { exit, err, out } = await check();
  expect([exit, out, err]).toEqual([
    0,
    "",
    expect.stringContaining("engine outpost would write no object of 3 applications"),
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
  await application("drifted", "Synced", { syncPolicy: { automated: { selfHeal: true } } });
  const { exit, err, out } = await check("-o", "json");
  expect([exit, err]).toEqual([1, expect.stringContaining("1 object would be written by engine outpost")]);
  expect(JSON.parse(out)).toEqual({
    checked: 4,
    sets: 0,
    failed: [],
    neither: [],
    behind: ["drifted"],
    changes: [{ application: "drifted", object: "ConfigMap shop/drifted", change: "update /data/a", when: "at once" }],
  });
  expect((await check("same")).exit).toBe(0);
}, 60_000);

test("what was applied once, has left Git and belongs to somebody else now is found, as the controller finds it", async () => {
  await applied("left", { a: "1", b: "2" });
  // The new owner's apply takes the field from Argo CD.
  const other = new KubeClient(kube.config, { fieldManager: "somebody" });
  must(await other.apply(RESOURCES.configMap, manifest("left", { b: "2" })));
  await other.close();
  await application("left", "Synced");
  const { exit, out } = await check("left", "-o", "json");
  expect([exit, JSON.parse(out).changes]).toEqual([
    1,
    [{ application: "left", object: "ConfigMap shop/left", change: "update /data/b", when: "at the next sync" }],
  ]);
}, 60_000);

test("a sync that Argo CD has begun is told as one that goes on, and is no change", async () => {
  await applied("open", { a: "1" });
  const operation = { sync: { revision: "main" }, initiatedBy: { automated: true } };
  const operationState = { phase: "Running", operation, startedAt: "2026-01-01T00:00:00Z" };
  await application("open", "Synced", { status: { operationState } });
  const { exit, out } = await check("open", "-o", "json");
  expect([exit, JSON.parse(out).changes]).toEqual([
    0,
    [{ application: "open", object: "Application open", change: "sync: goes on, as with Argo CD", when: "at once" }],
  ]);
}, 60_000);

test("a deletion in progress is told as one that goes on, and is no change", async () => {
  await application("going", "Synced", { finalizers: ["resources-finalizer.argocd.argoproj.io"] });
  must(await kube.delete(RESOURCES.application, OWN, "going"));
  const { exit, out } = await check("going", "-o", "json");
  expect([exit, JSON.parse(out).changes]).toEqual([
    0,
    [
      {
        application: "going",
        object: "Application going",
        change: "deletion: goes on, as with Argo CD",
        when: "at once",
      },
    ],
  ]);
}, 60_000);

test("an application set is asked what it would make of its applications, and writes nothing", async () => {
  const [kept, other] = ["kept", "other"];
  const source = { repoURL: git.cloneUrl("apps"), path: "{{name}}", targetRevision: "main" };
  const destination = { server: "https://kubernetes.default.svc", namespace: "shop" };
  const set = must(
    await kube.create(SET, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name: "many", namespace: OWN },
      spec: {
        generators: [{ list: { elements: [{ name: kept }, { name: other }] } }],
        template: { metadata: { name: "{{name}}" }, spec: { project: "default", source, destination } },
      },
    }),
  );
  const { apiVersion, kind, metadata } = set;
  const owner = { apiVersion, kind, name: "many", uid: metadata.uid!, controller: true, blockOwnerDeletion: true };
  const made = async (name: string, path: string) =>
    must(
      await kube.create(RESOURCES.application, {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata: {
          name,
          namespace: OWN,
          finalizers: ["resources-finalizer.argocd.argoproj.io"],
          ownerReferences: [owner],
        },
        spec: { project: "default", source: { ...source, path }, destination },
        status: { conditions: [{ type: "ComparisonError", message: "app path does not exist" }] },
      }),
    );
  await made(kept, kept);
  await made(other, "elsewhere");
  await made("gone", "gone");
  const before = must(await kube.list(RESOURCES.application, { namespace: OWN })).items.map(({ metadata }) => metadata);
  const { out } = await check("-o", "json");
  const { changes, sets } = JSON.parse(out) as { changes: { object: string }[]; sets: number };
  const when = "at once";
  expect([sets, changes.filter(({ object }) => /Application (kept|other|gone)$/.test(object))]).toEqual([
    1,
    [
      { application: "gone", object: "Application gone", change: "delete", when },
      { application: "other", object: "Application other", change: "update /spec/source/path", when },
    ],
  ]);
  const after = must(await kube.list(RESOURCES.application, { namespace: OWN })).items.map(({ metadata }) => metadata);
  expect(after).toEqual(before);
  must(await kube.delete(SET, OWN, "many"));
}, 60_000);

test("an application that Argo CD cannot compare either is named and fails nothing", async () => {
  const conditions = [{ type: "ComparisonError", message: "app path does not exist" }];
  await application("nowhere", "Unknown", { status: { conditions } });
  const { exit, err } = await check("same", "nowhere");
  expect([exit, err]).toEqual([0, expect.stringMatching(/as with Argo CD.* Application nowhere: PathNotFound/)]);
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
