import type { Application } from "../../server/agent/controller/application.ts";
import { appLabel } from "../../server/agent/controller/tracking.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "../journeys/engine-world.ts";
import { until } from "../servers/run.ts";
import { type Attempt, attempts } from "./projects-cases.ts";

// Two teams beside each other, with a project each, and no accounts: the project alone is in the way. Whatever one of them writes into its repository
// or its applications, nothing of the other's changes, and nothing of what its project keeps from it is made.
const resource = (group: string, kind: string, plural: string, namespaced = true): Resource => ({
  group,
  version: "v1",
  kind,
  plural,
  namespaced,
});
const RBAC = "rbac.authorization.k8s.io";
const ROLE = resource(RBAC, "Role", "roles");
const BINDING = resource(RBAC, "RoleBinding", "rolebindings");
const CLUSTER_ROLE = resource(RBAC, "ClusterRole", "clusterroles", false);
const CLUSTER_BINDING = resource(RBAC, "ClusterRoleBinding", "clusterrolebindings", false);
const CRD = resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false);
const PRIORITY = resource("scheduling.k8s.io", "PriorityClass", "priorityclasses", false);
const JOB = resource("batch", "Job", "jobs");
const SET: Resource = { ...RESOURCES.application, kind: "ApplicationSet", plural: "applicationsets" };
const CANARY = "canary-of-the-other-team";

let w: World;
let before: string;
beforeAll(async () => {
  w = await world();
  for (const name of ["ours", "theirs"]) await namespace(name);
  await w.git.createRepository("theirs/code", {
    files: { "stolen.yaml": configMap("stolen", { text: CANARY }) },
    users: { them: "p" },
  });
  const metadata = {
    name: "repo-theirs",
    namespace: w.namespace,
    labels: { "argocd.argoproj.io/secret-type": "repository" },
  };
  const stringData = { type: "git", url: w.git.cloneUrl("theirs/code"), username: "them", password: "p" };
  value(await w.client.create(RESOURCES.secret, { apiVersion: "v1", kind: "Secret", metadata, stringData }));
  const destinations = (name: string) => [{ server: "https://kubernetes.default.svc", namespace: name }];
  await project("ours", {
    sourceRepos: [`${w.git.url}/ours/*`],
    destinations: destinations("ours"),
    namespaceResourceBlacklist: [
      { group: "", kind: "Secret" },
      { group: RBAC, kind: "*" },
    ],
  });
  await project("theirs", { sourceRepos: [`${w.git.url}/theirs/*`], destinations: destinations("theirs") });
  await w.git.createRepository("theirs/app", { files: { "a.yaml": configMap("app", { text: "theirs" }) } });
  value(await w.client.create(RESOURCES.secret, secret("theirs", "token")));
  value(await w.client.create(RESOURCES.secret, secret("ours", "kept")));
  value(await w.client.create(CONFIG_MAP, plain("theirs", "settings", { text: CANARY })));
  await w.app("their-app", theirs("theirs/app"));
  await w.until("their-app", synced, "Synced");
  // Fetched already, so that it is in no cache for whom it is not.
  await w.app("their-code", theirs("theirs/code"));
  await w.until("their-code", synced, "Synced");
  before = await standing();
}, 120_000);
afterAll(() => w?.stop(), 30_000);

const theirs = (repo: string) => ({
  repo,
  project: "theirs",
  destination: { name: "in-cluster", namespace: "theirs" },
});
const plain = (where: string, name: string, data: object, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: where, ...metadata },
  data,
});
const secret = (where: string, name: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: where },
  stringData: { token: CANARY },
});
const namespace = async (name: string) =>
  value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
async function project(name: string, spec: object): Promise<void> {
  const object = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name, namespace: w.namespace },
    spec,
  };
  value(await w.client.apply(RESOURCES.appProject, object));
}

/** All that is not to change: what is theirs, the cluster's and the agent's, and of ours what the project forbids. */
async function standing(): Promise<string> {
  const all = await Promise.all([
    ...["theirs", "ours", "default", "kube-system", w.namespace].flatMap((where) =>
      [RESOURCES.secret, ROLE, BINDING].map((one) => w.client.list(one, { namespace: where })),
    ),
    ...["theirs", "default", "kube-system"].flatMap((where) =>
      [CONFIG_MAP, JOB].map((one) => w.client.list(one, { namespace: where })),
    ),
    ...[RESOURCES.namespace, CRD, PRIORITY].map((one) => w.client.list(one)),
    ...[CLUSTER_ROLE, CLUSTER_BINDING].map((one) => w.client.list(one, { fieldSelector: "metadata.name=escape" })),
    ...[RESOURCES.appProject, SET].map((one) => w.client.list(one, { namespace: w.namespace })),
    w.client.list(RESOURCES.application, { namespace: w.namespace, labelSelector: "escaped" }),
  ]);
  const lines = all.flatMap((one) =>
    value(one).items.map(({ kind, metadata: m, data, spec }) =>
      [
        kind,
        m.namespace,
        m.name,
        m.uid,
        JSON.stringify([m.labels, m.deletionTimestamp, kind === "AppProject" ? spec : data]),
      ].join(" "),
    ),
  );
  return lines
    .filter((line) => !line.includes("kube-root-ca.crt") && !line.includes("extension-apiserver"))
    .sort()
    .join("\n");
}

const over = ({ operation, status }: Application) =>
  (operation === undefined && /^(Failed|Error|Succeeded)$/.test(status?.operationState?.phase ?? "")) ||
  status?.conditions?.some(({ type }) => /^(InvalidSpec|Comparison|Deletion)Error$/.test(type));

/** Makes an application of the team and its repository; false when the API server does not take it. */
async function attempt(
  name: string,
  { files, spec, annotations, finalizers, operation, status }: Attempt,
): Promise<boolean> {
  const repoURL = w.git.cloneUrl(`ours/${name}`);
  // Names of their own, so that no attempt stands in the way of another one.
  const texts = Object.entries(files ?? {}).map(
    ([at, text]) => [at, text.replace(/name: (own|mine)\b/g, `name: $1-${name}`)] as const,
  );
  if (files) await w.git.createRepository(`ours/${name}`, { files: Object.fromEntries(texts) });
  const { source, ...more } = (spec ?? {}) as Partial<Application["spec"]>;
  const made = await w.client.create(RESOURCES.application, {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name, namespace: w.namespace, annotations, finalizers },
    spec: {
      project: "ours",
      ...(more.sources
        ? {}
        : {
            source: {
              path: ".",
              targetRevision: "main",
              ...source,
              repoURL: files ? repoURL : (source?.repoURL ?? repoURL),
            },
          }),
      destination: { name: "in-cluster", namespace: "ours" },
      syncPolicy: {},
      ...more,
    },
    operation: operation ?? { sync: { prune: true } },
    status,
  });
  if (made.kind === "done" && finalizers) value(await w.client.delete(RESOURCES.application, w.namespace, name));
  return made.kind === "done";
}

test("whatever a team writes, nothing outside of its project is changed, made or read", async () => {
  const all = attempts(w.git);
  expect(all.length).toBeGreaterThanOrEqual(60);
  await w.git.createRepository("ours/base", { files: { "a.yaml": configMap("base", {}) } });
  const taken: [string, string][] = [];
  for (const [i, [title, one]] of all.entries()) if (await attempt(`c${i}`, one)) taken.push([`c${i}`, title]);
  expect(taken.length).toBeGreaterThan(50);
  const wrong: string[] = [];
  for (const [name, title] of taken) {
    const app = await w.until(name, over, `over with ${title}`);
    const { operationState, conditions, resources } = app.status ?? {};
    const said = `${operationState?.phase}: ${operationState?.message}; ${conditions?.map((c) => `${c.reason}: ${c.message}`).join("; ")}`;
    if (process.env.DEBUG) console.log(`${title}\n  ${said.slice(0, 300)}`);
    const shown = JSON.stringify([resources, operationState?.syncResult?.resources]);
    if (JSON.stringify(app).includes(CANARY) || shown.includes("stolen")) wrong.push(`${title}: ${said}`);
  }
  const maps = value(await w.client.list(CONFIG_MAP, { namespace: "ours" })).items;
  for (const map of maps)
    if (map.metadata.name === "stolen" || JSON.stringify(map).includes(CANARY))
      wrong.push(`ConfigMap ${map.metadata.name}`);
  expect(wrong).toEqual([]);
  expect((await standing()).split("\n")).toEqual(before.split("\n"));
}, 240_000);

test("what one team may not have is not kept from who may", async () => {
  await w.git.createRepository("ours/claims", { files: { "a.yaml": configMap("wanted", {}, ", namespace: theirs") } });
  await w.app("claims", {
    repo: "ours/claims",
    project: "ours",
    destination: { name: "in-cluster", namespace: "ours" },
  });
  await w.until("claims", (a) => /not permitted/.test(a.status?.operationState?.message ?? ""), "refused");
  await w.git.createRepository("theirs/wanted", { files: { "a.yaml": configMap("wanted", { text: "theirs" }) } });
  await w.app("wanted", theirs("theirs/wanted"));
  await w.until("wanted", synced, "Synced");
  expect((await w.object(CONFIG_MAP, "theirs", "wanted"))?.data).toEqual({ text: "theirs" });
}, 60_000);

test("an object with another's label and mark is neither pruned nor shown as his, and a hook deletes nothing of another", async () => {
  const long = `long-${"x".repeat(66)}`;
  const alike = appLabel(long);
  await project("shared", { sourceRepos: ["*"], destinations: [{ server: "*", namespace: "shared" }] });
  await namespace("shared");
  await w.git.createRepository("ours/long", { files: { "a.yaml": configMap("both", { text: "first" }) } });
  const shared = { project: "shared", destination: { name: "in-cluster", namespace: "shared" } };
  await w.app(long, { repo: "ours/long", ...shared });
  await w.until(long, synced, "Synced");
  const first = await w.object(CONFIG_MAP, "shared", "both");
  // Another application whose name is the first one's label wants it as a hook, which goes before it is made.
  const hook =
    ", annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}";
  await w.git.createRepository("ours/alike", { files: { "a.yaml": configMap("both", { text: "second" }, hook) } });
  await w.app(alike, { repo: "ours/alike", ...shared, syncPolicy: {} });
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, alike, { operation: { sync: {} } }));
  await w.until(alike, (a) => /^(Failed|Succeeded)$/.test(a.status?.operationState?.phase ?? ""), "ended");
  const after = await w.object(CONFIG_MAP, "shared", "both");
  expect([after?.metadata.uid, after?.data]).toEqual([first?.metadata.uid, { text: "first" }]);

  // A tenant marks its own object as theirs.
  const marks = {
    labels: { "outpost.dev/app": "their-app" },
    annotations: { "argocd.argoproj.io/tracking-id": "their-app:/ConfigMap:ours/forged" },
  };
  value(await w.client.create(CONFIG_MAP, plain("ours", "forged", {}, marks)));
  await w.refresh("their-app");
  const app = await w.until("their-app", synced, "Synced");
  expect(app.status?.resources?.map(({ name }) => name)).toEqual(["app"]);
  expect(await w.object(CONFIG_MAP, "ours", "forged")).toBeDefined();
}, 60_000);

test("where a cluster is given by its namespaces, nothing of the cluster itself is touched", async () => {
  await w.cluster("narrow", w.api.url.replace("127.0.0.1", "localhost"));
  const patch = { stringData: { namespaces: "ours" } };
  value(await w.client.mergePatch(RESOURCES.secret, w.namespace, "cluster-narrow", patch));
  await w.git.createRepository("narrow", {
    files: { "a.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: escape}\nvalue: 1\n" },
  });
  await w.app("narrow", {
    repo: "narrow",
    destination: { name: "narrow", namespace: "ours" },
    syncPolicy: { automated: {}, retry: { limit: 0 } },
  });
  await w.until(
    "narrow",
    (a) => a.status?.operationState?.phase !== undefined && a.status.operationState.phase !== "Running",
    "ended",
  );
  expect(await w.object(PRIORITY, undefined, "escape")).toBeUndefined();
  value(
    await w.client.mergePatch(RESOURCES.secret, w.namespace, "cluster-narrow", {
      stringData: { clusterResources: "true" },
    }),
  );
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "narrow", { operation: { sync: {} } }));
  await until(
    "the object of the cluster, now that it may be",
    async () => (await w.object(PRIORITY, undefined, "escape")) !== undefined,
  );
}, 60_000);
