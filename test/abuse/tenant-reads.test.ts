import { pino } from "pino";
import type { Application } from "../../server/agent/controller/application.ts";
import { MANAGED, MARK } from "../../server/agent/link/names.ts";
import { localReads } from "../../server/agent/link/queries/reads.ts";
import { ALLOWED_SCOPES, TENANT } from "../../server/agent/project/tenant.ts";
import { Secret } from "../../server/base/secret.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { configMap, DEPLOYMENT, project, synced, value, type World, world } from "../journeys/engine-world.ts";
import { A, B, OWN } from "./tenant-tricks.ts";

// What b may ask about its own application, when its Git names objects of a's application and objects without an owner. Under project `wide` b's
// account may do everything, so that only the scopes keep a's objects from b; under `narrow` it sees Deployments and nothing that came of them.
const CANARY = "canary-of-a";
const FREE = "canary-of-nobody";
const RBAC = "rbac.authorization.k8s.io";
const kind = (group: string, name: string, plural: string, namespaced = true): Resource => ({
  group,
  version: "v1",
  kind: name,
  plural,
  namespaced,
});
const REPLICA_SET = kind("apps", "ReplicaSet", "replicasets");
const POD = kind("", "Pod", "pods");
const EVENT = kind("", "Event", "events");
const ENDPOINTS = kind("", "Endpoints", "endpoints");
const ROLE = kind(RBAC, "ClusterRole", "clusterroles", false);
const BINDING = kind(RBAC, "ClusterRoleBinding", "clusterrolebindings", false);

let w: World;
const create = async (resource: Resource, object: object): Promise<KubeObject> =>
  value(await w.client.create(resource, object as never));
const container = (name: string) => ({ name, image: `registry.example/${name}:1` });
const deployment = (name: string, image: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "team-a" },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [container(image)] } },
  },
});
const owned = (owner: KubeObject) => ({
  ownerReferences: [
    {
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
      controller: true,
    },
  ],
});

/** What a Deployment would have: no controller-manager runs. */
async function withPod(name: string, canary: string): Promise<void> {
  const above = value(await w.client.get(DEPLOYMENT, "team-a", name));
  const template = { metadata: { labels: { app: name } }, spec: { containers: [container(canary)] } };
  const set = await create(REPLICA_SET, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${name}-${canary}`,
      namespace: "team-a",
      ...owned({ ...above, apiVersion: "apps/v1", kind: "Deployment" }),
    },
    spec: { replicas: 1, selector: { matchLabels: { app: name } }, template },
  });
  const pod = await create(POD, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${name}-${canary}-1`,
      namespace: "team-a",
      ...owned({ ...set, apiVersion: "apps/v1", kind: "ReplicaSet" }),
    },
    spec: { containers: [container(canary)], automountServiceAccountToken: false },
  });
  const { uid, namespace } = pod.metadata;
  await create(EVENT, {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.1`, namespace: "team-a" },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name: pod.metadata.name, uid },
    reason: "Told",
    message: canary,
    type: "Normal",
  });
}

async function account(name: string, roleRef: string): Promise<void> {
  const metadata = { name: `b-${name}` };
  await create(BINDING, {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: roleRef },
    subjects: [{ kind: "ServiceAccount", name, namespace: "team-b" }],
  });
  const rules = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
    orphanedResources: { warn: true },
  };
  const accounts = [{ server: "*", namespace: "*", defaultServiceAccount: `team-b:${name}` }];
  await project(w, name, { ...rules, destinationServiceAccounts: accounts });
  const annotations = { [ALLOWED_SCOPES]: "a,b" };
  value(await w.client.mergePatch(RESOURCES.appProject, OWN, name, { metadata: { annotations } }));
}

const claim = (what: string, name: string, spec: string) =>
  `apiVersion: v1\nkind: ${what}\nmetadata: {name: ${name}, namespace: team-a}\n${spec}\n`;
/** All that b knows or guesses of a's namespace, claimed in b's Git. */
const CLAIMS = {
  "a.yaml": [deployment("web", "b"), deployment("free", "b")].map((one) => JSON.stringify(one)).join("\n---\n"),
  "b.yaml": configMap("app", { text: "b" }, ", namespace: team-a"),
  "c.yaml": claim("Secret", "nobodys", "data: {text: Yg==}"),
  "d.yaml": claim("Service", "web", "spec: {clusterIP: None, ports: [{port: 80}]}"),
  "e.yaml": [`web-${CANARY}-1`, `free-${FREE}-1`]
    .map((name) => claim("Pod", name, "spec: {containers: [{name: x, image: x}]}"))
    .join("---\n"),
};

beforeAll(async () => {
  w = await world();
  for (const name of ["team-a", "team-b"])
    await create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const serviceAccount = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: "team-a" },
  };
  await create(kind("", "ServiceAccount", "serviceaccounts"), serviceAccount);
  await create(ROLE, {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: "sees-deployments" },
    rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "create", "patch"] }],
  });
  await account("wide", "cluster-admin");
  await account("narrow", "sees-deployments");
  const service = claim("Service", "web", "spec: {clusterIP: None, ports: [{port: 80}]}");
  await w.git.createRepository("a/code", {
    files: {
      "a.yaml": JSON.stringify(deployment("web", CANARY)),
      "b.yaml": configMap("app", { text: CANARY }, ", namespace: team-a"),
      "c.yaml": service,
    },
  });
  await w.app(
    "victim",
    { repo: "a/code", project: "wide", destination: { name: "in-cluster", namespace: "team-a" } },
    { annotations: { [TENANT]: A } },
  );
  await w.until("victim", synced, "Synced");
  await create(DEPLOYMENT, deployment("free", FREE));
  await withPod("web", CANARY);
  await withPod("free", FREE);
  const metadata = { name: "nobodys", namespace: "team-a" };
  await create(RESOURCES.secret, { apiVersion: "v1", kind: "Secret", metadata, stringData: { [FREE]: FREE } });
  await create(RESOURCES.secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `orphan-${FREE}`, namespace: "team-a" },
    stringData: { a: "b" },
  });
  const subsets = [{ addresses: [{ ip: "10.9.8.7", hostname: CANARY }], ports: [{ port: 80 }] }];
  await create(ENDPOINTS, {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "web", namespace: "team-a" },
    subsets,
  });
  await w.git.createRepository("b/claims", { files: CLAIMS });
}, 180_000);
afterAll(() => w?.stop(), 60_000);

/** An application of b's as the link marks it, which waits for its user. */
async function asB(name: string, projectName: string): Promise<Application> {
  const marks = {
    [MARK.uid]: `uid-${name}`,
    [MARK.generation]: "1",
    [MARK.scope]: "acme/b/-",
    [MARK.id]: name,
    [TENANT]: B,
  };
  const at = { name: "in-cluster", namespace: "team-a" };
  const labels = { [MANAGED]: "true" };
  const spec = { repo: "b/claims", project: projectName, destination: at, syncPolicy: {} };
  await w.app(`${name}-b0b0b0`, spec, { labels, annotations: marks });
  return w.until(
    `${name}-b0b0b0`,
    ({ status }) => status?.sync?.status === "OutOfSync" && (status.resources ?? []).length > 0,
    "compared",
  );
}

const RESOURCE_KEYS = [
  { group: "apps", kind: "Deployment", namespace: "team-a", name: "web" },
  { group: "apps", kind: "Deployment", namespace: "team-a", name: "free" },
  { group: "apps", kind: "ReplicaSet", namespace: "team-a", name: `web-${CANARY}` },
  { group: "apps", kind: "ReplicaSet", namespace: "team-a", name: `free-${FREE}` },
  { kind: "Pod", namespace: "team-a", name: `web-${CANARY}-1` },
  { kind: "Pod", namespace: "team-a", name: `free-${FREE}-1` },
  { kind: "ConfigMap", namespace: "team-a", name: "app" },
  { kind: "Secret", namespace: "team-a", name: "nobodys" },
  { kind: "Secret", namespace: "team-a", name: `orphan-${FREE}` },
  { kind: "Service", namespace: "team-a", name: "web" },
  { kind: "Endpoints", namespace: "team-a", name: "web" },
  { group: "argoproj.io", kind: "Application", namespace: OWN, name: "victim" },
  { kind: "Secret", namespace: OWN, name: "argocd-secret" },
];

/** All that can be asked, each with what was told; what b's question names itself is not told. */
async function answers(name: string): Promise<[string, string][]> {
  const log = pino({ level: "silent" });
  const ctx = { client: w.client, namespace: OWN, sealSeed: new Secret(""), log };
  const api = localReads({ ctx, repo: w.repo, lookup: async () => w.repo });
  const params = { key: `b/-/${name}`, uid: `uid-${name}`, name: `${name}-b0b0b0` };
  const signal = AbortSignal.timeout(60_000);
  const ask = async (what: string, more: object = {}) => {
    const got = await api.answer(
      "acme",
      { task: "t", kind: `application.${what}`, params: { ...params, ...more } },
      signal,
    );
    return JSON.stringify(got);
  };
  const logs = async (more: object) => {
    const lines: string[] = [];
    const question = { task: "t", kind: "application.logs", params: { ...params, ...more } };
    const ended = await api.logs("acme", question, (_, text) => void lines.push(text), signal);
    return [...lines, ended.kind === "done" ? "" : ended.reason].join("\n");
  };
  const told: [string, string][] = [];
  for (const what of ["tree", "diff", "events"]) told.push([what, await ask(what)]);
  told.push(["logs", await logs({})]);
  for (const resource of RESOURCE_KEYS) {
    const of = `${resource.kind} ${resource.name}`;
    told.push([`resource ${of}`, await ask("resource", { resource })]);
    told.push([`events of ${of}`, await ask("events", { resource })]);
    told.push([`logs of ${of}`, await logs({ resource })]);
  }
  return told;
}

/** What tells of an object more than that b has named it. */
const betrays = (canary: string) => (text: string) => {
  const plain = text.replaceAll(/"(name|message|reason|desired)":"(\\.|[^"\\])*"/g, "");
  return [canary, Buffer.from(canary).toString("base64"), "10.9.8.7"].some((one) => plain.includes(one));
};

test("no question about b's application tells of what a's has, whatever b's account may read", async () => {
  const app = await asB("wide", "wide");
  const told = await answers("wide");
  expect(told.length).toBeGreaterThan(40);
  expect(told.filter(([, text]) => betrays(CANARY)(text)).map(([what, text]) => [what, text.slice(0, 2_000)])).toEqual(
    [],
  );
  expect(betrays(CANARY)(JSON.stringify(app.status))).toBe(false);
  // It does show what has no owner and what b's account may read, or the lines above would prove nothing.
  expect(told.find(([what]) => what === "tree")![1]).toContain(FREE);
  const health = app.status?.resources?.find(({ kind: of, name }) => of === "Deployment" && name === "web")?.health
    ?.status;
  expect(health).toBe("Missing");
}, 120_000);

test("nor of what is nobody's and b's account may not read", async () => {
  const app = await asB("narrow", "narrow");
  const told = await answers("narrow");
  for (const canary of [CANARY, FREE]) {
    const found = told.filter(
      ([what, text]) =>
        what !== "resource Deployment free" && what !== "diff" && what !== "tree" && betrays(canary)(text),
    );
    expect(found.map(([what, text]) => [what, text.slice(0, 2_000)])).toEqual([]);
  }
  const tree = JSON.parse(told.find(([what]) => what === "tree")![1]) as {
    value: { nodes: { kind: string }[]; orphans?: object[] };
  };
  // Deployments its account does see, and nothing that came of them.
  expect(tree.value.nodes.filter(({ kind: of }) => of === "ReplicaSet")).toEqual([]);
  expect(JSON.stringify(tree.value.orphans ?? [])).not.toContain(FREE);
  expect(JSON.stringify(app.status?.conditions ?? [])).not.toContain(`orphan-${FREE}`);
}, 120_000);
