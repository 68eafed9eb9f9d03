import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { AgentContext } from "../../server/agent/link/context.ts";
import { Inbox } from "../../server/agent/link/deliveries/inbox.ts";
import { Discovery } from "../../server/agent/link/discover/discovery.ts";
import { Observer } from "../../server/agent/link/observe.ts";
import { Secret } from "../../server/base/secret.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { Reports } from "../../server/link/reports.ts";
import type { Open } from "../../server/link/session.ts";
import { type ApiServer, startApiServer } from "../cluster/apiserver.ts";
import { until } from "../servers/run.ts";
import { must } from "./link-world.ts";

/** The agent's half of discovered objects, on a real API server, beside an Argo CD of which only the objects are there. */
export const OWN = "argocd";
export const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
export const SET: Resource = {
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "ApplicationSet",
  plural: "applicationsets",
  namespaced: true,
};
export const STATEFUL_SET: Resource = {
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
};

export let cluster: ApiServer;
export let kube: KubeClient;
export let ctx: AgentContext;
export let observer: Observer;
export const reports = new Reports();
export const stop = new AbortController();
export const open = { features: ["discovered"] } as unknown as Open;
export const discovery: Discovery = new Discovery({ own: OWN, made: (set) => observer?.made(set) ?? [] });
/** What a service would have been told: the latest report of each object. */
export const told = new Map<string, Record<string, unknown>>();
export const completed: string[] = [];

export async function listen(): Promise<void> {
  while (!stop.signal.aborted) {
    await discovery.ready(stop.signal);
    const batch = discovery.batch(open, undefined);
    for (const { collection, namespace, name, ...report } of batch?.body.discovered ?? []) {
      const at = `${collection}/${namespace}/${name}`;
      if (!report.deleted) told.set(at, report);
      else if (told.get(at)?.uid === report.uid) told.delete(at);
    }
    for (const { collection, count } of batch?.body.listed ?? []) completed.push(`${collection} ${count}`);
    batch?.settled();
  }
}

export const spec = (path: string) => ({
  project: "default",
  source: { repoURL: "https://git.example.com/apps.git", path, targetRevision: "HEAD" },
  destination: { server: "https://kubernetes.default.svc", namespace: "default" },
});
export const application = (name: string, metadata: object = {}, more: object = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name, namespace: OWN, ...metadata },
  spec: spec(name),
  ...more,
});
export const create = async (object: KubeObject, resource: Resource = RESOURCES.application) =>
  must(await kube.create(resource, object));
export const live = async (name: string, namespace = OWN) =>
  must(await kube.get(RESOURCES.application, namespace, name));
export const secret = (name: string, type: string, stringData: object): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: OWN, labels: { "argocd.argoproj.io/secret-type": type } },
  stringData,
});

const labelled = (name: string) => ({ name, namespace: OWN, labels: { "app.kubernetes.io/part-of": "argocd" } });

export async function startWorld(): Promise<void> {
  cluster = await startApiServer();
  kube = new KubeClient(parseKubeconfig(readFileSync(cluster.kubeconfig, "utf8")));
  const crds = join(import.meta.dirname, "../../server/agent/crds");
  for (const file of readdirSync(crds)) must(await kube.create(CRD, parse(readFileSync(join(crds, file), "utf8"))));
  for (const name of [OWN, "team-a", "team-b"])
    must(await kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  // All of them: a kind that comes later starts a second round.
  for (const kind of [SET, RESOURCES.application, RESOURCES.appProject])
    await until("the kinds", async () => (await kube.list(kind, { namespace: OWN })).kind === "done", 20_000);
  await create({ apiVersion: "v1", kind: "ConfigMap", metadata: labelled("argocd-cm") }, RESOURCES.configMap);
  const data = { "application.namespaces": "team-a" };
  await create(
    { apiVersion: "v1", kind: "ConfigMap", metadata: labelled("argocd-cmd-params-cm"), data },
    RESOURCES.configMap,
  );
  // What is there before the agent comes.
  await create(application("by-kubectl"));
  const set = await create(
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name: "teams", namespace: OWN },
      spec: {
        generators: [{ list: { elements: [{ name: "made" }] } }],
        template: { metadata: { name: "{{name}}" }, spec: spec("{{name}}") },
      },
    },
    SET,
  );
  const ownerReferences = [
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      name: "teams",
      uid: set.metadata.uid!,
      controller: true,
      blockOwnerDeletion: true,
    },
  ];
  await create(application("made", { ownerReferences }));
  const annotations = { "argocd.argoproj.io/tracking-id": `by-kubectl:argoproj.io/Application:${OWN}/child` };
  await create(application("child", { annotations }));
  await create(application("shop", { namespace: "team-a" }));
  await create(application("not-ours", { namespace: "team-b" }));
  await create(
    secret("cluster-prod", "cluster", {
      name: "prod",
      server: "https://10.1.1.1:6443",
      config: '{"bearerToken":"s3cret"}',
    }),
    RESOURCES.secret,
  );
  await create(
    secret("repo-1", "repository", { url: "https://u:s3cret@git.example.com/apps.git", password: "s3cret" }),
    RESOURCES.secret,
  );
  await create(secret("other", "repo-creds", { url: "https://git.example.com", password: "s3cret" }), RESOURCES.secret);
  await create(
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata: { name: "default", namespace: OWN },
      spec: { sourceRepos: ["*"], destinations: [{ server: "*", namespace: "*" }] },
    },
    RESOURCES.appProject,
  );

  const log = { debug() {}, info() {}, warn() {}, error: console.error } as unknown as AgentContext["log"];
  ctx = {
    client: kube,
    namespace: OWN,
    account: "default",
    scope: "-/-",
    sealSeed: new Secret(""),
    log,
    patterns: { applications: undefined, sets: undefined },
    elsewhere: new Map(),
  };
  const inbox = new Inbox({ handle: async () => ({ kind: "done", value: undefined }), report: () => undefined, log });
  observer = new Observer({ ctx, reports, inbox, connection: () => undefined, discovery, signal: stop.signal });
  discovery.resync(open);
  void listen();
  await until("the first round", async () => completed.length >= 5, 30_000);
}

export async function stopWorld(): Promise<void> {
  stop.abort();
  await observer?.done;
  await kube?.close();
  await cluster?.stop();
}
