import { createServer, type Server } from "node:http";
import { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import { clusterWorld } from "../../server/agent/appset/world/cluster-world.ts";
import type { Application } from "../../server/agent/controller/application.ts";
import { ALLOWED_SCOPES, MANAGED, sharesWith, sharingOf, TENANT } from "../../server/agent/project/tenant.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { configMap, project, synced, value, type World, world } from "../journeys/engine-world.ts";
import { A, B, combinations, FORGERIES, HOME, OWN, type Places, TEMPLATES, type Trick } from "./tenant-tricks.ts";

// A cross product of tricks, alone and in pairs, on a real API server: each as an Application that is in the cluster as if every check before it had
// let it pass, while b's forged Secrets for a's repositories, the agent's template and the agent's cluster are there too. The accounts may do
// everything, so nothing but the scopes keeps a and b apart.
const CANARY = "canary-of-a";
const PASSWORDS = ["A-PASSWORD", "ADMIN-PASSWORD"];
const RBAC = "rbac.authorization.k8s.io";
const BINDING: Resource = {
  group: RBAC,
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};
const ENDED_MS = 300_000;

let w: World;
let at: Places;
let evil: { url: string; heard: string[]; server: Server };

/** A proxy and a Git server of b's: it remembers what it is told, and leads every request to a's repository. */
async function listener(target: () => string) {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(JSON.stringify([request.method, request.url, request.headers]));
    request.on("data", (bytes: Buffer) => heard.push(bytes.toString("latin1")));
    response.writeHead(302, { location: `${target()}${(request.url ?? "").replace(/^\/[^/]*\.git/, "")}` }).end();
  });
  server.on("connect", (request, socket) => {
    heard.push(JSON.stringify(["CONNECT", request.url, request.headers]));
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, heard, server };
}

async function secret(type: string, name: string, fields: Record<string, string>, tenant?: string): Promise<void> {
  const labels = { "argocd.argoproj.io/secret-type": type };
  const metadata = { name, namespace: OWN, labels, ...(tenant ? { annotations: { [TENANT]: tenant } } : {}) };
  value(await w.client.apply(RESOURCES.secret, { apiVersion: "v1", kind: "Secret", metadata, stringData: fields }));
}
const annotate = async (resource: Resource, name: string, annotations: Record<string, string>) =>
  value(await w.client.mergePatch(resource, OWN, name, { metadata: { annotations } }));

beforeAll(async () => {
  w = await world();
  evil = await listener(() => w.git.cloneUrl("a/code"));
  at = { repository: (name) => w.git.cloneUrl(name), redirect: `${evil.url}/x.git` };
  const namespace = (name: string) =>
    w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  for (const name of ["team-a", "team-b"]) value(await namespace(name));
  await w.git.createRepository("a/code", {
    files: { "a.yaml": configMap("app", { text: CANARY, rev: "1" }) },
    users: { ana: PASSWORDS[0]! },
  });
  await w.git.createRepository("platform/code", {
    files: { "p.yaml": configMap("p", { text: CANARY }) },
    users: { admin: PASSWORDS[1]! },
  });
  await w.git.createRepository("b/code", { files: { "b.yaml": configMap("b", { text: "b" }) } });
  const rules = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
  };
  const accounts = {
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "kube-system:all" }],
  };
  for (const name of ["limit", "internal", "globbed"]) await project(w, name, { ...rules, ...accounts });
  for (const name of ["a", "b"]) await project(w, name, rules);
  await annotate(RESOURCES.appProject, "limit", { [ALLOWED_SCOPES]: "a,b" });
  await annotate(RESOURCES.appProject, "globbed", { [ALLOWED_SCOPES]: "*,b*,b/*,?,[a-z],/b/" });
  await annotate(RESOURCES.appProject, "a", { [TENANT]: A });
  await annotate(RESOURCES.appProject, "b", { [TENANT]: B });
  value(
    await w.client.create(BINDING, {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "all" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "all", namespace: "kube-system" }],
    } as KubeObject),
  );
  const url = at.repository("a/code");
  await secret("repository", "repo-code-a", { url, username: "ana", password: PASSWORDS[0]! }, A);
  await secret("repo-creds", "repocreds-platform", {
    url: `${w.git.url}/platform/`,
    username: "admin",
    password: PASSWORDS[1]!,
  });
  await secret(
    "cluster",
    "cluster-prod-a",
    { name: "prod-a", server: "https://prod-a.example", config: '{"bearerToken":"A-PASSWORD"}' },
    A,
  );
  const trap = { proxy: evil.url, insecure: "true", forceHttpBasicAuth: "true" };
  await secret("repository", "repo-0-same", { url, ...trap }, B);
  await secret("repository", "repo-0-slash", { url: `${url}/`, ...trap }, B);
  await secret("repository", "repo-0-platform", { url: at.repository("platform/code"), ...trap }, B);
  for (const [i, path] of ["a/", "a/code", "platform/"].entries())
    await secret(
      "repo-creds",
      `repocreds-${i}`,
      { url: `${w.git.url}/${path}`, username: "b", password: "b", proxy: evil.url },
      B,
    );
  const config = JSON.stringify({ bearerToken: "b", proxyUrl: evil.url, tlsClientConfig: { insecure: true } });
  for (const name of ["in-cluster", "evil"])
    await secret("cluster", `cluster-0-${name}`, { name, server: HOME, config }, B);
  await secret("cluster", "cluster-0-prod-a", { name: "prod-a", server: "https://prod-a.example", config }, B);
  const victim = { repo: "a/code", project: "a", destination: { name: "in-cluster", namespace: "team-a" } };
  await w.app("victim", victim, { annotations: { [TENANT]: A } });
  await w.until("victim", synced, "Synced");
}, 240_000);

afterAll(async () => {
  evil?.server.close();
  await w?.stop();
}, 60_000);

const ATTACK = { "attack.test/is": "true" };
/** All that is not b's to change, as the cluster has it. */
async function standing(): Promise<string> {
  const lists = await Promise.all([
    w.client.list(RESOURCES.secret, { namespace: OWN }),
    w.client.list(RESOURCES.configMap, { namespace: OWN }),
    w.client.list(RESOURCES.configMap, { namespace: "team-a" }),
    w.client.list(RESOURCES.appProject),
    w.client.list(APPLICATION_SET, { namespace: OWN }),
    w.client.list(RESOURCES.application),
    w.client.list(RESOURCES.namespace),
  ]);
  const others = lists
    .flatMap((one) => value(one).items)
    .filter(({ metadata }) => !metadata.labels?.["attack.test/is"]);
  return others
    .map(({ kind, metadata: { namespace, name, uid, labels, annotations, ownerReferences }, data, spec }) =>
      JSON.stringify([kind, namespace, name, uid, labels, annotations, ownerReferences, data, spec]),
    )
    .sort()
    .join("\n");
}

function leaks(): string[] {
  const told = evil.heard.join("\n");
  const secrets = [CANARY, ...PASSWORDS, ...["ana:A-PASSWORD", "admin:ADMIN-PASSWORD"]].flatMap((text) => [
    text,
    Buffer.from(text).toString("base64"),
  ]);
  return [
    ...secrets.filter((text) => told.includes(text)),
    ...(/authorization":"bearer/i.test(told) ? ["a bearer token"] : []),
  ];
}

const isError = ({ type }: { type: string }) =>
  /Error$/.test(type) || type === "SyncBlocked" || type === "SharedResourceWarning";
const isJudged = ({ status }: Application) =>
  /^(Failed|Error|Succeeded)$/.test(status?.operationState?.phase ?? "") || (status?.conditions ?? []).some(isError);
/** What of an attack came through, in a few words; nothing when it was refused. */
function success(app: Application): string | undefined {
  const { status } = app;
  if (status?.operationState?.phase === "Succeeded") return "its sync succeeded";
  if ((status?.history ?? []).length) return "it has a history";
  return JSON.stringify(status ?? {}).includes(CANARY) ? "its status shows a's content" : undefined;
}

async function attacks(): Promise<Application[]> {
  const { items } = value(
    await w.client.list(RESOURCES.application, { namespace: OWN, labelSelector: "attack.test/is=true" }),
  );
  return items as Application[];
}
async function judged(count: number): Promise<Application[]> {
  const deadline = Date.now() + ENDED_MS;
  for (;;) {
    const all = await attacks();
    const open = all.filter((one) => !isJudged(one));
    if (all.length >= count && open.length === 0) return all;
    const told = ({ metadata, status }: Application) => [
      metadata.annotations?.["attack.test/tricks"],
      status?.operationState?.phase,
      status?.operationState?.message,
      status?.conditions,
    ];
    if (Date.now() > deadline)
      throw new Error(`${open.length} of ${all.length} are open: ${JSON.stringify(open.map(told), null, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
async function removeAll(): Promise<void> {
  for (const app of await attacks()) value(await w.client.delete(RESOURCES.application, OWN, app.metadata.name, {}));
  await w.settled(async () => (await attacks()).length === 0, "without attacks");
}

/** What a pushes next arrives, as its own application and nothing else brings it. */
async function unharmed(rev: string): Promise<void> {
  await w.git.commit("a/code", { "a.yaml": configMap("app", { text: CANARY, rev }) }, `rev ${rev}`);
  await w.refresh("victim", "hard");
  await w.settled(
    async () => (await w.object(RESOURCES.configMap, "team-a", "app"))?.data?.rev === rev,
    `revision ${rev} of a is there`,
  );
}

const specOf = (tricks: Trick[], repository = "b/code") => ({
  project: "b",
  source: { repoURL: at.repository(repository), path: ".", targetRevision: "main" },
  destination: { name: "in-cluster", namespace: "team-b" },
  syncPolicy: {
    automated: { prune: true, selfHeal: true },
    retry: { limit: 0 },
    syncOptions: ["PrunePropagationPolicy=background"],
  },
  ...Object.assign({}, ...tricks.map(({ spec }) => spec?.(at) ?? {})),
});

test("b deploys what is b's own: the matrix below refuses tricks, and not everything", async () => {
  const app = { apiVersion: "argoproj.io/v1alpha1", kind: "Application", spec: specOf([]) };
  const metadata = { name: "attack-none", namespace: OWN, labels: ATTACK, annotations: { [TENANT]: B } };
  value(await w.client.create(RESOURCES.application, { ...app, metadata }));
  await w.until("attack-none", synced, "Synced");
  await removeAll();
  value(await w.client.delete(RESOURCES.configMap, "team-b", "b", {}));
}, 120_000);

test("no trick of an application, alone or with another, reaches, redirects or reads what is not b's", async () => {
  const all = combinations();
  expect(all.length).toBeGreaterThan(250);
  const contents = [...new Set(all.flat().filter(({ manifest }) => manifest))];
  for (const [i, { manifest }] of contents.entries()) {
    // A hook alone is no difference that a sync begins for.
    const beside: Record<string, string> = manifest!.includes("argoproj.io/hook:")
      ? { "side.yaml": configMap(`side-${i}`, {}) }
      : {};
    await w.git.createRepository(`b/content-${i}`, { files: { "x.yaml": manifest!, ...beside } });
  }
  const before = await standing();
  for (const [i, tricks] of all.entries()) {
    const held = tricks.find(({ manifest }) => manifest);
    const spec = specOf(tricks, held ? `b/content-${contents.indexOf(held)}` : undefined);
    const annotations = { [TENANT]: B, "attack.test/tricks": tricks.map(({ name }) => name).join(" + ") };
    const metadata = { name: `attack-${i}`, namespace: OWN, labels: ATTACK, annotations };
    value(
      await w.client.create(RESOURCES.application, {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata,
        spec,
      }),
    );
  }
  const ended = await judged(all.length);
  const through = ended.flatMap((app) => {
    const what = success(app);
    return what ? [`${app.metadata.annotations!["attack.test/tricks"]}: ${what}`] : [];
  });
  expect(through).toEqual([]);
  expect(await standing()).toBe(before);
  expect(leaks()).toEqual([]);
  await unharmed("2");
  await removeAll();
  // Their ends take nothing of a's either.
  expect((await w.object(RESOURCES.configMap, "team-a", "app"))?.data?.rev).toBe("2");
  expect(leaks()).toEqual([]);
}, 600_000);

test("no set of b's makes an application that says it is another's, whatever else its template tries", async () => {
  const all = TEMPLATES.flatMap((trick) => FORGERIES.map((forgery) => ({ trick, forgery })));
  expect(all.length).toBeGreaterThan(100);
  const before = await standing();
  for (const [i, { trick, forgery }] of all.entries()) {
    const [, forged] = forgery as [string, { labels?: object; annotations?: object }];
    const annotations = { "attack.test/tricks": `${trick.name} + ${forgery[0]}`, ...forged.annotations };
    const template = {
      metadata: { ...forged, name: `attack-${i}`, labels: { ...ATTACK, ...forged.labels }, annotations },
      spec: specOf([trick]),
    };
    const metadata = { name: `forger-${i}-b0b0b0b0b0b0`, namespace: OWN, labels: ATTACK, annotations: { [TENANT]: B } };
    const syncPolicy = { preserveResourcesOnDeletion: true };
    const spec = { goTemplate: true, generators: [{ list: { elements: [{ a: "b" }] } }], template, syncPolicy };
    value(
      await w.client.create(APPLICATION_SET, {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "ApplicationSet",
        metadata,
        spec,
      }),
    );
  }
  const nothing = async () => ({ kind: "stop", reason: "None", message: "" }) as never;
  const log = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
  const sets = new SetController({
    home: w.client,
    namespace: OWN,
    repo: { look: nothing },
    access: (url) => ({ url }) as never,
    log: log as never,
  });
  await sets.start();
  try {
    const list = async () =>
      value(await w.client.list(APPLICATION_SET, { namespace: OWN, labelSelector: "attack.test/is=true" })).items;
    const told = ({ status }: KubeObject) =>
      ((status as { conditions?: unknown[] } | undefined)?.conditions ?? []).length > 0;
    await w.settled(async () => (await list()).every(told), "every set has said what became of it");
    const made = await judged(0);
    // Marks of others make no application at all; those without are b's, end as b's do, and are refused as in the cluster.
    expect(
      made.filter(({ metadata }) => metadata.annotations?.[TENANT] !== B || !metadata.name.endsWith("-b0b0b0b0b0b0")),
    ).toEqual([]);
    expect(
      made.filter(({ metadata }) => !/ \+ nothing$/.test(metadata.annotations?.["attack.test/tricks"] ?? "")),
    ).toEqual([]);
    expect(made.flatMap((app) => (success(app) ? [app.metadata.annotations!["attack.test/tricks"]] : []))).toEqual([]);
    expect(await standing()).toBe(before);
    expect(leaks()).toEqual([]);
    for (const { metadata } of await list()) value(await w.client.delete(APPLICATION_SET, OWN, metadata.name, {}));
    await removeAll();
  } finally {
    await sets.stop();
  }
  await unharmed("3");
}, 600_000);

test("no name of a scope stands for another one in the list of a project", () => {
  const lists = [
    "*",
    "**",
    "b*",
    "b/*",
    "*/web",
    "B",
    "b/",
    "/b",
    "b/-/web",
    "b//web",
    "b/web/",
    "-",
    "-/-",
    "b/-",
    "/b/",
    "^b$",
    "!a",
    "a b",
    "b\u200b",
    "account",
    ".",
    "../b",
  ];
  const tenants = ["b/-", "b/web", "bb/-", "a/b", "a/web"];
  const through = lists.flatMap((list) =>
    tenants.flatMap((tenant) => {
      const metadata = { annotations: { [ALLOWED_SCOPES]: list }, labels: { [MANAGED]: "true" } };
      return sharesWith(sharingOf({ metadata }), tenant) ? [`${JSON.stringify(list)} lets ${tenant} in`] : [];
    }),
  );
  // `b/-` is how a tenant without a project is written, so it is b itself.
  expect(through).toEqual(['"b/-" lets b/- in']);
});

test("b's generators see nothing of a's, and a's repository by no way", async () => {
  const { items } = value(
    await w.client.list(RESOURCES.secret, { namespace: OWN, labelSelector: "argocd.argoproj.io/secret-type=cluster" }),
  );
  const access = (url: string, name: string | undefined, of: string | undefined) =>
    w.controller.deps.repositories.find(url, name, of);
  const seen = clusterWorld({ home: w.client, namespace: OWN, repo: w.repo, access, tenant: B, clusters: () => items });
  expect(JSON.stringify(seen.clusters())).not.toContain("A-PASSWORD");
  const sources = TEMPLATES.filter((one) => one.in === "source").map(
    ({ spec }) => spec!(at).source as { repoURL: string },
  );
  for (const project of ["a", "b", "limit", "internal", "", undefined])
    for (const { repoURL } of sources) {
      const got = await seen.directories({ repoURL, revision: "main", fresh: true, project });
      expect([repoURL, project, got.kind]).not.toEqual([repoURL, project, "done"]);
    }
  expect(leaks()).toEqual([]);
}, 120_000);
