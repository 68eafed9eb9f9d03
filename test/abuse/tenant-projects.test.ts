import { pino } from "pino";
import { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { AgentContext } from "../../server/agent/link/context.ts";
import { putApplication } from "../../server/agent/link/deliveries/application.ts";
import { putAppProject } from "../../server/agent/link/deliveries/project.ts";
import { putApplicationSet } from "../../server/agent/link/deliveries/set.ts";
import { TENANT } from "../../server/agent/project/tenant.ts";
import { Secret } from "../../server/base/secret.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import type { WorkerObject } from "../../server/link/exchange.ts";
import {
  CONFIG_MAP,
  condition,
  configMap,
  settings,
  synced,
  value,
  type World,
  world,
} from "../journeys/engine-world.ts";

// One agent of the account, organisations acme and other below it. What the service would refuse is delivered all the same, or is in the cluster
// already, as of an older version: the agent must not act on it. `acme-web:deployer` is the only account that acme was given.
const RBAC = "rbac.authorization.k8s.io/v1";
const kind = (name: string, plural: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind: name,
  plural,
  namespaced,
});
const CLUSTER_BINDING = kind("ClusterRoleBinding", "clusterrolebindings", false);
const everything = {
  sourceRepos: ["*"],
  destinations: [{ server: "*", namespace: "*" }],
  clusterResourceWhitelist: [{ group: "*", kind: "*" }],
};
const PLATFORM = "platform";
const ACCOUNTS = [{ server: "*", namespace: "acme-*", defaultServiceAccount: "deployer" }];

let w: World;
let ctx: AgentContext;
let generation = 1;
beforeAll(async () => {
  w = await world({ audit: true });
  const log = pino({ level: "silent" });
  ctx = { client: w.client, namespace: w.namespace, account: "default", sealSeed: new Secret(""), log };
  for (const name of ["acme-web", "acme-bare", "victim"])
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  const metadata = { name: "deployer", namespace: "acme-web" };
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["*"] }];
  value(await w.client.apply(kind("Role", "roles", true), { apiVersion: RBAC, kind: "Role", metadata, rules }));
  const binding = {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "deployer" },
    subjects: [{ kind: "ServiceAccount", ...metadata }],
  };
  value(
    await w.client.apply(kind("RoleBinding", "rolebindings", true), {
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata,
      ...binding,
    }),
  );
  await w.git.createRepository("mine", { files: { "a.yaml": configMap("mine", { rev: "1" }) } });
  await w.git.createRepository("outside", { files: { "a.yaml": configMap("stolen", {}, ", namespace: victim") } });
  await w.git.createRepository("admin", {
    files: {
      "a.yaml": `apiVersion: ${RBAC}\nkind: ClusterRoleBinding\nmetadata: {name: escape}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: deployer, namespace: acme-web}]\n`,
    },
  });
  await project("-/-", PLATFORM, { allowedScopes: ["acme"], ...everything, destinationServiceAccounts: ACCOUNTS });
  await project("-/-", "internal", {
    allowedScopes: [],
    ...everything,
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "kube-system:admin" }],
  });
  await project("acme/-", "own", everything);
  await project("other/-", "theirs", everything);
}, 180_000);
afterAll(() => w?.stop(), 60_000);

/** A delivery as the service makes it; a scope below the agent's gives another name than the id. */
function delivery(collection: WorkerObject["collection"], scope: string, id: string, spec: object): WorkerObject {
  const name = scope === "-/-" ? id : `${id}-0123456789ab`;
  const uid = `${collection}-${scope}-${id}`;
  return {
    worker: "w",
    collection,
    key: `${scope}/${id}`,
    name,
    uid,
    generation: generation++,
    op: "put",
    spec,
  } as WorkerObject;
}
async function project(scope: string, id: string, spec: object): Promise<void> {
  value(await putAppProject(ctx, delivery("appprojects", scope, id, { agent: "top", ...spec })));
}
const appSpec = (argoProject: string | undefined, repository = "mine", namespace = "acme-web") => ({
  agent: "top",
  ...(argoProject === undefined ? {} : { argoProject }),
  destination: { namespace },
  source: { repoUrl: w.git.cloneUrl(repository), path: ".", targetRevision: "main" },
  syncPolicy: { automated: { prune: true, selfHeal: true }, retry: { limit: 0 } },
});
const deliver = (scope: string, id: string, spec: object) =>
  putApplication(ctx, delivery("applications", scope, id, spec));
/** An application as an older version, or a set, left it in the cluster. */
const inCluster = (name: string, tenant: string, projectName: string, repo = "mine", namespace = "acme-web") =>
  w.app(
    name,
    {
      project: projectName,
      repo,
      destination: { name: "in-cluster", namespace },
      syncPolicy: { automated: { prune: true, selfHeal: true }, retry: { limit: 0 } },
    },
    { annotations: { [TENANT]: tenant } },
  );
const ended = (app: { status?: { operationState?: { phase?: string } } }) =>
  /^(Failed|Error|Succeeded)$/.test(app.status?.operationState?.phase ?? "");
const writers = (name: string) =>
  new Set(
    w.api
      .audit()
      .filter(
        ({ verb, objectRef }) =>
          /^(create|patch|update|delete)$/.test(verb) &&
          objectRef?.resource === "configmaps" &&
          objectRef.name === name,
      )
      .map(({ user, impersonatedUser }) => impersonatedUser?.username ?? user.username),
  );

test.each<[string, string, string | undefined]>([
  ["no project", "acme/-", undefined],
  ["default", "acme/-", "default"],
  ["a project that is kept to the agent's own scope", "acme/-", "internal"],
  ["another tenant's project", "acme/-", "theirs-0123456789ab"],
  ["a project that lists another organisation", "other/-", PLATFORM],
  ["a project that is not there", "acme/-", "missing"],
])("the link writes nothing of a delivery that names %s", async (_, scope, name) => {
  expect(await deliver(scope, "refused", appSpec(name))).toMatchObject({ reason: "ProjectNotAllowed" });
  const spec = {
    agent: "top",
    generators: [{ list: { elements: [{ a: "b" }] } }],
    template: { metadata: { name: "x" }, spec: { project: name } },
  };
  expect(await putApplicationSet(ctx, delivery("applicationsets", scope, "refused", spec))).toMatchObject({
    reason: "ProjectNotAllowed",
  });
  expect(await w.object(RESOURCES.application, w.namespace, "refused-0123456789ab")).toBeUndefined();
  expect(await w.object(APPLICATION_SET, w.namespace, "refused-0123456789ab")).toBeUndefined();
});

test("under a project that serves it, a tenant's application is written as the project's account alone, whatever the setting says", async () => {
  for (const [i, enabled] of [undefined, "true", "false"].entries()) {
    if (enabled) await settings(w, "argocd-cm", { "application.sync.impersonation.enabled": enabled });
    const name = `map-${i}`;
    await w.git.createRepository(name, { files: { "a.yaml": configMap(name, {}) } });
    expect((await deliver("acme/-", `fine-${i}`, appSpec(PLATFORM, name))).kind).toBe("done");
    await w.until(`fine-${i}-0123456789ab`, synced, "Synced");
    expect([...writers(name)]).toEqual(["system:serviceaccount:acme-web:deployer"]);
  }
  await settings(w, "argocd-cm", {});
}, 120_000);

test("a definition that nobody has gets no mark of a tenant whose account may not write it", async () => {
  const definitions: Resource = {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
  };
  const schema = { openAPIV3Schema: { type: "object" } };
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { kind: "Widget", plural: "widgets" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  value(await w.client.create(definitions, crd));
  await w.git.createRepository("definitions", { files: { "a.yaml": JSON.stringify(crd) } });
  await inCluster("definitions", "acme/-", PLATFORM, "definitions");
  const app = await w.until("definitions", ended, "ended");
  expect(app.status?.operationState?.phase).not.toBe("Succeeded");
  // With a label of acme's application another tenant that installs it would be refused.
  expect((await w.object(definitions, undefined, "widgets.example.com"))?.metadata.labels).toBeUndefined();
}, 120_000);

test("where its project names no account for a destination, nothing of a tenant is written", async () => {
  for (const enabled of [undefined, "false"]) {
    await settings(w, "argocd-cm", enabled ? { "application.sync.impersonation.enabled": enabled } : {});
    const name = `none-${enabled ?? "default"}`;
    await inCluster(name, "acme/-", PLATFORM, "mine", "victim");
    const app = await w.until(name, (a) => condition(a, "ServiceAccountNotFound") !== undefined, "refused");
    expect(condition(app, "ServiceAccountNotFound")?.message).toContain(
      "destinationServiceAccounts of project 'platform'",
    );
  }
  await settings(w, "argocd-cm", {});
  expect(await w.object(CONFIG_MAP, "victim", "mine")).toBeUndefined();
}, 120_000);

test.each<[string, string, string]>([
  ["no-project", "acme/-", ""],
  ["by-default", "acme/-", "default"],
  ["kept", "acme/-", "internal"],
  ["of-another", "acme/-", "theirs-0123456789ab"],
  ["not-listed", "other/shop", PLATFORM],
  ["without-limit", "other/-", "theirs-0123456789ab"],
])(
  "the controller does nothing for an application that is in the cluster already: %s",
  async (name, tenant, projectName) => {
    const before = await w.object(CONFIG_MAP, "acme-web", "mine");
    await inCluster(name, tenant, projectName);
    const app = await w.until(name, (a) => condition(a, "ProjectNotAllowed") !== undefined, "refused");
    expect(app.status?.sync?.status).toBe("Unknown");
    expect(app.status?.operationState?.phase).not.toBe("Succeeded");
    expect((await w.object(CONFIG_MAP, "acme-web", "mine"))?.metadata.uid).toBe(before?.metadata.uid);
    // A sync that is asked for changes nothing of it; once is enough, as it waits a while for the project.
    if (name !== "no-project") return;
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, { operation: { sync: {} } }));
    const asked = await w.until(name, (a) => a.operation === undefined && ended(a), "ended");
    expect(asked.status?.operationState?.phase).not.toBe("Succeeded");
  },
  120_000,
);

test("a project that a tenant writes itself, however wide, gives it no more than the project above", async () => {
  for (const [name, repository] of [
    ["wide-outside", "outside"],
    ["wide-admin", "admin"],
  ] as const) {
    await inCluster(name, "acme/-", "own-0123456789ab", repository);
    const app = await w.until(name, ended, "ended");
    expect(app.status?.operationState?.phase).not.toBe("Succeeded");
  }
  expect(await w.object(CONFIG_MAP, "victim", "stolen")).toBeUndefined();
  expect(await w.object(CLUSTER_BINDING, undefined, "escape")).toBeUndefined();
  // With accounts of its own, as of an older version, it still writes as the project above says.
  const patch = {
    spec: { destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "kube-system:admin" }] },
  };
  value(await w.client.mergePatch(RESOURCES.appProject, w.namespace, "own-0123456789ab", patch));
  await w.git.createRepository("as-whom", { files: { "a.yaml": configMap("as-whom", {}) } });
  await inCluster("as-whom", "acme/-", "own-0123456789ab", "as-whom");
  await w.until("as-whom", synced, "Synced");
  expect([...writers("as-whom")]).toEqual(["system:serviceaccount:acme-web:deployer"]);
}, 120_000);

test("a tenant's set makes applications only under projects that serve the tenant", async () => {
  const elements = [PLATFORM, "default", "internal", "theirs-0123456789ab", ""].map((name, i) => ({
    name: `made-${i}`,
    project: name,
  }));
  const spec = {
    agent: "top",
    goTemplate: true,
    generators: [{ list: { elements } }],
    template: {
      metadata: { name: "{{ .name }}" },
      spec: {
        project: "{{ .project }}",
        source: { repoURL: w.git.cloneUrl("mine"), path: "." },
        destination: { name: "in-cluster", namespace: "acme-web" },
      },
    },
    // A patch never changes the project.
    templatePatch: "spec: {project: internal}",
  };
  value(await putApplicationSet(ctx, delivery("applicationsets", "acme/-", "many", spec)));
  const nothing = async () => ({ kind: "stop", reason: "None", message: "" }) as never;
  const sets = new SetController({
    home: w.client,
    namespace: w.namespace,
    repo: { look: nothing },
    access: (url) => ({ url }) as never,
    log: ctx.log,
  });
  await sets.start();
  try {
    await w.settled(async () => {
      const set = await w.object(APPLICATION_SET, w.namespace, "many-0123456789ab");
      const conditions = (set?.status as { conditions?: { message?: string }[] } | undefined)?.conditions ?? [];
      return conditions.some(({ message }) => /may not use/.test(message ?? ""));
    }, "said by the set");
    const made = value(await w.client.list(RESOURCES.application, { namespace: w.namespace })).items.filter(
      ({ metadata }) => metadata.name.startsWith("made-"),
    );
    expect(
      made.map(({ metadata, spec: its }) => [
        metadata.name,
        (its as { project: string }).project,
        metadata.annotations?.[TENANT],
      ]),
    ).toEqual([["made-0-0123456789ab", PLATFORM, "acme/-"]]);
  } finally {
    await sets.stop();
  }
}, 120_000);

test("a tenant's set holds no name that the account gives to its own application later, nor one of another tenant's set", async () => {
  const spec = {
    agent: "top",
    generators: [{ list: { elements: [{ name: "wanted" }] } }],
    goTemplate: true,
    template: {
      metadata: { name: "{{ .name }}" },
      spec: {
        project: PLATFORM,
        source: { repoURL: w.git.cloneUrl("mine"), path: "." },
        destination: { name: "in-cluster", namespace: "acme-web" },
      },
    },
  };
  value(await putApplicationSet(ctx, delivery("applicationsets", "acme/-", "squats", spec)));
  const nothing = async () => ({ kind: "stop", reason: "None", message: "" }) as never;
  const access = (url: string) => ({ url }) as never;
  const sets = new SetController({
    home: w.client,
    namespace: w.namespace,
    repo: { look: nothing },
    access,
    log: ctx.log,
  });
  await sets.start();
  try {
    const made = async () =>
      (await w.object(RESOURCES.application, w.namespace, "wanted-0123456789ab"))?.metadata.annotations?.[TENANT];
    await w.settled(async () => (await made()) === "acme/-", "made under the name of its scope");
    expect(await w.object(RESOURCES.application, w.namespace, "wanted")).toBeUndefined();
    expect(
      await deliver("-/-", "wanted", { ...appSpec("default", "mine", "acme-bare"), syncPolicy: {} }),
    ).toMatchObject({ kind: "done" });
    expect(
      (await w.object(RESOURCES.application, w.namespace, "wanted"))?.metadata.annotations?.[TENANT],
    ).toBeUndefined();
    expect(await made()).toBe("acme/-");
  } finally {
    await sets.stop();
  }
}, 120_000);

test("when a project closes, its tenants' applications stop, and nothing is deleted, not even by deleting them", async () => {
  const name = "fine-0-0123456789ab";
  const before = await w.object(CONFIG_MAP, "acme-web", "map-0");
  expect(before).toBeDefined();
  const closed = { allowedScopes: ["other"], ...everything, destinationServiceAccounts: ACCOUNTS };
  await project("-/-", PLATFORM, closed);
  await w.until(name, (a) => condition(a, "ProjectNotAllowed") !== undefined, "stopped");
  await w.git.commit("map-0", { "a.yaml": configMap("map-1", {}) }, "another map");
  // No controller-manager runs that would end a deletion in the foreground.
  const metadata = {
    annotations: { "argocd.argoproj.io/refresh": "hard" },
    finalizers: ["resources-finalizer.argocd.argoproj.io/background"],
  };
  const asked = { metadata, operation: { sync: {} } };
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, name, asked));
  value(await w.client.delete(RESOURCES.application, w.namespace, name, {}));
  await w.until(
    name,
    (a) => a.status?.conditions?.some(({ type }) => type === "DeletionError") === true,
    "not deleted",
  );
  expect((await w.object(CONFIG_MAP, "acme-web", "map-0"))?.metadata.uid).toBe(before!.metadata.uid);
  // Open again, it goes as it was asked to.
  await project("-/-", PLATFORM, { ...closed, allowedScopes: ["acme"] });
  await w.settled(async () => (await w.object(RESOURCES.application, w.namespace, name)) === undefined, "deleted");
  expect(await w.object(CONFIG_MAP, "acme-web", "map-0")).toBeUndefined();
}, 180_000);

test("with impersonation demanded, the agent's own applications need an account too; without the setting they work as ever", async () => {
  const own = (name: string): Promise<KubeObject> =>
    w.app(name, { repo: "mine", destination: { name: "in-cluster", namespace: "acme-bare" } });
  await own("first-hour");
  await w.until("first-hour", synced, "Synced");
  await settings(w, "argocd-cm", { "application.sync.impersonation.enabled": "true" });
  await w.until("first-hour", (a) => condition(a, "ServiceAccountNotFound") !== undefined, "refused");
  await settings(w, "argocd-cm", {});
  await w.until("first-hour", (a) => condition(a, "ServiceAccountNotFound") === undefined && synced(a), "Synced again");
}, 120_000);
