import type { Schemas } from "../../openapi/client.ts";
import { KubeClient } from "../../server/kube/client.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { type Daemon, until } from "../servers/run.ts";
import { asInstalled, grant, type LinkWorld, linkWorld, must, ok } from "./link-world.ts";
import { changed, DEPLOYMENT, POD, REPLICA_SET } from "./reads-of.ts";

// The link as the chart installs it, with no rights outside its namespace: the controller answers what is asked about the cluster.
let w: LinkWorld;
let git: GitServer;
let controller: Daemon;
let editor: KubeClient;

beforeAll(async () => {
  [w, git] = await Promise.all([linkWorld(["agent"]), startGit()]);
  controller = await asInstalled(w);
  editor = new KubeClient(w.kube.config, { fieldManager: "kubectl-edit" });
  must(await w.kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } }));
  await git.createRepository("shop");
  await commit("one");
}, 120_000);
afterAll(async () => {
  await controller?.stop();
  await editor?.close();
  await git?.stop();
  await w?.stop();
}, 30_000);

const CANARY = "secret-canary";
const map = (name: string, value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { value: "${value}" }\n`;
const web = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: web, image: "registry.example/web:1" }] } }
`;
const secret = `apiVersion: v1\nkind: Secret\nmetadata: { name: web }\nstringData: { password: ${CANARY} }\n`;
const commit = (value: string, more: Record<string, string> = {}) =>
  git.commit(
    "shop",
    { "web/a.yaml": map("settings", value), "web/web.yaml": web, "web/secret.yaml": secret, ...more },
    `Say ${value}\n\nBecause.`,
  );

const params = { path: { id: "shop" } };
const api = () => w.service.api;
async function put(more: Partial<Schemas["ApplicationSpec"]> = {}) {
  const source = { repoUrl: git.cloneUrl("shop"), path: "web" };
  const spec = {
    agent: "one",
    argoProject: "shop",
    revisionHistoryLimit: 10,
    source,
    destination: { namespace: "shop" },
    ...more,
  };
  return ok(await api().PUT("/v1/applications/{id}", { params, body: { spec } }));
}
const when = (what: string, holds: (app: Schemas["Application"]) => unknown, ms = 30_000) =>
  until(
    what,
    async () => {
      const app = await w.application("shop");
      return app && holds(app) ? app : undefined;
    },
    ms,
  ).catch(async (error) => {
    const status = JSON.stringify((await w.application("shop"))?.status);
    throw new Error(
      `${error.message}; it is ${status}; the agent said:\n${w.agent.said().slice(-1500)}\n${controller.said().slice(-1500)}`,
    );
  });
const ended = (id: string | undefined) =>
  when(`the end of ${id}`, ({ status }) => status.operation?.id === id && status.operation?.finishedAt);
const sync = async () =>
  ended(ok(await api().POST("/v1/applications/{id}/sync", { params, body: {} })).status.operation?.id);
const refresh = async (holds: (app: Schemas["Application"]) => unknown) => {
  ok(await api().POST("/v1/applications/{id}/refresh", { params, body: { hard: false } }));
  return when("what a refresh shows", holds);
};
const diff = async () => ok(await api().GET("/v1/applications/{id}/diff", { params }));
const act = (resource: Schemas["ResourceKey"], action: string, parameters?: Record<string, string>) =>
  api().POST("/v1/applications/{id}/actions", {
    params,
    body: { resource, action, ...(parameters ? { parameters } : {}) },
  });
const deployment = { group: "apps", kind: "Deployment", namespace: "shop", name: "web" };
const live = async (resource: Resource, name: string, namespace = "shop") => {
  const found = await w.kube.get(resource, namespace, name);
  return found.kind === "done" ? found.value : undefined;
};
const project = (spec: object) =>
  w.kube.apply(RESOURCES.appProject, {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name: "shop", namespace: w.namespace },
    spec: { sourceRepos: ["*"], destinations: [{ server: "*", namespace: "shop" }], ...spec },
  });
const synced = ({ status }: Schemas["Application"]) => status.sync?.status === "Synced";

test("what was synced by hand has no difference, and the history says who and why", async () => {
  must(await project({ orphanedResources: { warn: false } }));
  await put();
  await when("a look", ({ status }) => status.sync?.status === "OutOfSync");
  expect((await diff()).items.map(({ kind, change }) => [kind, change]).sort()).toEqual([
    ["ConfigMap", "create"],
    ["Deployment", "create"],
    ["Secret", "create"],
  ]);
  await sync();
  const app = await when("Synced", synced);
  expect(app.status.history).toMatchObject([{ id: 0, cause: "Manual", initiatedBy: "key:admin" }]);
  expect(app.status.operation).toMatchObject({ phase: "Succeeded", cause: "Manual" });
  expect(await diff()).toMatchObject({
    items: [],
    revision: app.status.sync?.revision,
    revisions: [app.status.sync?.revision],
  });
}, 90_000);

test("a difference names each field and the manager of what is live, in two programs and in one, and never a Secret's value", async () => {
  must(await editor.mergePatch(DEPLOYMENT, "shop", "web", { spec: { replicas: 3 } }));
  must(await editor.mergePatch(RESOURCES.secret, "shop", "web", { stringData: { password: `${CANARY}-of-somebody` } }));
  await refresh(({ status }) => status.resources?.filter((row) => row.status === "OutOfSync").length === 2);
  const check = (found: Schemas["Diff"]) => {
    expect(found.items.map(({ kind, change, fields }) => [kind, change, fields])).toEqual([
      ["Deployment", "update", [{ path: "/spec/replicas", manager: "kubectl-edit" }]],
      ["Secret", "update", [{ path: "/data/password", manager: "kubectl-edit" }]],
    ]);
    for (const text of [CANARY, Buffer.from(CANARY).toString("base64").slice(0, 12)])
      expect(JSON.stringify(found)).not.toContain(text);
    expect(changed(found.items.slice(0, 1))).toEqual([
      "-   replicas: 3",
      expect.stringMatching(/^\+ {3}replicas: \d$/),
    ]);
    const hidden = found.items[1]!;
    expect([hidden.live, hidden.desired]).toEqual([
      expect.stringContaining("sha256:"),
      expect.stringContaining("sha256:"),
    ]);
    expect(hidden.live).not.toBe(hidden.desired);
  };
  const sorted = async () => {
    const found = await diff();
    return { ...found, items: found.items.sort((a, b) => (a.kind < b.kind ? -1 : 1)) };
  };
  check(await sorted());
  // With all rights in one program.
  await w.agent.stop();
  w.startAgent();
  await until("the agent", async () => (await api().GET("/v1/applications/{id}/diff", { params })).response.ok, 30_000);
  check(await sorted());

  // What is ignored is none: by pointer, by jq and by manager, as the controller has it.
  const ignoreDifferences = [
    { group: "apps", kind: "Deployment", jqPathExpressions: [".spec.replicas"] },
    { kind: "Secret", managedFieldsManagers: ["kubectl-edit"] },
  ];
  await put({ ignoreDifferences, syncPolicy: { syncOptions: ["RespectIgnoreDifferences=true"] } });
  await refresh(synced);
  expect((await diff()).items).toEqual([]);
  await w.agent.stop();
  w.startAgent(w.installed);
  await until("the agent", async () => (await api().GET("/v1/applications/{id}/diff", { params })).response.ok, 30_000);
  expect((await diff()).items).toEqual([]);
}, 120_000);

test("the tree shows what came of what, how it is, and what of the namespace is nobody's", async () => {
  const above = (await live(DEPLOYMENT, "web"))!;
  const owner = (object: KubeObject) => [
    {
      apiVersion: object.apiVersion,
      kind: object.kind,
      name: object.metadata.name,
      uid: object.metadata.uid!,
      controller: true,
    },
  ];
  const template = above.spec.template;
  const set = must(
    await w.kube.create(REPLICA_SET, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "web-1", namespace: "shop", labels: { app: "web" }, ownerReferences: owner(above) },
      spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
    }),
  );
  must(
    await w.kube.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web-1-a", namespace: "shop", labels: { app: "web" }, ownerReferences: owner(set) },
      spec: template.spec,
    }),
  );
  must(
    await w.kube.create(RESOURCES.configMap, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "left", namespace: "shop" },
    }),
  );
  const tree = ok(await api().GET("/v1/applications/{id}/tree", { params }));
  const node = (name: string) => tree.nodes.find((one) => one.name === name)!;
  expect(tree.nodes.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual([
    "ConfigMap settings",
    "Deployment web",
    "Pod web-1-a",
    "ReplicaSet web-1",
    "Secret web",
  ]);
  expect(node("web-1").parents).toEqual([above.metadata.uid]);
  expect(node("web-1-a")).toMatchObject({
    parents: [node("web-1").uid],
    health: "Progressing",
    images: ["registry.example/web:1"],
  });
  expect(node("web-1-a").info).toContainEqual({ name: "ready", value: "0/1" });
  expect(node("settings")).toMatchObject({ status: "Synced", createdAt: expect.any(String) });
  expect(tree.orphans?.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["ConfigMap left"]);
  expect([tree.truncated, tree.unseen]).toEqual([undefined, undefined]);
}, 60_000);

test("one object is shown with what may be done to it, when it is the application's or came of one", async () => {
  const read = (query: { kind: string; name: string; namespace?: string; group?: string }) =>
    api().GET("/v1/applications/{id}/resource", { params: { ...params, query } });
  const { live: object, actions } = ok(await read(deployment));
  expect(object).toMatchObject({ kind: "Deployment", metadata: { name: "web" } });
  expect(actions.map(({ name }) => name)).toEqual(expect.arrayContaining(["restart", "scale"]));
  expect(ok(await read({ kind: "Pod", name: "web-1-a", namespace: "shop" })).live).toMatchObject({ kind: "Pod" });
  const hidden = ok(await read({ kind: "Secret", name: "web", namespace: "shop" }));
  expect(JSON.stringify(hidden)).not.toContain(Buffer.from(CANARY).toString("base64").slice(0, 12));
  // What is not there and what is none of its business look the same.
  for (const one of [
    { kind: "ConfigMap", name: "kube-root-ca.crt", namespace: "kube-system" },
    { kind: "Secret", name: "nothing", namespace: "kube-system" },
  ])
    expect((await read(one)).error).toMatchObject({
      code: "agent_refused",
      detail: `${one.kind} ${one.name} is not part of application shop`,
    });
}, 60_000);

test("an orphan of the application's namespace is shown and nothing can be done to it, where the project looks for orphans", async () => {
  const read = (name: string, kind = "ConfigMap", namespace = "shop") =>
    api().GET("/v1/applications/{id}/resource", { params: { ...params, query: { kind, name, namespace } } });
  must(
    await w.kube.create(RESOURCES.secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "nobodys", namespace: "shop" },
      stringData: { password: CANARY },
    }),
  );
  const found = ok(await read("left"));
  expect(found).toMatchObject({ live: { kind: "ConfigMap", metadata: { name: "left" } }, actions: [], orphan: true });
  const hidden = ok(await read("nobodys", "Secret"));
  expect(hidden).toMatchObject({ live: { data: { password: expect.stringMatching(/^sha256:/) } }, orphan: true });
  expect(JSON.stringify(hidden)).not.toContain(CANARY);
  // What the project does not look for stays closed: what the cluster makes itself, another namespace, an ignored one.
  for (const [name, kind, namespace] of [
    ["kube-root-ca.crt"],
    ["default", "ServiceAccount"],
    ["left", "ConfigMap", "default"],
  ] as const)
    expect((await read(name, kind, namespace)).error).toMatchObject({
      detail: expect.stringContaining("is not part of application shop"),
    });
  // Where the project has an account, only what that account may read.
  const accounts = [{ server: "*", namespace: "*", defaultServiceAccount: "looker" }];
  must(
    await project({
      orphanedResources: { warn: false, ignore: [{ kind: "Secret" }] },
      destinationServiceAccounts: accounts,
    }),
  );
  await until("what is ignored", async () => (await read("nobodys", "Secret")).error);
  expect((await read("left")).error).toMatchObject({ detail: "ConfigMap left is not part of application shop" });
  const account = { kind: "ServiceAccount", name: "looker", namespace: "shop" };
  await grant(w.kube, "shop", "looker", account, [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]);
  await until("the account's own rights", async () => (await read("left")).response.ok);
  must(await project({}));
  await until("what nobody looks for", async () => (await read("left")).error);
  must(await project({ orphanedResources: { warn: false } }));
}, 120_000);

test("an action is done by the controller, once, and only to what is the application's", async () => {
  const before = (await live(DEPLOYMENT, "web"))!;
  const done = ok(await act(deployment, "restart"));
  const after = (await live(DEPLOYMENT, "web"))!;
  const restarted = "kubectl.kubernetes.io/restartedAt";
  expect(before.spec.template.metadata.annotations?.[restarted]).toBeUndefined();
  expect(after.spec.template.metadata.annotations[restarted]).toMatch(/Z$/);
  expect(done.live).toMatchObject({ metadata: { name: "web" } });
  ok(await act(deployment, "scale", { replicas: "2" }));
  expect((await live(DEPLOYMENT, "web"))!.spec.replicas).toBe(2);
  const cr = (await w.cr("shop"))!.metadata.annotations!;
  expect(JSON.parse(cr["outpost.dev/resource-action-result"]!)).toMatchObject({ state: "Succeeded" });
  expect(cr["outpost.dev/resource-action"]).toBeUndefined();
  expect((await act(deployment, "fly")).error).toMatchObject({
    code: "agent_refused",
    detail: expect.stringContaining("has no action fly; there are"),
  });
  expect((await act(deployment, "scale", { replicas: "-1" })).error).toMatchObject({
    code: "agent_refused",
    detail: "invalid number: -1",
  });
  // What the users of the cluster have written in Lua, too.
  const mark =
    "discovery.lua: |\n  return { mark = {} }\ndefinitions:\n- name: mark\n  action.lua: |\n    obj.metadata.annotations['marked'] = 'by lua'\n    return obj\n";
  const metadata = { name: "argocd-cm", namespace: w.namespace, labels: { "app.kubernetes.io/part-of": "argocd" } };
  const data = { "resource.customizations.actions.ConfigMap": mark };
  must(await w.kube.create(RESOURCES.configMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data }));
  const settings = { kind: "ConfigMap", namespace: "shop", name: "settings" };
  await until("the users' action", async () => (await act(settings, "mark")).response.ok);
  expect((await live(RESOURCES.configMap, "settings"))?.metadata.annotations).toMatchObject({ marked: "by lua" });
  expect((await act({ kind: "ConfigMap", namespace: "shop", name: "left" }, "restart")).error).toMatchObject({
    detail: "ConfigMap left is not part of application shop",
  });
}, 60_000);

test("what the project keeps from a sync, and what its account may not do, it keeps from an action", async () => {
  must(
    await project({
      orphanedResources: { warn: false },
      namespaceResourceBlacklist: [{ group: "apps", kind: "Deployment" }],
    }),
  );
  const seen = await api().GET("/v1/applications/{id}/resource", { params: { ...params, query: deployment } });
  expect(seen.error).toMatchObject({ code: "agent_refused" });
  expect((await act(deployment, "restart")).error).toMatchObject({ code: "agent_refused" });
  must(
    await project({
      namespaceResourceBlacklist: [],
      destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "deployer" }],
    }),
  );
  const forbidden = await until("the account's own rights", async () => {
    const { error } = await act(deployment, "restart");
    return JSON.stringify(error).includes("system:serviceaccount:shop:deployer") && error;
  });
  expect(forbidden).toMatchObject({ code: "agent_refused", detail: expect.stringContaining("cannot patch resource") });
  const account = { kind: "ServiceAccount", name: "deployer", namespace: "shop" };
  await grant(w.kube, "shop", "deployer", account, [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
  await until("what it may do now", async () => (await act(deployment, "restart")).response.ok);
  must(await project({}));
}, 60_000);

test("a rollback deploys what an entry of the history deployed, and is refused with the reason where it makes no sense", async () => {
  await put();
  const head = await commit("two");
  await refresh(({ status }) => status.sync?.revision === head && status.sync.status === "OutOfSync");
  await sync();
  expect((await live(RESOURCES.configMap, "settings"))?.data).toEqual({ value: "two" });
  const rollback = (body: Schemas["RollbackRequest"]) => api().POST("/v1/applications/{id}/rollback", { params, body });
  expect((await rollback({ id: 77 })).error).toMatchObject({ code: "invalid_field", pointer: "/id" });
  const against = (query: object) => api().GET("/v1/applications/{id}/diff", { params: { ...params, query } });
  const first = ok(await api().GET("/v1/applications/{id}/history", { params })).items[0]!.revision;
  for (const query of [{ history: 0 }, { revision: first }])
    expect(changed(ok(await against(query)).items)).toEqual(["-   value: two", "+   value: one"]);
  expect(ok(await against({ history: 1 })).items).toEqual([]);
  expect((await against({ history: 77 })).error).toMatchObject({
    detail: expect.stringContaining("The history has no entry 77. It has 0, 1."),
  });
  const tried = ok(await rollback({ id: 0, dryRun: true }));
  expect((await ended(tried.status.operation?.id)).status.operation).toMatchObject({
    phase: "Succeeded",
    cause: "Rollback",
  });
  expect((await live(RESOURCES.configMap, "settings"))?.data).toEqual({ value: "two" });
  const back = await ended(ok(await rollback({ id: 0 })).status.operation?.id);
  expect((await live(RESOURCES.configMap, "settings"))?.data).toEqual({ value: "one" });
  expect(back.status.operation).toMatchObject({ phase: "Succeeded", cause: "Rollback", initiatedBy: "key:admin" });
  const history = ok(await api().GET("/v1/applications/{id}/history", { params })).items;
  expect(history.map(({ id, cause }) => [id, cause])).toEqual([
    [0, "Manual"],
    [1, "Manual"],
    [2, "Rollback"],
  ]);
  expect([history[2]!.revision, history[0]!.revision]).toEqual([history[0]!.revision, history[2]!.revision]);
  await put({ syncPolicy: { automated: {} } });
  expect((await rollback({ id: 0 })).error).toMatchObject({
    code: "conflict",
    detail: expect.stringContaining("Automated sync is on"),
  });
  const automated = await when(
    "what automated sync did",
    ({ status }) => status.history?.at(-1)?.cause === "Automated",
  );
  expect(automated.status.history?.at(-1)).toMatchObject({ revision: head, initiatedBy: "automated" });
  await put();
}, 120_000);

test("a sync that runs is ended, and its hook with it", async () => {
  const hook = `apiVersion: v1\nkind: Pod\nmetadata: { name: sleeps, annotations: { argocd.argoproj.io/hook: PreSync } }\nspec: { containers: [{ name: c, image: x }] }\n`;
  const head = await commit("three", { "web/hook.yaml": hook });
  await refresh(({ status }) => status.sync?.revision === head);
  const { operation } = ok(await api().POST("/v1/applications/{id}/sync", { params, body: {} })).status;
  await when(
    "its hook to run",
    ({ status }) => status.operation?.id === operation?.id && status.operation?.message?.includes("hook /Pod/sleeps"),
  );
  expect(await live(POD, "sleeps")).toBeDefined();
  ok(await api().POST("/v1/applications/{id}/terminate", { params }));
  const app = await ended(operation?.id);
  expect(app.status.operation).toMatchObject({ phase: "Failed", message: "Operation terminated" });
  const left = await live(POD, "sleeps");
  expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
  expect((await api().POST("/v1/applications/{id}/terminate", { params })).error).toMatchObject({ code: "conflict" });
}, 60_000);

test("a revision says who made it and why; manifests are those of any revision", async () => {
  const made = ok(await api().GET("/v1/applications/{id}/revision", { params }));
  expect(made).toMatchObject({
    revision: expect.stringMatching(/^[0-9a-f]{40}$/),
    message: expect.stringContaining("Say three"),
    author: expect.any(String),
  });
  const wrong = await api().GET("/v1/applications/{id}/revision", { params: { ...params, query: { source: 3 } } });
  expect(wrong.error).toMatchObject({ code: "agent_refused", detail: expect.stringContaining("no source number 3") });
  const [first] = ok(await api().GET("/v1/applications/{id}/history", { params })).items;
  const old = ok(
    await api().GET("/v1/applications/{id}/manifests", {
      params: { ...params, query: { revision: first!.revision! } },
    }),
  );
  expect([old.revision, old.revisions]).toEqual([first!.revision, [first!.revision]]);
  expect(old.manifests.find(({ kind }) => kind === "ConfigMap")).toMatchObject({ data: { value: "one" } });
}, 60_000);

test("what Git does not describe any more is a deletion, unless it may stay", async () => {
  const extraneous = map("stays", "1").replace(
    "name: stays",
    "name: stays, annotations: { argocd.argoproj.io/compare-options: IgnoreExtraneous }",
  );
  await commit("four", { "web/hook.yaml": map("goes", "1"), "web/stays.yaml": extraneous });
  await refresh(({ status }) => status.sync?.status === "OutOfSync");
  await sync();
  await commit("four", { "web/hook.yaml": "", "web/stays.yaml": "" });
  await refresh(({ status }) => status.resources?.some((row) => row.requiresPruning));
  const { items } = await diff();
  expect(items.map(({ kind, name, change }) => [kind, name, change])).toEqual([["ConfigMap", "goes", "delete"]]);
  must(await w.kube.delete(RESOURCES.configMap, "shop", "goes"));
  await when("Synced, though one is left", synced);
  expect((await diff()).items).toEqual([]);
}, 60_000);

test("a set is tried without making anything", async () => {
  const template = {
    metadata: { name: "shop-{{ .name }}" },
    spec: { project: "shop", destination: { namespace: "shop" }, source: { repoURL: "u", path: "." } },
  };
  const spec = {
    agent: "one",
    goTemplate: true,
    generators: [{ list: { elements: [{ name: "a" }, { name: "b" }] } }],
    template,
    syncPolicy: { applicationsSync: "create-only" as const },
  };
  ok(await api().PUT("/v1/applicationsets/{id}", { params: { path: { id: "sets" } }, body: { spec } }));
  const made = await until(
    "what it would make",
    async () => (await api().GET("/v1/applicationsets/{id}/generate", { params: { path: { id: "sets" } } })).data,
  );
  expect(made.items.map(({ metadata }) => (metadata as { name: string }).name)).toEqual(["shop-a", "shop-b"]);
}, 60_000);
