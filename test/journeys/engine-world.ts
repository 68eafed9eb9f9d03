import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { MemoryCache } from "../../server/agent/cache/memory.ts";
import type { Application } from "../../server/agent/controller/application.ts";
import type { Log } from "../../server/agent/controller/deps.ts";
import { Controller } from "../../server/agent/controller/loop/controller.ts";
import type { Shard } from "../../server/agent/controller/loop/shard.ts";
import { RepoService } from "../../server/agent/repo/service.ts";
import type { Outcome } from "../../server/base/outcome.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { type KubeConfig, parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type ApiServer, startApiServer, toolPath } from "../cluster/apiserver.ts";
import { type GitServer, startGit } from "../servers/git.ts";

/** The engine in this process, between a real API server and a real Git server. */
export interface World {
  api: ApiServer;
  git: GitServer;
  client: KubeClient;
  namespace: string;
  controller: Controller;
  /** Ends the controller; `restart` starts one again. */
  halt(): Promise<void>;
  /** The repo server of the controller; another one may use it too. */
  repo: RepoService;
  /** Ends the controller and starts another one, as a restart of its Pod does. */
  restart(options?: { config?: KubeConfig; pollMs?: number; now?: () => number; shard?: Shard }): Promise<void>;
  /** Registers a way to the cluster under another name and address, through which applications may go to it. */
  cluster(name: string, server: string): Promise<void>;
  /** Creates an application; `spec` is merged over one with automated sync, prune and self-heal. */
  app(
    name: string,
    spec: Partial<Application["spec"]> & { path?: string; repo?: string },
    metadata?: Partial<KubeObject["metadata"]>,
  ): Promise<Application>;
  get(name: string): Promise<Application>;
  /** Waits until the application is as `check` wants it; the error shows what it was instead. */
  until(
    name: string,
    check: (app: Application) => boolean | undefined,
    what?: string,
    namespace?: string,
  ): Promise<Application>;
  /** Waits until something else holds. */
  settled(check: () => Promise<boolean>, what: string): Promise<void>;
  refresh(name: string, kind?: "normal" | "hard", namespace?: string): Promise<void>;
  object(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject | undefined>;
  stop(): Promise<void>;
}

export const CONFIG_MAP = RESOURCES.configMap;
export const DEPLOYMENT: Resource = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
};
const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};
const NAMESPACE = "outpost-agent";
// A machine under load is five times slower.
const DEADLINE_MS = 60_000;

export function value<T>(outcome: Outcome<T>): T {
  if (outcome.kind !== "done") throw new Error(`${outcome.reason}: ${outcome.message}`);
  return outcome.value;
}

export async function world(options: { log?: Log; audit?: boolean } = {}): Promise<World> {
  process.env.OUTPOST_HELM = toolPath("helm");
  process.env.OUTPOST_KUSTOMIZE = toolPath("kustomize");
  process.env.OUTPOST_JSONNET = toolPath("jsonnet");
  const [api, git] = await Promise.all([startApiServer({ audit: options.audit ?? false }), startGit()]);
  const folder = mkdtempSync(join(tmpdir(), "outpost-world-"));
  const client = new KubeClient(parseKubeconfig(readFileSync(api.kubeconfig, "utf8")));
  await installCrds(client);
  value(
    await client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }),
  );

  const repo = new RepoService({ folder, cache: new MemoryCache() });
  await repo.start();
  const quiet: Log = {
    info: () => {},
    warn: () => {},
    error: (fields, message) => process.env.DEBUG && console.error(message, fields),
  };
  let stopController = async () => {};
  const own = () => parseKubeconfig(readFileSync(api.kubeconfig, "utf8"));
  const start = async (config = own(), more: { pollMs?: number; now?: () => number; shard?: Shard } = {}) => {
    const abort = new AbortController();
    const home = new KubeClient(config);
    const controller = new Controller({
      home,
      namespace: NAMESPACE,
      repo,
      lookup: async () => repo,
      log: options.log ?? quiet,
      signal: abort.signal,
      ...more,
    });
    await controller.start();
    stopController = async () => {
      abort.abort();
      await controller.stop();
      await home.close();
    };
    return controller;
  };

  const read = async (name: string, namespace = NAMESPACE) =>
    value(await client.get(RESOURCES.application, namespace, name)) as Application;
  const made: World = {
    api,
    git,
    client,
    namespace: NAMESPACE,
    controller: await start(),
    halt: async () => {
      await stopController();
      stopController = async () => {};
    },
    repo,
    restart: async ({ config, ...more } = {}) => {
      await stopController();
      made.controller = await start(config, more);
    },
    cluster: async (name, server) => {
      const config = own();
      const tls = { caData: Buffer.from(config.ca!).toString("base64"), serverName: "127.0.0.1" };
      const text = JSON.stringify({ bearerToken: (await config.token!())!.reveal(), tlsClientConfig: tls });
      const labels = { "argocd.argoproj.io/secret-type": "cluster" };
      const metadata = { name: `cluster-${name}`, namespace: NAMESPACE, labels };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData: { name, server, config: text } };
      value(await client.create(RESOURCES.secret, secret));
    },
    app: async (name, { path = ".", repo: repository = "repo", ...spec }, metadata = {}) => {
      const app = {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata: { name, namespace: NAMESPACE, ...metadata },
        spec: {
          project: "default",
          source: { repoURL: git.cloneUrl(repository), path, targetRevision: "main" },
          destination: { name: "in-cluster", namespace: name },
          // No controller-manager runs, so a deletion in the foreground would not end.
          syncPolicy: {
            automated: { prune: true, selfHeal: true },
            syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"],
          },
          ...spec,
        },
      };
      return value(await client.create(RESOURCES.application, app)) as Application;
    },
    get: (name) => read(name),
    until: async (name, check, what = "as expected", namespace = NAMESPACE) => {
      const deadline = Date.now() + DEADLINE_MS;
      let app: Application | undefined;
      while (Date.now() < deadline) {
        app = await read(name, namespace);
        if (check(app)) return app;
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      throw new Error(
        `application ${name} was not ${what} within ${DEADLINE_MS / 1_000} s: ${JSON.stringify(app?.status, null, 1)}`,
      );
    },
    settled: async (check, what) => {
      const deadline = Date.now() + DEADLINE_MS;
      while (!(await check())) {
        if (Date.now() > deadline) throw new Error(`not ${what} within ${DEADLINE_MS / 1_000} s`);
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    },
    refresh: async (name, kind = "normal", namespace = NAMESPACE) => {
      const patch = { metadata: { annotations: { "argocd.argoproj.io/refresh": kind } } };
      value(await client.mergePatch(RESOURCES.application, namespace, name, patch));
      await made.until(
        name,
        (app) => app.metadata.annotations?.["argocd.argoproj.io/refresh"] === undefined,
        "refreshed",
        namespace,
      );
    },
    object: async (resource, namespace, name) => {
      const got = await client.get(resource, namespace, name);
      return got.kind === "done" ? got.value : undefined;
    },
    stop: async () => {
      await stopController();
      repo.close();
      await client.close();
      await git.stop();
      await api.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return made;
}

async function installCrds(client: KubeClient): Promise<void> {
  const folder = new URL("../../server/agent/crds/", import.meta.url);
  for (const file of readdirSync(folder)) {
    const crd = parse(readFileSync(new URL(file, folder), "utf8")) as KubeObject;
    value(await client.apply(CRD, crd));
  }
  // Established means served: until then a watch of it is answered with 404.
  const deadline = Date.now() + DEADLINE_MS;
  while (Date.now() < deadline) {
    if ((await client.list(RESOURCES.application, { namespace: NAMESPACE })).kind === "done") return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the Application kind was not established");
}

export const synced = (app: Application): boolean =>
  app.status?.sync?.status === "Synced" && app.status?.operationState?.phase === "Succeeded";
export const condition = (app: Application, reason: string) => app.status?.conditions?.find((c) => c.reason === reason);

export async function project(
  w: World,
  name: string,
  spec: object,
  labels: Record<string, string> = {},
): Promise<void> {
  const metadata = { name, namespace: w.namespace, labels };
  value(
    await w.client.apply(RESOURCES.appProject, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata,
      spec,
    }),
  );
}

/** Writes a ConfigMap of the installation's settings; what is left out is gone. */
export async function settings(w: World, name: string, data: Record<string, string>): Promise<void> {
  const metadata = { name, namespace: w.namespace, labels: { "app.kubernetes.io/part-of": "argocd" } };
  value(await w.client.apply(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata, data }));
}

/** Four objects as in the benchmark: ServiceAccount, ConfigMap, headless Service, Deployment without replicas. */
export function fourObjects(rev = "1"): string {
  return `apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {rev: "${rev}"}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80, name: http}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      serviceAccountName: web
      containers: [{name: web, image: "registry.example/web:1", ports: [{containerPort: 80}], resources: {limits: {cpu: "0.1", memory: 64Mi}}}]
`;
}

export const configMap = (name: string, data: Record<string, string>, extra = ""): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}${extra}}\ndata: ${JSON.stringify(data)}\n`;
