import { Agent, request } from "undici";
import { SetController } from "../../server/agent/appset/controller.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { ApplicationSet } from "../../server/agent/appset/types.ts";
import { KubeClient } from "../../server/kube/client.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { configMap, synced, value, type World, world } from "../journeys/engine-world.ts";
import { until } from "../servers/run.ts";

// Guarantee 19 for what else the engine reads: sets and projects of any shape that the API server takes, in their specification and in their status.
const log = {
  warn: () => {},
  error: (fields: object, message: string) => process.env.DEBUG && console.error(message, fields),
};
// More than a stack holds of nested calls.
const DEEP = 6_000;
const long = "x".repeat(200_000);
let w: World;
let home: KubeClient;
let sets: SetController;

beforeAll(async () => {
  w = await world();
  await w.git.createRepository("good", { files: { "a.yaml": configMap("a", { v: "1" }) } });
  home = new KubeClient(w.client.config);
  await startSets();
}, 90_000);
afterAll(async () => {
  await sets?.stop();
  await home?.close();
  await w?.stop();
}, 30_000);

async function startSets(): Promise<void> {
  const { repo, repositories } = w.controller.deps;
  const { controller } = w;
  const access = (url: string) => repositories.find(url);
  sets = new SetController({
    home,
    namespace: w.namespace,
    repo,
    access,
    applications: (on) => controller.follow(on),
    log,
  });
  await sets.start();
}
async function restart(): Promise<void> {
  await sets.stop();
  await w.restart();
  await startSets();
}

const template = (name = "{{.name}}") => ({
  metadata: { name },
  spec: {
    project: "default",
    source: { repoURL: w.git.cloneUrl("good"), path: ".", targetRevision: "main" },
    destination: { name: "in-cluster", namespace: name },
    syncPolicy: { automated: {}, syncOptions: ["CreateNamespace=true"] },
  },
});
const elements = (...names: string[]) => [{ list: { elements: names.map((name) => ({ name })) } }];
/** What nests so deep cannot be written by our own client, so the text goes as it is. */
async function create(resource: Resource, kind: string, name: string, spec: object, status?: object): Promise<boolean> {
  const { server, ca, token } = w.client.config;
  const metadata = { name, namespace: w.namespace };
  const object = { apiVersion: "argoproj.io/v1alpha1", kind, metadata, spec };
  const body = JSON.stringify(object).replace('"DEEP"', `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`);
  const dispatcher = new Agent({ connect: { ca } });
  const headers = { "content-type": "application/json", authorization: `Bearer ${(await token!())!.reveal()}` };
  const url = `${server}/apis/argoproj.io/v1alpha1/namespaces/${w.namespace}/${resource.plural}`;
  const made = await request(url, { method: "POST", dispatcher, headers, body });
  await made.body.dump();
  await dispatcher.close();
  if (made.statusCode !== 201) return false;
  if (status) value(await w.client.patchStatus(resource, w.namespace, name, status));
  return true;
}

const matrix = (depth: number): unknown =>
  depth === 0 ? elements("m")[0] : { matrix: { generators: [matrix(depth - 1), elements("n")[0]] } };
const SETS: (() => { spec?: object; status?: object })[] = [
  () => ({ spec: { generators: "all" } }),
  () => ({ spec: { generators: [null, 7, "x"] } }),
  () => ({ spec: { generators: [{ list: { elements: "none" } }] } }),
  () => ({ spec: { generators: [{ list: { elements: [null, 3, []], elementsYaml: 9 } }] } }),
  () => ({ spec: { generators: [{ git: { repoURL: 5, files: "x" } }] } }),
  () => ({
    spec: { generators: [{ clusters: { selector: { matchExpressions: [{ key: 3, operator: {}, values: "x" }] } } }] },
  }),
  () => ({ spec: { generators: [{ clusters: 7 }] } }),
  () => ({ spec: { generators: [{ matrix: { generators: "x" } }] } }),
  () => ({ spec: { generators: [{ merge: { generators: [null], mergeKeys: 3 } }] } }),
  () => ({ spec: { generators: [matrix(40)] } }),
  () => ({ spec: { generators: [{ pullRequest: { github: [], filters: "x" }, scmProvider: 3 }] } }),
  () => ({ spec: { generators: [{ plugin: { configMapRef: 3, input: [] } }] } }),
  () => ({ spec: { template: undefined } }),
  () => ({ spec: { template: { metadata: 3, spec: "x" } } }),
  () => ({ spec: { template: { metadata: { name: "{{" }, spec: null } } }),
  () => ({
    spec: {
      template: {
        metadata: { name: [], labels: "x", annotations: [7], finalizers: {} },
        spec: { source: 3, destination: null },
      },
    },
  }),
  () => ({ spec: { templatePatch: { a: 1 } } }),
  () => ({ spec: { templatePatch: "{{ range" } }),
  () => ({ spec: { goTemplate: "yes", goTemplateOptions: "missingkey=error" } }),
  () => ({ spec: { goTemplateOptions: [3, null] } }),
  () => ({ spec: { syncPolicy: "sync" } }),
  () => ({ spec: { syncPolicy: { applicationsSync: {} } } }),
  () => ({ spec: { strategy: { type: "RollingSync", rollingSync: { steps: "x" } } } }),
  () => ({
    spec: {
      strategy: { type: "RollingSync", rollingSync: { steps: [null, { matchExpressions: [null], maxUpdate: {} }] } },
    },
  }),
  () => ({ spec: { ignoreApplicationDifferences: [{ jqPathExpressions: [".["], jsonPointers: 3 }] } }),
  () => ({ spec: { ignoreApplicationDifferences: "all", preservedFields: { labels: 3 } } }),
  () => ({ spec: { generators: elements(long), template: template(long) } }),
  () => ({ spec: { template: { ...template(), deep: "DEEP" } } }),
  () => ({ status: { conditions: { a: 1 } } }),
  () => ({ status: { conditions: [null, 3], resources: "x", health: 3, applicationStatus: { a: 1 } } }),
];

test("a set of any shape stops no other set, also at a restart with all of them there", async () => {
  const taken: string[] = [];
  for (const [i, make] of SETS.entries()) {
    const { spec, status } = make();
    const name = `bad-${i}`;
    const whole = { goTemplate: true, generators: elements(`of-${name}`), template: template(), ...spec };
    if (await create(APPLICATION_SET, "ApplicationSet", name, whole, status)) taken.push(name);
  }
  expect(taken.length).toBeGreaterThan(25);
  await goodSet("first");
  await live("first");
  for (const name of taken)
    await until(
      `a word on ${name}`,
      async () => conditionsOf(await w.client.get(APPLICATION_SET, w.namespace, name)),
      10_000,
    );
  // An application of the same depth, which sets look at too.
  const spec = {
    project: "default",
    source: { ...template("x").spec.source, helm: { valuesObject: "DEEP" } },
    destination: {},
  };
  expect(await create(RESOURCES.application, "Application", "deep", spec)).toBe(true);
  await restart();
  await goodSet("second");
  await live("second");
  // What hints and metrics ask of all sets is answered too, and a deletion is seen by all.
  sets.repositoryChanged(w.git.cloneUrl("good"));
  expect(await sets.metrics.registry.metrics()).toContain('argocd_appset_info{namespace="outpost-agent",name="second"');
  value(await w.client.delete(APPLICATION_SET, w.namespace, "first", { propagation: "Background" }));
  value(await w.client.delete(RESOURCES.application, w.namespace, "second", { propagation: "Background" }));
  await goodSet("third");
  await live("third");
}, 90_000);

const goodSet = (name: string) =>
  create(APPLICATION_SET, "ApplicationSet", name, {
    goTemplate: true,
    generators: elements(name),
    template: template(),
  });
/** Made by its set, and live. */
async function live(name: string): Promise<void> {
  await until(
    `application ${name}`,
    async () => (await w.client.get(RESOURCES.application, w.namespace, name)).kind === "done",
    10_000,
  );
  await w.until(name, synced);
}
const conditionsOf = (read: { kind: string; value?: KubeObject }) => {
  const conditions = (read.value as ApplicationSet | undefined)?.status?.conditions;
  return Array.isArray(conditions) && conditions.some((one) => one?.type === "ErrorOccurred");
};

const anywhere = { sourceRepos: ["*"], destinations: [{ server: "*", namespace: "*" }] };
const PROJECTS: object[] = [
  {},
  { sourceRepos: "all" },
  { sourceRepos: [null, 7, {}] },
  { ...anywhere, destinations: [null] },
  { ...anywhere, destinations: [{ server: 3, namespace: [] }] },
  { ...anywhere, clusterResourceWhitelist: { group: "*" } },
  { ...anywhere, namespaceResourceBlacklist: [[], 3] },
  { ...anywhere, syncWindows: "never" },
  { ...anywhere, syncWindows: [{ kind: "deny", schedule: "* * *", duration: "soon", applications: ["*"] }] },
  { ...anywhere, syncWindows: [{ kind: "never", schedule: "", duration: "", timeZone: "Nowhere/At" }] },
  {
    ...anywhere,
    syncWindows: [{ kind: "allow", schedule: "0 0 31 2 *", duration: "1h", applications: ["["], namespaces: ["["] }],
  },
  { ...anywhere, destinationServiceAccounts: [{ server: "[", namespace: "[", defaultServiceAccount: "x y" }] },
  { ...anywhere, destinationServiceAccounts: {} },
  { ...anywhere, orphanedResources: "warn" },
  { ...anywhere, orphanedResources: { warn: "x", ignore: [3] } },
  { ...anywhere, signatureKeys: [{ keyID: 3 }] },
  { ...anywhere, sourceIntegrity: { git: { policies: [{ repos: 3, gpg: "x" }] } } },
  { ...anywhere, sourceIntegrity: 7 },
  { ...anywhere, roles: "x", description: 3, permitOnlyProjectScopedClusters: "x" },
  { ...anywhere, sourceRepos: [`${"*".repeat(5_000)}x`] },
  { ...anywhere, sourceRepos: ["!", "!!", "[", "{"] },
  { ...anywhere, deep: "DEEP" },
];

test("a project of any shape stops no other project's applications, and its own say why they wait", async () => {
  const taken: number[] = [];
  for (const [i, spec] of PROJECTS.entries())
    if (await create(RESOURCES.appProject, "AppProject", `bad-${i}`, spec)) taken.push(i);
  expect(taken.length).toBeGreaterThan(18);
  for (const i of taken) await w.app(`of-project-${i}`, { repo: "good", project: `bad-${i}` });
  await create(RESOURCES.appProject, "AppProject", "fine", {
    ...anywhere,
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
  });
  await w.app("fine-one", { repo: "good", project: "fine" });
  await w.until("fine-one", synced);
  for (const i of taken)
    await w.until(
      `of-project-${i}`,
      ({ status }) => Boolean(status?.conditions?.length || status?.sync?.status),
      "looked at",
    );
  await restart();
  await w.app("fine-two", { repo: "good", project: "fine" });
  await w.until("fine-two", synced);
}, 90_000);
