import { createServer, type Server, type Socket } from "node:net";
import { parse } from "yaml";
import type { Schemas } from "../../openapi/client.ts";
import { formFaults } from "../../openapi/rules/forms.ts";
import { clusterWorld } from "../../server/agent/appset/world/cluster-world.ts";
import { testRepository } from "../../server/agent/link/connections.ts";
import type { AgentContext } from "../../server/agent/link/context.ts";
import { putApplication } from "../../server/agent/link/deliveries/application.ts";
import { putCluster } from "../../server/agent/link/deliveries/cluster.ts";
import { putRepository } from "../../server/agent/link/deliveries/repository.ts";
import { Observer } from "../../server/agent/link/observe.ts";
import { ALLOWED_SCOPES, TENANT } from "../../server/agent/project/tenant.ts";
import { Secret } from "../../server/base/secret.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { configMap, project, synced, value, type World, world } from "../journeys/engine-world.ts";

// Two organisations share one agent. Whatever `b` registers, deploys or names, nothing of `a` or of the agent goes another way, shows up at
// b's proxy, or is read by b. Deliveries go through the link as from the service, and Secrets are also written as if it had let them pass.
const A = "a/-";
const B = "b/-";
const CANARY = "canary-of-a";
const PASSWORDS = ["admin:ADMIN-PASSWORD", "ana:A-PASSWORD"];
const HOME = "https://kubernetes.default.svc";

const RBAC = "rbac.authorization.k8s.io";
const CLUSTER_BINDING: Resource = {
  group: RBAC,
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};
const binding = {
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  metadata: { name: "all" },
  roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", name: "all", namespace: "kube-system" }],
};

let w: World;
let proxy: { url: string; seen: string[]; server: Server };
let ctx: AgentContext;
let number = 0;

beforeAll(async () => {
  [w, proxy] = await Promise.all([world(), recorder()]);
  const quiet = { info: () => {}, warn: () => {}, error: () => {}, fatal: () => {}, debug: () => {} };
  ctx = { client: w.client, namespace: w.namespace, account: "acme", sealSeed: new Secret(""), log: quiet as never };
  for (const name of ["team-a", "team-b"])
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  await Promise.all([
    w.git.createRepository("a/code", {
      files: { "a.yaml": configMap("app", { text: CANARY, rev: "1" }) },
      users: { ana: "A-PASSWORD" },
    }),
    w.git.createRepository("platform/code", {
      files: { "p.yaml": configMap("p", { text: CANARY }) },
      users: { admin: "ADMIN-PASSWORD" },
    }),
    w.git.createRepository("b/code", { files: { "b.yaml": configMap("b", { text: "b" }) } }),
  ]);
  const rules = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
  };
  // What the agent's owner lets both do is all, so that nothing but the scopes keeps them apart.
  await project(w, "limit", {
    ...rules,
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "kube-system:all" }],
  });
  const shared = { metadata: { annotations: { [ALLOWED_SCOPES]: "a,b" } } };
  value(await w.client.mergePatch(RESOURCES.appProject, w.namespace, "limit", shared));
  value(await w.client.create(CLUSTER_BINDING, binding));
  for (const [name, tenant] of Object.entries({ a: A, b: B })) {
    await project(w, name, rules);
    const patch = { metadata: { annotations: { [TENANT]: tenant } } };
    value(await w.client.mergePatch(RESOURCES.appProject, w.namespace, name, patch));
  }
  await secret(
    "repository",
    "repo-code-x",
    { url: w.git.cloneUrl("a/code"), username: "ana", password: "A-PASSWORD" },
    A,
  );
  await secret("repo-creds", "repocreds-platform", {
    url: `${w.git.url}/platform/`,
    username: "admin",
    password: "ADMIN-PASSWORD",
  });
  await w.app(
    "by-name",
    { repo: "a/code", project: "a", destination: { name: "in-cluster", namespace: "team-a" } },
    marked(A),
  );
  await w.until("by-name", synced, "Synced");
}, 240_000);

afterAll(async () => {
  proxy?.server.close();
  await w?.stop();
}, 60_000);

const marked = (tenant: string) => ({ annotations: { [TENANT]: tenant } });
const delivery = (
  collection: Schemas["WorkerObject"]["collection"],
  id: string,
  spec: object,
): Schemas["WorkerObject"] =>
  ({
    worker: "w",
    collection,
    key: `b/-/${id}`,
    name: `${id}-b0b0b0`,
    uid: `uid-${id}`,
    generation: ++number,
    op: "put",
    spec,
  }) as never;

/** As if the link, or an older one, had written it. */
async function secret(
  type: string,
  name: string,
  fields: Record<string, string>,
  tenant?: string,
): Promise<KubeObject> {
  const metadata = {
    name,
    namespace: w.namespace,
    labels: { "argocd.argoproj.io/secret-type": type },
    ...(tenant ? marked(tenant) : {}),
  };
  return value(
    await w.client.apply(RESOURCES.secret, { apiVersion: "v1", kind: "Secret", metadata, stringData: fields }),
  );
}

/** A proxy that answers nothing and remembers all that it is told. */
async function recorder() {
  const seen: string[] = [];
  const server = createServer((socket: Socket) => {
    socket.on("data", (bytes) => void seen.push(bytes.toString("latin1")));
    socket.on("error", () => {});
    socket.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, seen, server };
}

function leaks(): string[] {
  const texts = [CANARY, ...PASSWORDS, ...PASSWORDS.map((one) => one.split(":")[1]!)];
  const told = proxy.seen.join("\n");
  const secrets = texts.flatMap((text) => [text, Buffer.from(text).toString("base64")]);
  // The engine's own token for the cluster would be the worst of all.
  return [
    ...secrets.filter((text) => told.includes(text)),
    ...(/authorization: bearer/i.test(told) ? ["a bearer token"] : []),
  ];
}

/** What a pushes next arrives in a's namespace, and b's proxy has heard nothing of it. */
async function unharmed(): Promise<void> {
  const rev = String(++number);
  await w.git.commit("a/code", { "a.yaml": configMap("app", { text: CANARY, rev }) }, `rev ${rev}`);
  await w.refresh("by-name", "hard");
  const arrived = async () => (await w.object(RESOURCES.configMap, "team-a", "app"))?.data?.rev === rev;
  await w.settled(arrived, `revision ${rev} of a is in the cluster`);
  expect(leaks()).toEqual([]);
}

/** Deploys something as b and tells what became of it. */
async function attempt(spec: object, files?: Record<string, string>): Promise<string> {
  const name = `attack-${++number}`;
  if (files) await w.git.createRepository(`b/${name}`, { files });
  await w.app(
    name,
    {
      repo: files ? `b/${name}` : "b/code",
      project: "b",
      destination: { name: "in-cluster", namespace: "team-b" },
      ...spec,
    },
    marked(B),
  );
  const app = await w.until(name, (one) => (one.status?.conditions?.length ?? 0) > 0 || synced(one), "looked at");
  await w.client.delete(RESOURCES.application, w.namespace, name, {});
  return synced(app)
    ? "Synced"
    : (app.status?.conditions ?? []).map(({ reason, message }) => `${reason}: ${message}`).join("\n");
}

const EVIL_CONFIG = () =>
  JSON.stringify({ bearerToken: "b", proxyUrl: proxy.url, tlsClientConfig: { insecure: true } });

test.each([
  HOME,
  `${HOME}/`,
  `${HOME}:443`,
  "https://KUBERNETES.DEFAULT.SVC",
  "https://kubernetes.default.svc.cluster.local",
  "https://kubernetes.default",
])(
  "b registers the agent's own cluster as %s: refused, and without effect where it was written",
  async (server) => {
    for (const more of [
      {},
      { proxyUrl: proxy.url },
      { insecure: true },
      { serverName: "evil" },
      { proxyUrl: proxy.url, insecure: true },
    ])
      expect(
        await putCluster(ctx, delivery("clusters", "evil", { agent: "account.prod", server, ...more })),
      ).toMatchObject({
        reason: "HomeClusterReserved",
      });
    for (const name of ["in-cluster", "evil"])
      await secret("cluster", `cluster-0-${name}`, { name, server, config: EVIL_CONFIG() }, B);
    await unharmed();
    expect(await attempt({ destination: { name: "evil", namespace: "team-b" } })).toMatch(/^ClusterSecretInvalid/);
    // Its address is the agent's own cluster for b as well: what b deploys there arrives.
    const name = `b-${++number}`;
    expect(await attempt({ destination: { server, namespace: "team-b" } }, { "b.yaml": configMap(name, {}) })).toBe(
      "Synced",
    );
    expect(await w.object(RESOURCES.configMap, "team-b", name)).toBeDefined();
  },
  120_000,
);

test("b registers a cluster under the reserved name", async () => {
  const delivered = {
    ...delivery("clusters", "in-cluster", { agent: "account.prod", server: "https://evil.example" }),
    name: "in-cluster",
  };
  expect(await putCluster(ctx, delivered)).toMatchObject({ reason: "NameReserved" });
});

test("b registers a's repository with a proxy, without checks, in other spellings and by a name that sorts first", async () => {
  const url = w.git.cloneUrl("a/code");
  for (const [id, spelling] of Object.entries({ a0: url, a1: url.replace(/\.git$/, ""), a2: `${url}/` }))
    expect(
      await putRepository(
        ctx,
        delivery("repositories", id, { agent: "account.prod", url: spelling, proxy: proxy.url, insecure: true }),
      ),
    ).toMatchObject({
      kind: "done",
    });
  await unharmed();
}, 120_000);

test("b deploys from a's repository: a's password is not used", async () => {
  expect(await attempt({ repo: "a/code" })).not.toMatch(/Synced|canary/);
  expect(await w.object(RESOURCES.configMap, "team-b", "app")).toBeUndefined();
  await unharmed();
}, 120_000);

test.each<[string, () => object]>([
  ["a proxy", () => ({ proxy: proxy.url })],
  ["no check", () => ({ insecure: true })],
  ["a proxy and no check", () => ({ proxy: proxy.url, insecure: true })],
  ["credentials unasked", () => ({ forceHttpBasicAuth: true })],
  ["a proxy and submodules", () => ({ proxy: proxy.url, submodules: true })],
])(
  "b's repository under the agent's template sets %s: the template lends nothing",
  async (_, more) => {
    const id = `theft-${++number}`;
    const url = `${w.git.url}/platform/code.git`;
    value(await putRepository(ctx, delivery("repositories", id, { agent: "account.prod", url, ...more() })));
    const held = value(await w.client.get(RESOURCES.secret, w.namespace, `repo-${id}-b0b0b0`));
    const tested = await testRepository(ctx, w.controller.deps.repo, held);
    expect(tested.connection).toMatchObject({ state: "Failed", reason: "CredentialsNotLent" });
    expect(await attempt({ repo: "platform/code" })).toMatch(/CredentialsNotLent/);
    expect(leaks()).toEqual([]);
    value(await w.client.delete(RESOURCES.secret, w.namespace, held.metadata.name, {}));
  },
  120_000,
);

test("b's host keys stay in b's Secret: nobody else trusts them", async () => {
  const spec = { agent: "account.prod", url: "git@git.corp:b/x.git", sshKnownHosts: "git.corp ssh-ed25519 AAAAevil" };
  value(await putRepository(ctx, delivery("repositories", "keys", spec)));
  const { repositories } = w.controller.deps;
  const known = (tenant?: string) => repositories.find(spec.url, undefined, tenant).knownHosts ?? "";
  await w.settled(async () => known(B).includes("evil"), "b trusts its own host keys");
  expect([known(A), known()].join()).not.toContain("evil");
});

test.each<[string, () => [object, Record<string, string>?]]>([
  [
    "the agent's namespace as its destination",
    () => [{ destination: { name: "in-cluster", namespace: "outpost-agent" } }],
  ],
  [
    "an object in the agent's namespace",
    () => [{}, { "x.yaml": configMap("argocd-cm", { a: "b" }, ", namespace: outpost-agent") }],
  ],
  [
    "the agent's Namespace itself",
    () => [{}, { "x.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: outpost-agent}\n" }],
  ],
  ["an application of its own in the agent's namespace", () => [{}, { "x.yaml": child("outpost-agent") }]],
  ["a child of another tenant", () => [{}, { "x.yaml": child("team-b", `annotations: {${TENANT}: ${A}}`) }]],
  ["a child that the service made", () => [{}, { "x.yaml": child("team-b", 'labels: {outpost.dev/managed: "true"}') }]],
  [
    "a child with the service's scope",
    () => [{}, { "x.yaml": child("team-b", "annotations: {outpost.dev/scope: acme/-/-}") }],
  ],
])(
  "b's application brings %s: refused with a reason",
  async (_, what) => {
    const [spec, files] = what();
    const before = await w.object(RESOURCES.configMap, w.namespace, "argocd-cm");
    expect(await attempt(spec, files)).toMatch(/the agent's own|only Outpost sets/);
    expect(await w.object(RESOURCES.configMap, w.namespace, "argocd-cm")).toEqual(before);
    for (const where of [w.namespace, "team-b"])
      expect(await w.object(RESOURCES.application, where, "child")).toBeUndefined();
  },
  120_000,
);

test("b names an object of a: b is told of another application, not of which one", async () => {
  const files = { "x.yaml": configMap("app", {}, ", namespace: team-a") };
  expect(await attempt({}, files)).toMatch(
    /^SharedResource: ConfigMap team-a\/app is part of application attack-\d+ and of another one$/,
  );
  // A sync begins only where it can change something.
  await w.git.createRepository("b/shared", { files: { ...files, "free.yaml": configMap("free", {}) } });
  const options = { syncPolicy: { automated: {}, syncOptions: ["FailOnSharedResource=true"], retry: { limit: 0 } } };
  const spec = { repo: "b/shared", project: "b", destination: { name: "in-cluster", namespace: "team-b" }, ...options };
  await w.app("shared", spec, marked(B));
  const { status } = await w.until("shared", (one) => one.status?.operationState?.phase === "Failed", "refused");
  expect(status?.operationState?.message).toContain("ConfigMap team-a/app is part of another application");
  expect(JSON.stringify(status)).not.toContain("by-name");
  value(await w.client.delete(RESOURCES.application, w.namespace, "shared", {}));
  await unharmed();
}, 120_000);

test("b writes over no hook of a, not even after the controller was started anew", async () => {
  const files = (text: string) => ({
    "hook.yaml": configMap("hook", { text }, ", namespace: team-a, annotations: {argocd.argoproj.io/hook: PreSync}"),
    "x.yaml": configMap(`plain-of-${text}`, {}),
  });
  const spec = (of: string) => ({
    repo: `${of}/hook`,
    project: of,
    destination: { name: "in-cluster", namespace: `team-${of}` },
    syncPolicy: { automated: {}, retry: { limit: 0 } },
  });
  for (const one of ["a", "b"]) await w.git.createRepository(`${one}/hook`, { files: files(one) });
  await w.app("hook-a", spec("a"), marked(A));
  await w.until("hook-a", synced, "Synced");
  await w.restart();
  await w.app("hook-b", spec("b"), marked(B));
  const { status } = await w.until("hook-b", (one) => one.status?.operationState?.phase === "Failed", "refused");
  expect(status?.operationState?.message).toContain("ConfigMap team-a/hook is part of another application");
  expect((await w.object(RESOURCES.configMap, "team-a", "hook"))?.data).toEqual({ text: "a" });
  for (const name of ["hook-a", "hook-b"]) value(await w.client.delete(RESOURCES.application, w.namespace, name, {}));
  await unharmed();
}, 120_000);

test("b's templates do not mark what the cluster makes of them as a's", async () => {
  const id = "argocd.argoproj.io/tracking-id";
  const inner = `labels: {app: x, outpost.dev/app: by-name}, annotations: {${id}: "by-name:/Pod:team-b/x-0"}`;
  const set = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: x}
spec:
  serviceName: x
  selector: {matchLabels: {app: x}}
  template: {metadata: {${inner}}, spec: {containers: [{name: x, image: x}]}}
  volumeClaimTemplates:
    - {metadata: {name: d, ${inner}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}}
`;
  await attempt({}, { "x.yaml": set });
  const sets = { group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true };
  const made = await w.object(sets, "team-b", "x");
  expect(made?.spec?.template.metadata.labels).toEqual({ app: "x" });
  expect(JSON.stringify(made?.spec)).not.toContain("by-name");
  await unharmed();
}, 120_000);

const child = (namespace: string, marks = "") => `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: child, namespace: ${namespace}${marks ? `, ${marks}` : ""}}
spec: {project: default, source: {repoURL: "https://git.example/x", path: .}, destination: {name: in-cluster, namespace: team-b}}
`;

test("a child that b's application makes elsewhere is b's", async () => {
  await w.git.createRepository("b/parent", { files: { "x.yaml": child("team-b").replaceAll("child", "grandchild") } });
  await w.app(
    "parent",
    { repo: "b/parent", project: "b", destination: { name: "in-cluster", namespace: "team-b" } },
    marked(B),
  );
  await w.until("parent", synced, "Synced");
  expect((await w.object(RESOURCES.application, "team-b", "grandchild"))?.metadata.annotations?.[TENANT]).toBe(B);
}, 120_000);

test("b's application keeps no mark of the object that it writes over, even where differences are ignored", async () => {
  const file = (name: string) => child("team-b").replaceAll("child", name).replace("path: .", "path: of-b");
  for (const [name, marks] of [
    ["nobodys", 'annotations: {kept: "1"}'],
    ["of-a", `annotations: {${TENANT}: ${A}, kept: "1"}`],
  ] as const)
    value(await w.client.apply(RESOURCES.application, parse(child("team-b", marks).replaceAll("child", name))));
  await w.git.createRepository("b/over", { files: { "x.yaml": `${file("nobodys")}---\n${file("of-a")}` } });
  const ignoreDifferences = [{ group: "argoproj.io", kind: "Application", jsonPointers: ["/metadata/annotations"] }];
  await w.app(
    "over",
    {
      repo: "b/over",
      project: "b",
      destination: { name: "in-cluster", namespace: "team-b" },
      ignoreDifferences,
      syncPolicy: { automated: {}, syncOptions: ["RespectIgnoreDifferences=true"] },
    },
    marked(B),
  );
  for (const name of ["nobodys", "of-a"]) {
    const read = () => w.object(RESOURCES.application, "team-b", name);
    await w.settled(async () => (await read())?.spec?.source.path === "of-b", `${name} has what b wrote`);
    expect((await read())?.metadata.annotations?.[TENANT]).toBe(B);
  }
}, 120_000);

test("b's objects say by no label that they are a part of a's application", async () => {
  const labels = { "outpost.dev/app": "by-name", "outpost.dev/managed": "false", team: "b" };
  const source = { repoUrl: w.git.cloneUrl("b/code"), path: ".", targetRevision: "main" };
  const spec = { agent: "account.prod", argoProject: "b", labels, source, destination: { namespace: "team-b" } };
  expect(await putApplication(ctx, delivery("applications", "labelled", spec))).toMatchObject({ kind: "done" });
  const made = await w.object(RESOURCES.application, w.namespace, "labelled-b0b0b0");
  expect(made?.metadata.labels).toEqual({ "outpost.dev/managed": "true", team: "b" });
  expect(formFaults("applications", { labels })).toMatchObject([
    { pointer: "/labels/outpost.dev~1app", detail: expect.stringContaining("only Outpost sets") },
    { pointer: "/labels/outpost.dev~1managed" },
  ]);
});

test("b's set sees no cluster of a, and sends no token of the agent's namespace anywhere", async () => {
  await secret("cluster", "cluster-prod-x", { name: "prod-x", server: "https://prod.example", config: "{}" }, A);
  await secret("scm-creds", "scm-token", { token: "ADMIN-PASSWORD" });
  const clusters = value(
    await w.client.list(RESOURCES.secret, {
      namespace: w.namespace,
      labelSelector: "argocd.argoproj.io/secret-type=cluster",
    }),
  );
  const seen = (tenant?: string) =>
    clusterWorld({
      home: w.client,
      namespace: w.namespace,
      repo: w.controller.deps.repo,
      access: (url, name, of) => w.controller.deps.repositories.find(url, name, of),
      tenant,
      clusters: () => clusters.items,
    });
  expect(
    seen(B)
      .clusters()
      .map(({ name }) => name),
  ).not.toContain("prod-x");
  expect(
    seen(A)
      .clusters()
      .map(({ name }) => name),
  ).toEqual(["prod-x"]);
  expect(await seen(B).secret("scm-token", "token")).toMatchObject({
    kind: "stop",
    message: expect.stringContaining("outpost.dev/tenants"),
  });
  expect(await seen().secret("scm-token", "token")).toMatchObject({ kind: "done" });
  const at = { repoURL: w.git.cloneUrl("a/code"), revision: "main", fresh: true, project: "a" };
  expect(await seen(B).directories(at)).not.toMatchObject({ kind: "done" });
  expect(await seen(A).directories(at)).toMatchObject({ kind: "done" });
}, 60_000);

test("what an older agent wrote of a tenant without its mark is not told as known, so that it is sent again", async () => {
  const marks = {
    "outpost.dev/uid": "u",
    "outpost.dev/generation": "3",
    "outpost.dev/scope": `acme/${B}`,
    "outpost.dev/id": "old",
  };
  const labels = { "outpost.dev/managed": "true", "argocd.argoproj.io/secret-type": "repository" };
  const write = (name: string, annotations: Record<string, string>) =>
    w.client.apply(RESOURCES.secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: w.namespace, labels, annotations },
    });
  value(await write("repo-old", { ...marks, "outpost.dev/uid": "own" }));
  value(await write("repo-old-b0b0b0", { ...marks, "outpost.dev/uid": "legacy" }));
  value(
    await write("repo-new-b0b0b0", { ...marks, "outpost.dev/uid": "marked", "outpost.dev/id": "new", [TENANT]: B }),
  );
  const abort = new AbortController();
  const nothing = () => undefined;
  const parts = { reports: { put: nothing } as never, inbox: { poke: nothing, size: 0 } as never, connection: nothing };
  const observer = new Observer({ ctx, ...parts, signal: abort.signal });
  const known = (await observer.known()).map(({ uid }) => uid);
  abort.abort();
  await observer.done;
  expect(known).toEqual(expect.arrayContaining(["own", "marked"]));
  expect(known).not.toContain("legacy");
}, 60_000);
