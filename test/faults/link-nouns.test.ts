import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import type { Schemas } from "../../openapi/client.ts";
import {
  ADA,
  ADA_FINGERPRINT,
  ADA_ID,
  BOB,
  CERTIFICATE,
  CERTIFICATE_FINGERPRINT,
  SSH_FINGERPRINT,
  SSH_KEY,
} from "../../server/base/testing.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { toolPath } from "../cluster/apiserver.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { type Daemon, daemon, until } from "../servers/run.ts";
import { type LinkWorld, linkWorld, must, ok } from "./link-world.ts";

// What belongs to GitOps beside applications, from the service's API into the cluster and back: real service, API server, Git and engine.
let w: LinkWorld;
let git: GitServer;
let collector: Daemon;
const PASSWORD = "canary-of-the-fleet";
beforeAll(async () => {
  [w, git] = await Promise.all([linkWorld(["agent", "--all"]), startGit()]);
  // Of all controllers only the garbage collector, which deletes what belonged to an object that is gone.
  collector = daemon(toolPath("kubernetes", "kube-controller-manager"), [
    `--kubeconfig=${w.cluster.kubeconfig}`,
    "--controllers=garbage-collector-controller",
    "--leader-elect=false",
    "--secure-port=0",
  ]);
  const map = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { value: one }\n`;
  await git.createRepository("fleet", {
    users: { ada: PASSWORD },
    files: { "apps/red/a.yaml": map("red"), "apps/blue/a.yaml": map("blue") },
  });
}, 120_000);
afterAll(async () => {
  await collector?.stop("SIGKILL");
  await git?.stop();
  await w?.stop();
}, 30_000);

type Collection = "appprojects" | "repositorycredentials" | "repositorycertificates" | "gnupgkeys" | "applicationsets";
interface Item {
  uid: string;
  generation: number;
  status: Schemas["ApplicationSetStatus"] & Schemas["RepositoryCredentialStatus"] & Record<string, unknown>;
}
/** The five nouns differ in their specs alone, which the contract checks. */
const api = () =>
  w.service.api as unknown as Record<"GET" | "PUT" | "DELETE", (path: string, options: object) => Promise<Answer>>;
type Answer = { data?: Item; error?: unknown; response: Response };
const at = (id: string) => ({ params: { path: { id } } });
const put = async (collection: Collection, id: string, spec: object) =>
  ok(await api().PUT(`/v1/${collection}/{id}`, { ...at(id), body: { spec: { agent: "one", ...spec } } }));
const get = async (collection: Collection, id: string) => (await api().GET(`/v1/${collection}/{id}`, at(id))).data;
const remove = async (collection: Collection, id: string) => ok(await api().DELETE(`/v1/${collection}/{id}`, at(id)));

const when = async (
  collection: Collection,
  id: string,
  what: string,
  holds: (status: Item["status"], item: Item) => unknown,
) =>
  until(
    `${collection}/${id} ${what}`,
    async () => {
      const item = await get(collection, id);
      return item && holds(item.status, item) ? item : undefined;
    },
    30_000,
  ).catch(async (error) => {
    throw new Error(
      `${error.message}; it is ${JSON.stringify((await get(collection, id))?.status)}; the agent said:\n${w.agent.said().slice(-2_000)}`,
    );
  });
const delivered = (collection: Collection, id: string) =>
  when(collection, id, "delivered", ({ delivery }) => delivery?.state === "Delivered");
const refused = (collection: Collection, id: string, reason: string) =>
  when(collection, id, `refused as ${reason}`, ({ delivery }) => delivery?.reason === reason);
const gone = (collection: Collection, id: string) =>
  until(`${collection}/${id} gone`, async () => (await get(collection, id)) === undefined, 30_000);

const SET: Resource = {
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "ApplicationSet",
  plural: "applicationsets",
  namespaced: true,
};
const find = async (resource: Resource, name: string, namespace = w.namespace): Promise<KubeObject | undefined> => {
  const found = await w.kube.get(resource, namespace, name);
  return found.kind === "done" ? found.value : undefined;
};
const field = (secret: KubeObject | undefined, name: string) =>
  Buffer.from(secret?.data?.[name] ?? "", "base64").toString();
const names = async (resource: Resource, namespace = w.namespace) =>
  must(await w.kube.list(resource, { namespace }))
    .items.map(({ metadata }: KubeObject) => metadata.name)
    .sort();

const project = () => ({
  sourceRepos: [git.cloneUrl("fleet")],
  destinations: [{ server: "https://kubernetes.default.svc", namespace: "default" }],
  namespaceResourceWhitelist: [{ kind: "ConfigMap" }],
  labels: { team: "fleet" },
});
const credentials = () => ({ url: `${git.url}/`, username: "ada" });
const set = () => ({
  generators: [{ git: { repoURL: git.cloneUrl("fleet"), revision: "main", directories: [{ path: "apps/*" }] } }],
  goTemplateOptions: ["missingkey=error"],
  template: {
    metadata: { name: "{{ .path.basename }}" },
    spec: {
      project: "team",
      source: { repoURL: git.cloneUrl("fleet"), path: "{{ .path.path }}", targetRevision: "main" },
      destination: { server: "https://kubernetes.default.svc", namespace: "default" },
      syncPolicy: { automated: { prune: true, selfHeal: true } },
    },
  },
});

test("a project, a credential template, certificates and a key are found in the cluster in Argo CD's format, and tell how they are", async () => {
  await put("appprojects", "team", project());
  await put("repositorycredentials", "fleet", {
    ...credentials(),
    forceHttpBasicAuth: true,
    credentials: { password: PASSWORD },
  });
  await put("repositorycertificates", "tls", { host: "git.example.com", type: "https", data: CERTIFICATE });
  await put("repositorycertificates", "ssh", { host: "git.example.com", type: "ssh", data: `${SSH_KEY} of the host` });
  await put("gnupgkeys", "ada", { publicKey: ADA });

  await when("appprojects", "team", "named", ({ name }) => name === "team");
  expect(await find(RESOURCES.appProject, "team")).toMatchObject({
    metadata: {
      labels: { team: "fleet", "outpost.dev/managed": "true" },
      annotations: { "outpost.dev/scope": "default/-/-", "outpost.dev/id": "team" },
    },
    spec: {
      sourceRepos: [git.cloneUrl("fleet")],
      destinations: [{ server: "https://kubernetes.default.svc", namespace: "default" }],
      namespaceResourceWhitelist: [{ group: "", kind: "ConfigMap" }],
    },
  });

  await when("repositorycredentials", "fleet", "with credentials", (status) => status.credentials === "Delivered");
  const secret = await find(RESOURCES.secret, "repocreds-fleet");
  expect(secret?.metadata.labels).toMatchObject({ "argocd.argoproj.io/secret-type": "repo-creds" });
  expect(Object.fromEntries(Object.keys(secret?.data ?? {}).map((name) => [name, field(secret, name)]))).toEqual({
    url: `${git.url}/`,
    type: "git",
    username: "ada",
    password: PASSWORD,
    forceHttpBasicAuth: "true",
  });

  const tls = await when("repositorycertificates", "tls", "told", ({ fingerprints }) => fingerprints);
  expect(tls.status).toMatchObject({ fingerprints: [CERTIFICATE_FINGERPRINT], expiresAt: "2036-11-19T02:03:56.000Z" });
  expect((await find(RESOURCES.configMap, "argocd-tls-certs-cm"))?.data).toEqual({ "git.example.com": CERTIFICATE });
  const ssh = await when("repositorycertificates", "ssh", "told", ({ fingerprints }) => fingerprints);
  expect(ssh.status.fingerprints).toEqual([SSH_FINGERPRINT]);
  expect((await find(RESOURCES.configMap, "argocd-ssh-known-hosts-cm"))?.data?.ssh_known_hosts).toContain(
    `git.example.com ${SSH_KEY}\n`,
  );
  const key = await when("gnupgkeys", "ada", "told", ({ keyId }) => keyId);
  expect(key.status).toMatchObject({
    keyId: ADA_ID,
    fingerprint: ADA_FINGERPRINT,
    algorithm: "Ed25519",
    revoked: false,
  });
  const keys = await find(RESOURCES.configMap, "argocd-gpg-keys-cm");
  expect(keys).toMatchObject({
    metadata: { labels: { "app.kubernetes.io/part-of": "argocd" } },
    data: { [ADA_ID]: ADA },
  });
}, 60_000);

test("what repositories, clusters and applications have since is written as Argo CD names it", async () => {
  const { PUT, DELETE } = api();
  const belongs = { agent: "one", appProject: "team" };
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs1", format: "pem" });
  const repository = {
    ...belongs,
    url: "https://git.example.com/private.git",
    githubApp: { id: 7, installationId: 8, enterpriseBaseUrl: "https://git.example.com/api/v3" },
    enableLfs: true,
    submodules: true,
    depth: 1,
    proxy: "http://127.0.0.1:9",
    noProxy: "a.example",
  };
  const credentials = { githubAppPrivateKey: key };
  ok(await PUT("/v1/repositories/{id}", { ...at("private"), body: { spec: { ...repository, credentials } } }));
  ok(await PUT("/v1/clusters/{id}", { ...at("away"), body: { spec: { ...belongs, server: "https://127.0.0.1:9" } } }));
  const application = {
    ...belongs,
    source: { repository: "private", path: ".", plugin: { name: "p", parameters: [{ name: "a", array: ["b"] }] } },
    destination: { cluster: "away", namespace: "default" },
    waitsFor: ["other"],
    helmLookup: { serviceAccount: "default:reader" },
  };
  ok(await PUT("/v1/applications/{id}", { ...at("belongs"), body: { spec: application } }));
  const cr = await until("the application", () => w.cr("belongs"));
  expect(cr).toMatchObject({
    metadata: { annotations: { "outpost.dev/helm-lookup": "default:reader", "outpost.dev/depends-on": "other" } },
    spec: {
      project: "team",
      source: { repoURL: repository.url, plugin: application.source.plugin },
      destination: { name: "away" },
    },
  });
  const secret = await find(RESOURCES.secret, "repo-private");
  expect(Object.fromEntries(Object.keys(secret?.data ?? {}).map((name) => [name, field(secret, name)]))).toEqual({
    url: repository.url,
    type: "git",
    project: "team",
    enableLfs: "true",
    submodules: "true",
    depth: "1",
    proxy: repository.proxy,
    noProxy: repository.noProxy,
    githubAppID: "7",
    githubAppInstallationID: "8",
    githubAppEnterpriseBaseUrl: "https://git.example.com/api/v3",
    githubAppPrivateKey: key,
  });
  expect(field(await find(RESOURCES.secret, "cluster-away"), "project")).toBe("team");
  // The key of the App goes to the host it was given for.
  const elsewhere = { ...repository, githubApp: { id: 7, enterpriseBaseUrl: "https://evil.example/api/v3" } };
  expect((await PUT("/v1/repositories/{id}", { ...at("private"), body: { spec: elsewhere } })).error).toMatchObject({
    code: "credentials_required",
    pointer: "/spec/githubApp/enterpriseBaseUrl",
  });
  for (const path of ["applications", "repositories", "clusters"]) {
    const id = { applications: "belongs", repositories: "private", clusters: "away" }[path]!;
    // Nothing was deployed.
    ok(
      await DELETE(`/v1/${path}/{id}`, {
        params: { ...at(id).params, query: path === "applications" ? { cascade: "orphan" } : {} },
      }),
    );
    await until(
      `${path} gone`,
      async () => (await w.service.api.GET(`/v1/${path}/{id}` as "/v1/clusters/{id}", at(id))).response.status === 404,
    );
  }
}, 60_000);

test("a set's applications become Synced with the template's credentials under the project, and the set tells of them", async () => {
  const wanted = await put("applicationsets", "fleet", set());
  const told = await when(
    "applicationsets",
    "fleet",
    "Synced",
    (status) =>
      status.observedGeneration === wanted!.generation &&
      status.health?.status === "Healthy" &&
      status.applications?.length === 2 &&
      status.applications.every((app) => app.sync === "Synced" && app.health === "Healthy"),
  );
  const revision = await git.repository("fleet").tip("refs/heads/main");
  expect(told.status.applications).toEqual(
    ["blue", "red"].map((name) => ({ name, sync: "Synced", health: "Healthy", revision })),
  );
  expect((await find(SET, "fleet"))?.spec).toMatchObject({ ...set(), goTemplate: true });
  expect([(await w.cr("red"))?.spec.project, (await find(RESOURCES.configMap, "red", "default"))?.data]).toEqual([
    "team",
    { value: "one" },
  ]);
  // A third one comes with its folder.
  await git.commit(
    "fleet",
    { "apps/green/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: green }\n" },
    "green",
  );
  must(
    await w.kube.mergePatch(SET, w.namespace, "fleet", {
      metadata: { annotations: { "argocd.argoproj.io/application-set-refresh": "true" } },
    }),
  );
  await when(
    "applicationsets",
    "fleet",
    "with the third",
    ({ applications }) => applications?.filter((app) => app.sync === "Synced").length === 3,
  );
}, 90_000);

test("what belongs to somebody else is refused by name and left as it is", async () => {
  await put("repositorycertificates", "again", { host: "git.example.com", type: "https", data: CERTIFICATE });
  const again = await refused("repositorycertificates", "again", "AlreadyExists");
  expect(again.status.delivery?.message).toContain("belongs to -/-/tls of the service");
  await put("repositorycertificates", "ssh-again", { host: "git.example.com", type: "ssh", data: SSH_KEY });
  expect((await refused("repositorycertificates", "ssh-again", "AlreadyExists")).status.delivery?.message).toContain(
    "-/-/ssh",
  );
  await put("gnupgkeys", "ada-again", { publicKey: ADA });
  await refused("gnupgkeys", "ada-again", "AlreadyExists");
  must(
    await w.kube.mergePatch(RESOURCES.configMap, w.namespace, "argocd-tls-certs-cm", {
      data: { "theirs.example.com": "theirs" },
    }),
  );
  await put("repositorycertificates", "theirs", { host: "theirs.example.com", type: "https", data: CERTIFICATE });
  expect((await refused("repositorycertificates", "theirs", "AlreadyExists")).status.delivery?.message).toContain(
    "was not made by Outpost",
  );
  const spec = { sourceRepos: ["theirs"] };
  // Made while the agent is away, so that the service cannot know of it: otherwise it refuses the creation at once (`not_adopted`).
  await w.agent.stop();
  must(
    await w.kube.create(RESOURCES.appProject, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata: { name: "theirs", namespace: w.namespace },
      spec,
    }),
  );
  await put("appprojects", "theirs", project());
  w.startAgent(w.installed);
  await refused("appprojects", "theirs", "AlreadyExists");

  for (const [collection, id] of [
    ["repositorycertificates", "again"],
    ["repositorycertificates", "ssh-again"],
    ["repositorycertificates", "theirs"],
    ["gnupgkeys", "ada-again"],
    ["appprojects", "theirs"],
  ] as const) {
    await remove(collection, id);
    await gone(collection, id);
  }
  expect((await find(RESOURCES.configMap, "argocd-tls-certs-cm"))?.data).toEqual({
    "git.example.com": CERTIFICATE,
    "theirs.example.com": "theirs",
  });
  expect((await find(RESOURCES.configMap, "argocd-ssh-known-hosts-cm"))?.data?.ssh_known_hosts).toContain(SSH_KEY);
  expect((await find(RESOURCES.configMap, "argocd-gpg-keys-cm"))?.data).toEqual({ [ADA_ID]: ADA });
  expect((await find(RESOURCES.appProject, "theirs"))?.spec).toEqual(spec);
}, 60_000);

test("credentials stay when none come, and go to no other host, proxy or GitHub unless they are set again", async () => {
  const password = async () => field(await find(RESOURCES.secret, "repocreds-fleet"), "password");
  await put("repositorycredentials", "fleet", { ...credentials(), noProxy: "a.example" });
  await until(
    "the field",
    async () => field(await find(RESOURCES.secret, "repocreds-fleet"), "noProxy") === "a.example",
  );
  expect(await password()).toBe(PASSWORD);
  for (const change of [{ url: "https://evil.example/" }, { proxy: "http://evil.example:3128" }]) {
    const body = { spec: { agent: "one", ...credentials(), ...change } };
    const { error } = await api().PUT("/v1/repositorycredentials/{id}", { ...at("fleet"), body });
    expect(error).toMatchObject({ code: "credentials_required", pointer: `/spec/${Object.keys(change)[0]}` });
    const secret = await find(RESOURCES.secret, "repocreds-fleet");
    expect([field(secret, "url"), field(secret, "proxy")]).toEqual([`${git.url}/`, ""]);
  }
  await put("repositorycredentials", "fleet", {
    ...credentials(),
    url: "https://other.example/",
    credentials: { bearerToken: "new" },
  });
  await delivered("repositorycredentials", "fleet");
  const secret = await find(RESOURCES.secret, "repocreds-fleet");
  expect([field(secret, "url"), field(secret, "bearerToken"), await password()]).toEqual([
    "https://other.example/",
    "new",
    "",
  ]);
}, 60_000);

test("what is removed by hand comes back, and a key of another id takes the first one's place", async () => {
  must(
    await w.kube.mergePatch(RESOURCES.configMap, w.namespace, "argocd-tls-certs-cm", {
      data: { "git.example.com": null },
    }),
  );
  await until(
    "the certificate",
    async () => (await find(RESOURCES.configMap, "argocd-tls-certs-cm"))?.data?.["git.example.com"] === CERTIFICATE,
  );
  must(await w.kube.delete(RESOURCES.appProject, w.namespace, "team", {}));
  await until("the project", () => find(RESOURCES.appProject, "team"), 20_000);
  await put("gnupgkeys", "ada", { publicKey: BOB });
  const key = await when("gnupgkeys", "ada", "told", ({ keyId }) => keyId !== ADA_ID);
  expect(key.status).toMatchObject({ keyId: "A348A7EC9A1800B2", algorithm: "RSA 2048" });
  expect(Object.keys((await find(RESOURCES.configMap, "argocd-gpg-keys-cm"))?.data ?? {})).toEqual([
    "A348A7EC9A1800B2",
  ]);
}, 60_000);

test("a deletion leaves nothing: no application, no object of theirs, no key, no mark", async () => {
  // The service knows of no application of the project; the agent does.
  await remove("appprojects", "team");
  const waits = await refused("appprojects", "team", "InUse");
  expect(waits.status.delivery).toMatchObject({
    state: "Deleting",
    message: expect.stringContaining("blue, green, red"),
  });
  await remove("applicationsets", "fleet");
  await gone("applicationsets", "fleet");
  await gone("appprojects", "team");
  for (const [collection, id] of [
    ["repositorycredentials", "fleet"],
    ["repositorycertificates", "tls"],
    ["repositorycertificates", "ssh"],
    ["gnupgkeys", "ada"],
  ] as const) {
    await remove(collection, id);
    await gone(collection, id);
  }
  expect(await names(RESOURCES.application)).toEqual([]);
  expect(await names(RESOURCES.appProject)).toEqual(["theirs"]);
  expect(await names(SET)).toEqual([]);
  expect(
    (await names(RESOURCES.configMap, "default")).filter((name: string) => ["red", "blue", "green"].includes(name)),
  ).toEqual([]);
  expect((await names(RESOURCES.secret)).filter((name: string) => name.startsWith("repo"))).toEqual([]);
  const left = await Promise.all(
    ["argocd-tls-certs-cm", "argocd-ssh-known-hosts-cm", "argocd-gpg-keys-cm"].map((name) =>
      find(RESOURCES.configMap, name),
    ),
  );
  expect(left.map((one) => [one?.data ?? {}, one?.metadata.annotations ?? {}])).toEqual([
    [{ "theirs.example.com": "theirs" }, {}],
    [{ ssh_known_hosts: "" }, {}],
    [{}, {}],
  ]);
}, 90_000);
