import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { MemoryCache } from "../../server/agent/cache/memory.ts";
import type { Application } from "../../server/agent/controller/application.ts";
import type { AgentContext } from "../../server/agent/link/context.ts";
import { putAppProject, removeAppProject } from "../../server/agent/link/deliveries/project.ts";
import { MANAGED, MARK } from "../../server/agent/link/names.ts";
import { applicationManifests } from "../../server/agent/link/queries/manifests.ts";
import { applicationRevision } from "../../server/agent/link/queries/revision.ts";
import type { Read } from "../../server/agent/link/queries/task.ts";
import { applicationResource } from "../../server/agent/link/queries/tree/resource.ts";
import { RepoService } from "../../server/agent/repo/service.ts";
import { Secret } from "../../server/base/secret.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import type { AuditEvent } from "../cluster/apiserver.ts";
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

// What the API server itself has written down: in whose name everything of a tenant was asked for. And what a reader gets who asks for files.
const RBAC = "rbac.authorization.k8s.io";
const TENANT = "system:serviceaccount:team:deployer";
const PERSON = "a-person";
const CANARY = "canary-of-this-machine";
const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection"]);
const resource = (kind: string, plural: string, namespaced = true): Resource => ({
  group: RBAC,
  version: "v1",
  kind,
  plural,
  namespaced,
});

let w: World;
let person: KubeClient;
let repo: RepoService;
const work = mkdtempSync(join(tmpdir(), "abuse-accounts-"));
beforeAll(async () => {
  writeFileSync(join(work, "secret.yaml"), configMap(CANARY, {}));
  w = await world({ audit: true });
  person = new KubeClient(w.client.config, { fieldManager: PERSON });
  repo = new RepoService({ folder: join(work, "repo"), cache: new MemoryCache() });
  await repo.start();
  for (const name of ["team", "tenant-a"])
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  const subjects = [{ kind: "ServiceAccount", name: "deployer", namespace: "team" }];
  const give = async (role: Resource, binding: Resource, where: object, rules: object[]) => {
    const metadata = { name: "deployer", ...where };
    const apiVersion = `${RBAC}/v1`;
    value(await w.client.apply(role, { apiVersion, kind: role.kind, metadata, rules }));
    const roleRef = { apiGroup: RBAC, kind: role.kind, name: "deployer" };
    value(await w.client.apply(binding, { apiVersion, kind: binding.kind, metadata, roleRef, subjects }));
  };
  await give(resource("Role", "roles"), resource("RoleBinding", "rolebindings"), { namespace: "team" }, [
    { apiGroups: ["", "apps"], resources: ["configmaps", "secrets", "deployments"], verbs: ["*"] },
  ]);
  await give(
    resource("ClusterRole", "clusterroles", false),
    resource("ClusterRoleBinding", "clusterrolebindings", false),
    {},
    [
      { apiGroups: [""], resources: ["namespaces"], verbs: ["get", "create", "patch"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] },
    ],
  );
  const spec = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "team:deployer" }],
  };
  const metadata = { name: "team", namespace: w.namespace };
  value(
    await w.client.apply(RESOURCES.appProject, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata,
      spec,
    }),
  );
  const looked = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "looked", namespace: "team" },
    stringData: { a: "b" },
  };
  value(await w.client.create(RESOURCES.secret, looked));
}, 120_000);
afterAll(async () => {
  repo?.close();
  await person?.close();
  await w?.stop();
  rmSync(work, { recursive: true, force: true });
}, 30_000);

const hook = (name: string, when: string) =>
  configMap(
    name,
    {},
    `, annotations: {argocd.argoproj.io/hook: ${when}, argocd.argoproj.io/hook-delete-policy: "HookSucceeded,BeforeHookCreation"}`,
  );
const replaced = (text: string) =>
  configMap("replaced", { text }, `, annotations: {argocd.argoproj.io/sync-options: "Replace=true,Force=true"}`);
const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: x}]}}}
`;
const looks = (namespace: string) => ({
  "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
  "templates/a.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: looks}\ndata: {x: {{ (lookup "v1" "Secret" "${namespace}" "looked").metadata.name | quote }}}\n`,
});

test("every write of a tenant's objects names his account, and none the agent's own, says the API server's log", async () => {
  const { length } = w.api.audit();
  const into = (namespace: string) => ({ project: "team", destination: { name: "in-cluster", namespace } });
  const files = { "a.yaml": configMap("a", { v: "1" }), "b.yaml": configMap("b", {}), "r.yaml": replaced("one") };
  await w.git.createRepository("tenant", {
    files: {
      ...files,
      "pre.yaml": hook("pre", "PreSync"),
      "post.yaml": hook("post", "PostSync"),
      "after.yaml": hook("after", "PostDelete"),
    },
  });
  const finalizers = ["resources-finalizer.argocd.argoproj.io/background", "post-delete-finalizer.argocd.argoproj.io"];
  await w.app("tenant", { repo: "tenant", ...into("team") }, { finalizers });
  await w.until("tenant", synced, "Synced");
  // No Deployment becomes ready here, and hooks would wait for it.
  await w.git.createRepository("web", { files: { "web.yaml": web } });
  await w.app("web", { repo: "web", ...into("team") }, { finalizers: finalizers.slice(0, 1) });
  await w.until("web", synced, "Synced");
  // A change, one thing less, another content of what is replaced.
  await w.git.commit(
    "tenant",
    { "a.yaml": configMap("a", { v: "2" }), "b.yaml": null, "r.yaml": replaced("two") },
    "two",
  );
  await w.refresh("tenant");
  await w.settled(async () => (await w.object(CONFIG_MAP, "team", "b")) === undefined, "pruned");
  await w.until("tenant", synced, "Synced again");
  // One of them is edited, and it is put right.
  value(await person.mergePatch(CONFIG_MAP, "team", "a", { data: { v: "other" } }));
  await w.settled(async () => (await w.object(CONFIG_MAP, "team", "a"))?.data?.v === "2", "put right");
  await w.until("tenant", synced, "Synced again");
  // An action, as a person asks for it.
  const action = {
    id: "1",
    at: new Date().toISOString(),
    action: "restart",
    resource: { group: "apps", kind: "Deployment", namespace: "team", name: "web" },
  };
  const annotations = { "outpost.dev/resource-action": JSON.stringify(action) };
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "web", { metadata: { annotations } }));
  const done = (app: Application) =>
    /Succeeded|Failed/.test(app.metadata.annotations?.["outpost.dev/resource-action-result"] ?? "");
  const acted = await w.until("web", done, "acted on");
  expect(acted.metadata.annotations?.["outpost.dev/resource-action-result"]).toContain("Succeeded");
  // A namespace with labels, and a chart that looks something up.
  await w.git.createRepository("made", { files: { "a.yaml": configMap("a", {}) } });
  const syncPolicy = {
    automated: {},
    syncOptions: ["CreateNamespace=true"],
    managedNamespaceMetadata: { labels: { of: "team" } },
  };
  await w.app("made", { repo: "made", ...into("made"), syncPolicy });
  await w.until("made", synced, "Synced");
  await w.git.createRepository("looks", { files: looks("team") });
  await w.app("looks", { repo: "looks", ...into("team") }, { annotations: { "outpost.dev/helm-lookup": "deployer" } });
  await w.until("looks", synced, "Synced");
  expect((await w.object(CONFIG_MAP, "team", "looks"))?.data).toEqual({ x: "looked" });
  // They go, with all that they have, and the hook after that.
  for (const name of ["tenant", "web"]) {
    value(await w.client.delete(RESOURCES.application, w.namespace, name, { propagation: "Background" }));
    await w.settled(
      async () => (await w.client.get(RESOURCES.application, w.namespace, name)).kind !== "done",
      `${name} gone`,
    );
  }
  expect(await w.object(DEPLOYMENT, "team", "web")).toBeUndefined();

  const said = w.api.audit().slice(length);
  const mine = said.filter(({ objectRef, requestURI }) => {
    const where = objectRef?.resource === "namespaces" ? objectRef.name : objectRef?.namespace;
    return (where === "team" || where === "made") && !requestURI.includes(`fieldManager=${PERSON}`);
  });
  // A comparison tries what an apply would do, which writes nothing: that is the agent's own question.
  const writes = mine.filter(
    ({ verb, user, requestURI }) => WRITES.has(verb) && user.username === "admin" && !/dryRun=All/.test(requestURI),
  );
  const line = ({ verb, objectRef, impersonatedUser }: AuditEvent) =>
    `${verb} ${objectRef?.resource}/${objectRef?.name} as ${impersonatedUser?.username ?? "the agent"}`;
  expect(writes.filter(({ impersonatedUser }) => impersonatedUser?.username !== TENANT).map(line)).toEqual([]);
  // All that a sync can do was among them.
  const what = new Set(
    writes
      .filter(({ responseStatus }) => (responseStatus?.code ?? 500) < 300)
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource}`),
  );
  for (const one of ["patch configmaps", "delete configmaps", "patch deployments", "delete deployments"])
    expect([...what]).toContain(one);
  expect([...what].filter((one) => one.endsWith("namespaces")).length).toBeGreaterThan(0);
  expect(writes.some(({ objectRef }) => objectRef?.name === "after")).toBe(true);
  // Nor was the Secret that a chart looked up read by anybody else.
  const reads = mine.filter(
    ({ verb, objectRef }) => verb === "get" && objectRef?.resource === "secrets" && objectRef.name === "looked",
  );
  expect(reads.map(({ impersonatedUser }) => impersonatedUser?.username)).toEqual(reads.map(() => TENANT));
  expect(reads.length).toBeGreaterThan(0);
}, 240_000);

const context = (): AgentContext => ({
  client: w.client,
  namespace: w.namespace,
  account: "default",
  sealSeed: new Secret(""),
  log: pino({ level: "silent" }),
});

describe("a reader who asks for what is outside", () => {
  const KEY = "-/-/shown";
  beforeAll(async () => {
    const files = { "a.yaml": configMap("a", {}), "out/a.yaml": { link: join(work, "secret.yaml") } };
    await w.git.createRepository("shown", { files });
    await w.git.createRepository("beside", { files: { "a.yaml": configMap(CANARY, {}) } });
    const labels = { [MANAGED]: "true" };
    const annotations = { [MARK.uid]: "u1", [MARK.generation]: "1", [MARK.scope]: "default/-/-", [MARK.id]: "shown" };
    const more = { destination: { name: "in-cluster", namespace: "shown" }, syncPolicy: {} };
    await w.app("shown", { repo: "shown", ...more }, { labels, annotations });
    await w.app(
      "leads-out",
      { repo: "shown", path: "out", ...more },
      { labels, annotations: { ...annotations, [MARK.id]: "leads-out" } },
    );
    value(
      await w.client.create(RESOURCES.secret, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "theirs", namespace: "team" },
        stringData: { a: CANARY },
      }),
    );
  }, 60_000);
  const ask = async (read: Read, params: object, name = "shown") => {
    const all = { key: KEY.replace("shown", name), uid: "u1", name, ...params };
    const task = { worker: "w", task: "t", kind: "x", params: all, fence: 1, attempt: 1, timeoutSeconds: 30 };
    return read({ ctx: context(), repo }, task as never);
  };
  const told = (got: unknown) => {
    const text = JSON.stringify(got);
    return [CANARY, Buffer.from(CANARY).toString("base64"), "root:x:0", work].filter((one) => text.includes(one));
  };

  test.each([
    "../../../../etc/passwd",
    "/etc/passwd",
    "main:../../etc/passwd",
    ":/etc/passwd",
    "HEAD:a.yaml",
    "main^{tree}",
    "--output=/tmp/x",
    "--no-index /etc/passwd",
    "@{-1}",
    "a\u0000b",
    "../beside.git/HEAD",
    "refs/heads/../../../beside.git/HEAD",
  ])("gets neither its content nor a word of it by the revision %j", async (revision) => {
    for (const read of [applicationManifests, applicationRevision]) {
      const got = await ask(read, { revision });
      expect([got.kind, told(got)]).toEqual(["stop", []]);
    }
  });
  test("nor by the number of a source, nor by the name of an object", async () => {
    for (const source of ["../0", -1, 1e9, "__proto__", {}, [0]])
      expect((await ask(applicationRevision, { source })).kind).toMatch(/stop|done/);
    for (const name of [
      "../../secrets/theirs",
      "../secrets/theirs",
      "..",
      "theirs?x=",
      "theirs",
      "%2e%2e/secrets/theirs",
      "a/../theirs",
    ])
      for (const kind of ["Secret", "ConfigMap"]) {
        const got = await ask(applicationResource, { resource: { kind, namespace: "team", name } });
        expect([name, got.kind, told(got)]).toEqual([name, "stop", []]);
      }
  });
  test("nor from a repository that leads there, in words either", async () => {
    const got = await ask(applicationManifests, {}, "leads-out");
    expect([got.kind, got.kind !== "done" && got.reason, told(got)]).toEqual(["stop", "PathEscapesRepository", []]);
  });
});

test("a project that an application of another namespace is under is not deleted", async () => {
  const object = (id: string) => ({
    op: "put",
    collection: "appprojects",
    key: `-/-/${id}`,
    name: id,
    uid: `u-${id}`,
    generation: 1,
  });
  const spec = {
    agent: "one",
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    sourceNamespaces: ["tenant-*"],
  };
  value(await putAppProject(context(), { ...object("lent"), spec } as never));
  value(await putAppProject(context(), { ...object("empty"), spec } as never));
  await settings(w, "argocd-cmd-params-cm", { "application.namespaces": "tenant-a" });
  await w.git.createRepository("lent", { files: { "a.yaml": configMap("a", {}) } });
  const app = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "theirs", namespace: "tenant-a" },
    spec: {
      project: "lent",
      source: { repoURL: w.git.cloneUrl("lent"), path: ".", targetRevision: "main" },
      destination: { name: "in-cluster", namespace: "tenant-a" },
      syncPolicy: { automated: {} },
    },
  };
  value(await w.client.create(RESOURCES.application, app));
  await w.until("theirs", synced, "Synced", "tenant-a");
  const refused = await removeAppProject(context(), object("lent") as never);
  expect(refused).toMatchObject({ kind: "stop", reason: "InUse", message: expect.stringContaining("tenant-a/theirs") });
  const { kind } = await w.client.get(RESOURCES.appProject, w.namespace, "lent");
  expect(kind).toBe("done");
  // Another one is, and this one when that application has gone.
  const removed = async (id: string) => (await removeAppProject(context(), object(id) as never)).kind === "done";
  await w.settled(() => removed("empty"), "deleted");
  value(await w.client.delete(RESOURCES.application, "tenant-a", "theirs"));
  await w.settled(() => removed("lent"), "deleted");
}, 90_000);
