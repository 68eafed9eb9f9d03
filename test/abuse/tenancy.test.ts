import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { MemoryCache } from "../../server/agent/cache/memory.ts";
import type { Application } from "../../server/agent/controller/application.ts";
import { MANAGED, MARK, nameOf } from "../../server/agent/link/names.ts";
import { applicationDiff } from "../../server/agent/link/queries/diff.ts";
import { RepoService } from "../../server/agent/repo/service.ts";
import { Secret } from "../../server/base/secret.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "../journeys/engine-world.ts";

// A tenant may do what the account that its project names may do in Kubernetes, and nothing by way of us. The project itself permits everything here, so
// that only the account's rights are in the way.
const SECRET = "canary-of-another";
const RBAC = "rbac.authorization.k8s.io/v1";
const kind = (group: string, name: string, plural: string, namespaced = true): Resource => ({
  group,
  version: "v1",
  kind: name,
  plural,
  namespaced,
});
const ROLE = kind("rbac.authorization.k8s.io", "Role", "roles");
const BINDING = kind("rbac.authorization.k8s.io", "RoleBinding", "rolebindings");
const CLUSTER_ROLE = kind("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", false);
const CLUSTER_BINDING = kind("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", false);
const JOB = kind("batch", "Job", "jobs");

let w: World;
let before: string;
beforeAll(async () => {
  w = await world();
  const name = (one: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: one } });
  await Promise.all(["team", "other"].map((one) => w.client.create(RESOURCES.namespace, name(one))));
  const metadata = { name: "deployer", namespace: "team" };
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }];
  value(await w.client.apply(ROLE, { apiVersion: RBAC, kind: "Role", metadata, rules }));
  const subjects = [{ kind: "ServiceAccount", ...metadata }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "deployer" };
  value(await w.client.apply(BINDING, { apiVersion: RBAC, kind: "RoleBinding", metadata, roleRef, subjects }));
  const spec = {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "team:deployer" }],
  };
  const project = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "AppProject",
    metadata: { name: "team", namespace: w.namespace },
    spec,
  };
  value(await w.client.apply(RESOURCES.appProject, project));
  const secret = (namespace: string, its: string, labels?: Record<string, string>) =>
    w.client.create(RESOURCES.secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: its, namespace, ...(labels ? { labels } : {}) },
      stringData: { password: SECRET },
    });
  value(await secret("team", "theirs"));
  value(await secret("other", "theirs"));
  // As if the application had it: a label is nothing that anybody has to be asked for.
  value(await secret("team", "labelled", { "app.kubernetes.io/instance": "prunes" }));
  value(
    await w.client.create(CONFIG_MAP, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "theirs", namespace: "other" },
      data: { a: SECRET },
    }),
  );
  before = await standing();
}, 120_000);
afterAll(() => w?.stop(), 30_000);

/** All that is not the tenant's, as the cluster has it. */
async function standing(): Promise<string> {
  const all = await Promise.all([
    ...["team", "other", "kube-system", "default"].flatMap((namespace) => [
      w.client.list(RESOURCES.secret, { namespace }),
      w.client.list(ROLE, { namespace }),
      w.client.list(BINDING, { namespace }),
      w.client.list(JOB, { namespace }),
    ]),
    w.client.list(CONFIG_MAP, { namespace: "other" }),
    w.client.list(RESOURCES.namespace),
    w.client.list(CLUSTER_BINDING, { fieldSelector: "metadata.name=escape" }),
    w.client.list(CLUSTER_ROLE, { fieldSelector: "metadata.name=escape" }),
  ]);
  const lines = all.flatMap((one) =>
    value(one).items.map(({ kind: its, metadata }) =>
      [its, metadata.namespace, metadata.name, metadata.uid, JSON.stringify(metadata.labels ?? {})].join(" "),
    ),
  );
  return lines
    .filter((line) => !/kube-root-ca\.crt/.test(line))
    .sort()
    .join("\n");
}

const secretYaml = (namespace: string, extra = "", name = "mine") =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}, namespace: ${namespace}${extra}}\nstringData: {password: mine}\n`;
const annotated = (name: string, given: string) => `, annotations: {argocd.argoproj.io/${name}: "${given}"}`;
const job = (hook: string) =>
  `apiVersion: batch/v1\nkind: Job\nmetadata: {name: job, namespace: team${annotated("hook", hook)}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}\n`;
const CASES: [string, string, Partial<Application["spec"]["syncPolicy"] & object>?][] = [
  ["a kind that the account may not write", secretYaml("team")],
  ["a namespace that it may not write to", configMap("theirs", { a: "mine" }, ", namespace: other")],
  ["the system's own namespace", configMap("mine", {}, ", namespace: kube-system")],
  [
    "a role of the cluster",
    `apiVersion: ${RBAC}\nkind: ClusterRole\nmetadata: {name: escape}\nrules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]\n`,
  ],
  [
    "a binding to the administrator's role",
    `apiVersion: ${RBAC}\nkind: ClusterRoleBinding\nmetadata: {name: escape}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: deployer, namespace: team}]\n`,
  ],
  [
    "a binding in its own namespace",
    `apiVersion: ${RBAC}\nkind: RoleBinding\nmetadata: {name: escape, namespace: team}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: deployer, namespace: team}]\n`,
  ],
  [
    "more rights for its own role",
    `apiVersion: ${RBAC}\nkind: Role\nmetadata: {name: deployer, namespace: team}\nrules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]\n`,
  ],
  ["a namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: made}\n"],
  [
    "labels that lift what a namespace forbids",
    configMap("m1", {}),
    {
      syncOptions: ["CreateNamespace=true"],
      managedNamespaceMetadata: { labels: { "pod-security.kubernetes.io/enforce": "privileged" } },
    },
  ],
  ["a hook before", `${configMap("m3", {})}---\n${job("PreSync")}`],
  ["a hook after", `${configMap("m2", {})}---\n${job("PostSync")}`],
  ["a hook on failure", `${secretYaml("team")}---\n${job("SyncFail")}`],
  [
    "a replacement by force of what is there",
    secretYaml("team", annotated("sync-options", "Force=true,Replace=true"), "theirs"),
  ],
  ["a replacement elsewhere", secretYaml("other", annotated("sync-options", "Replace=true"), "theirs")],
  ["apply on the server's side", secretYaml("team", annotated("sync-options", "ServerSideApply=true,Validate=false"))],
  [
    "a sync option for all",
    secretYaml("team"),
    { syncOptions: ["Replace=true", "Force=true", "ServerSideApply=true", "ApplyOutOfSyncOnly=true"] },
  ],
];

test("whatever a tenant writes, what Kubernetes denies to its account is not done", async () => {
  const files = Object.fromEntries(
    CASES.map(([, yaml], i) => [`c${i}/a.yaml`, yaml.replace(/name: (mine|job)\b/g, `name: $1-${i}`)]),
  );
  await w.git.createRepository("tenant", { files: { ...files, "prunes/a.yaml": configMap("kept", {}) } });
  const retry = { limit: 0 };
  for (const [i, [, , policy]] of CASES.entries()) {
    const syncPolicy = { automated: { prune: true, selfHeal: true }, retry, ...policy };
    await w.app(`c${i}`, {
      repo: "tenant",
      path: `c${i}`,
      project: "team",
      destination: { name: "in-cluster", namespace: "team" },
      syncPolicy,
    });
  }
  // Its own namespace is made with its account's rights, too.
  await w.app("nowhere", {
    repo: "tenant",
    path: "prunes",
    project: "team",
    destination: { name: "in-cluster", namespace: "nowhere" },
    syncPolicy: { automated: {}, retry, syncOptions: ["CreateNamespace=true"] },
  });
  await w.app("prunes", {
    repo: "tenant",
    path: "prunes",
    project: "team",
    destination: { name: "in-cluster", namespace: "team" },
    syncPolicy: { automated: { prune: true }, retry },
  });
  const ended: string[] = [];
  for (const name of [...CASES.map((_, i) => `c${i}`), "nowhere", "prunes"]) {
    const app = await w.until(
      name,
      (a) => /^(Failed|Error|Succeeded)$/.test(a.status?.operationState?.phase ?? ""),
      "ended",
    );
    ended.push(`${name} ${app.status!.operationState!.phase}`);
  }
  expect(await standing()).toBe(before);
  // Only what it may do was done.
  const may = new Set([
    "prunes Succeeded",
    ...CASES.flatMap(([title], i) => (title.startsWith("labels") ? [`c${i} Succeeded`] : [])),
  ]);
  expect(ended.filter((line) => !line.endsWith("Failed") && !line.endsWith("Error") && !may.has(line))).toEqual([]);
}, 90_000);

test("nor is it when an application goes, with all that it says is its own", async () => {
  const finalizers = ["resources-finalizer.argocd.argoproj.io/background"];
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "prunes", { metadata: { finalizers } }));
  value(await w.client.delete(RESOURCES.application, w.namespace, "prunes", { propagation: "Background" }));
  const gone = async () => {
    const app = await w.client.get(RESOURCES.application, w.namespace, "prunes");
    return app.kind !== "done" || ((app.value as Application).status?.conditions?.length ?? 0) > 0;
  };
  const deadline = Date.now() + 60_000;
  while (!(await gone()) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await gone()).toBe(true);
  expect(await standing()).toBe(before);
}, 60_000);

test("a difference shows nothing that its account may not read", async () => {
  await w.git.createRepository("reads", {
    files: {
      "a.yaml": `${configMap("theirs", { a: "mine" }, ", namespace: other")}---\n${secretYaml("team", "", "theirs")}`,
    },
  });
  const manual = { syncPolicy: {} };
  await w.app("reads", {
    repo: "reads",
    project: "team",
    destination: { name: "in-cluster", namespace: "team" },
    ...manual,
  });
  const app = await w.get("reads");
  const folder = mkdtempSync(join(tmpdir(), "outpost-tenancy-"));
  const repo = new RepoService({ folder, cache: new MemoryCache() });
  await repo.start();
  try {
    const log = pino({ level: "silent" });
    const ctx = { client: w.client, namespace: w.namespace, account: "default", sealSeed: new Secret(""), log };
    const key = "-/-/reads";
    const delivered = marked(app, key, "u1");
    value(
      await w.client.mergePatch(
        RESOURCES.application,
        w.namespace,
        nameOf({ collection: "applications", key, name: "reads" }),
        delivered,
      ),
    );
    const task = {
      worker: "w",
      task: "t",
      kind: "application.diff",
      params: { key, uid: "u1", name: "reads" },
      fence: 1,
      attempt: 1,
      timeoutSeconds: 30,
    };
    const got = await applicationDiff({ ctx, repo }, task as never);
    const shown = JSON.stringify(got);
    expect(shown).toMatch(/"name":"theirs"/);
    expect(shown).not.toContain(SECRET);
    expect(shown).not.toContain(Buffer.from(SECRET).toString("base64"));
  } finally {
    repo.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);

/** As the link marks what it was given. */
function marked(app: KubeObject, key: string, uid: string): object {
  return {
    metadata: {
      labels: { ...app.metadata.labels, [MANAGED]: "true" },
      annotations: { [MARK.uid]: uid, [MARK.generation]: "1", [MARK.scope]: "default/-/-", [MARK.id]: key.slice(4) },
    },
  };
}

describe("poison", () => {
  const source = () => ({ repoURL: w.git.cloneUrl("good"), path: ".", targetRevision: "main" });
  const good = () => ({
    project: "default",
    destination: { name: "in-cluster", namespace: "poison" },
    source: source(),
  });
  const automated = { syncPolicy: { automated: {}, syncOptions: ["CreateNamespace=true"] } };
  const long = "x".repeat(200_000);
  const slashes = "/".repeat(200_000);
  const deep = (n: number): unknown => (n === 0 ? 1 : { a: deep(n - 1) });
  // Whatever the API server takes: an annotation is any text, and most of a specification is kept as it is.
  const POISON: (() => {
    spec?: object;
    annotations?: Record<string, string>;
    operation?: unknown;
    status?: unknown;
  })[] = [
    () => ({ spec: { source: { repoURL: "" } } }),
    () => ({ spec: { source: { ...source(), helm: "no" } } }),
    () => ({ spec: { source: { ...source(), helm: { parameters: "no", valueFiles: 7, valuesObject: [] } } } }),
    () => ({ spec: { source: { ...source(), kustomize: { images: [null, 7], patches: "x", commonLabels: 3 } } } }),
    () => ({ spec: { source: { ...source(), directory: { recurse: "yes", include: 3, jsonnet: [] } } } }),
    () => ({ spec: { source: { ...source(), path: null, targetRevision: 5 } } }),
    () => ({ spec: { source: { ...source(), plugin: 9 } } }),
    () => ({ spec: { source: undefined, sources: [] } }),
    () => ({ spec: { source: undefined, sources: [{ repoURL: long }] } }),
    () => ({ spec: { source: { ...source(), repoURL: `https://h${slashes}x` } } }),
    () => ({ spec: { source: { ...source(), path: `a${slashes}x` } } }),
    () => ({ spec: { source: { ...source(), targetRevision: `>=1${slashes.replaceAll("/", " ")}x` } } }),
    () => ({ spec: { destination: { server: `https://h${slashes}x`, namespace: "poison" } } }),
    () => ({ spec: { destination: {} } }),
    () => ({ spec: { destination: { server: "no url", namespace: "../x" } } }),
    () => ({ spec: { project: long.slice(0, 1_000) } }),
    () => ({
      spec: { ignoreDifferences: [{ kind: "*", jqPathExpressions: [".[", "..|..|..|.."], jsonPointers: ["no", ""] }] },
    }),
    () => ({
      spec: { syncPolicy: { automated: {}, retry: { limit: "many", backoff: { duration: "soon", factor: "x" } } } },
    }),
    () => ({
      spec: {
        syncPolicy: { automated: {}, syncOptions: ["=", "Replace", "CreateNamespace=maybe", long.slice(0, 5_000)] },
      },
    }),
    () => ({ spec: { source: { ...source(), helm: { valuesObject: deep(400) } } } }),
    () => ({ spec: { revisionHistoryLimit: -1 } }),
    () => ({ annotations: { "argocd.argoproj.io/refresh": "{" } }),
    () => ({ annotations: { "argocd.argoproj.io/manifest-generate-paths": `${"../".repeat(500)};;[` } }),
    () => ({ annotations: { "outpost.dev/depends-on": `${"a,".repeat(5_000)}{}` } }),
    () => ({ annotations: { "outpost.dev/resource-action": "{", "outpost.dev/helm-lookup": ":::" } }),
    () => ({ annotations: { "outpost.dev/resource-action": JSON.stringify({ group: 1, kind: {}, name: [] }) } }),
    () => ({ operation: "now" }),
    () => ({ operation: { sync: { resources: "all", syncStrategy: 3, revisions: {} } } }),
    () => ({ operation: { retry: { limit: {} }, sync: { sources: [null] } } }),
    () => ({ status: { operationState: { phase: "Running", operation: null, syncResult: { resources: "x" } } } }),
    () => ({ status: { history: [null, 3], resources: "x", conditions: { a: 1 } } }),
    () => ({ status: { sync: { status: "Synced", comparedTo: 3, revision: {} }, summary: [] } }),
  ];

  test("an application of any shape stops nobody else's, and is not worked on without an end", async () => {
    await w.git.createRepository("good", { files: { "a.yaml": configMap("a", { v: "1" }) } });
    const taken: string[] = [];
    for (const [i, make] of POISON.entries()) {
      const { spec, annotations, operation, status } = make();
      const name = `poison-${i}`;
      const object = {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata: { name, namespace: w.namespace, ...(annotations ? { annotations } : {}) },
        spec: JSON.parse(JSON.stringify({ ...good(), ...spec })),
        ...(operation === undefined ? {} : { operation }),
        ...(status === undefined ? {} : { status }),
      };
      const made = await w.client.create(RESOURCES.application, object as KubeObject);
      if (made.kind === "done") taken.push(name);
    }
    expect(taken.length).toBeGreaterThan(18);
    await w.app("healthy", { repo: "good", ...automated });
    await w.until("healthy", synced);
    const tries = new Map<string, number>();
    for (const name of taken) {
      // Each of them was looked at: it has a word, or is compared like any other.
      const app = await w.until(
        name,
        (a) => Boolean(a.status?.conditions?.length || a.status?.sync?.status || a.status?.reconciledAt),
        "looked at",
      );
      tries.set(name, Number(app.metadata.resourceVersion));
    }
    // The others are worked on as before: a commit arrives, and a restart with all of the poison there comes up.
    await w.git.commit("good", { "a.yaml": configMap("a", { v: "2" }) }, "two");
    await w.refresh("healthy");
    await w.until("healthy", synced);
    await w.restart();
    await w.git.commit("good", { "a.yaml": configMap("a", { v: "3" }) }, "three");
    await w.refresh("healthy");
    await w.until("healthy", synced);
    expect((await w.object(CONFIG_MAP, "healthy", "a"))?.data).toEqual({ v: "3" });
  }, 120_000);
});
