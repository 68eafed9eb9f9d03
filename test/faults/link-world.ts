import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { findHelm } from "../../modules/generate/helm.ts";
import { helmTemplate } from "../../modules/generate/manifests.ts";
import { createOutpostClient, type OutpostClient, type Schemas } from "../../openapi/client.ts";
import { seal } from "../../openapi/seal.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { type ApiServer, startApiServer } from "../cluster/apiserver.ts";
import { type Daemon, daemon, freePort, ready, until } from "../servers/run.ts";

const root = new URL("../..", import.meta.url).pathname;
const NAMESPACE = "outpost-agent";
const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

/** The real service as a process of its own, which can be killed and started again on the same data. */
export interface Service {
  url: string;
  port: number;
  api: OutpostClient;
  process: Daemon;
  /** Its store. */
  folder: string;
  apiKey: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startService(more: NodeJS.ProcessEnv = {}): Promise<Service> {
  const dir = mkdtempSync(join(tmpdir(), "outpost-service-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const spawn = async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      OUTPOST_LISTEN: `127.0.0.1:${port}`,
      OUTPOST_DATA: dir,
      OUTPOST_LOG_LEVEL: "warn",
      ...more,
    };
    const started = daemon(process.execPath, [join(root, "dist/outpost.mjs"), "server"], { env });
    await ready(
      "the service",
      started,
      async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true,
      60_000,
    );
    return started;
  };
  const service: Service = {
    url,
    port,
    folder: dir,
    apiKey: "",
    process: await spawn(),
    api: createOutpostClient({ endpoint: url }),
    kill: () => service.process.stop("SIGKILL"),
    start: async () => {
      service.process = await spawn();
    },
    stop: async () => {
      await service.process.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  const apiKey = readFileSync(join(dir, "admin-key"), "utf8").trim();
  Object.assign(service, { apiKey, api: createOutpostClient({ endpoint: url, apiKey }) });
  return service;
}

/** A program of ours from the bundle, with nothing of this process's environment but what it needs. It leaves this machine's routing alone. */
export function program(args: string[], env: NodeJS.ProcessEnv): Daemon {
  const { PATH, HOME } = process.env;
  return daemon(process.execPath, [join(root, "dist/outpost.mjs"), ...args], {
    env: { PATH, HOME, OUTPOST_ALLOW_METADATA: "true", ...env },
  });
}

export interface LinkWorld {
  service: Service;
  cluster: ApiServer;
  kube: KubeClient;
  namespace: string;
  agent: Daemon;
  startAgent(env?: NodeJS.ProcessEnv): void;
  /** What the link is started with where the agent is as installed. */
  installed: NodeJS.ProcessEnv;
  /** Creates or replaces an application of two ConfigMaps' worth of specification; nothing renders it here. */
  putApplication(id: string, path?: string): Promise<Schemas["Application"]>;
  application(id: string): Promise<Schemas["Application"] | undefined>;
  cr(name: string): Promise<KubeObject | undefined>;
  sealKey(): Promise<NonNullable<Schemas["AgentStatus"]["sealKey"]>>;
  /** Seals credentials for the object of this specification. */
  seal(
    collection: "repositories" | "clusters",
    id: string,
    spec: Record<string, unknown>,
    credentials: Record<string, unknown>,
  ): Promise<Schemas["SealedEnvelope"]>;
  stop(): Promise<void>;
}

/** Service, API server and agent, all real; the Applications have no controller unless a test plays it. */
export async function linkWorld(args: string[] = ["agent"], { audit = false } = {}): Promise<LinkWorld> {
  const [service, cluster] = await Promise.all([startService(), startApiServer({ audit })]);
  const kube = new KubeClient(parseKubeconfig(readFileSync(cluster.kubeconfig, "utf8")));
  const crds = join(root, "server/agent/crds");
  for (const file of readdirSync(crds)) must(await kube.create(CRD, parse(readFileSync(join(crds, file), "utf8"))));
  must(await kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }));
  await until(
    "the kind Application",
    async () => (await kube.list(RESOURCES.application, { namespace: NAMESPACE })).kind === "done",
    20_000,
  );
  ok(
    await service.api.PUT("/v1/agents/{id}", {
      params: { path: { id: "one" } },
      body: { spec: { mode: "cluster", namespace: NAMESPACE } },
    }),
  );
  const { token } = ok(await service.api.POST("/v1/agents/{id}/tokens", { params: { path: { id: "one" } }, body: {} }));

  const agentEnv: NodeJS.ProcessEnv = {
    OUTPOST_ENDPOINT: service.url,
    OUTPOST_TOKEN: token,
    KUBECONFIG: cluster.kubeconfig,
    POD_NAMESPACE: NAMESPACE,
  };
  const w: LinkWorld = {
    service,
    cluster,
    kube,
    namespace: NAMESPACE,
    agent: program(args, agentEnv),
    installed: {},
    startAgent: (env = {}) => {
      w.agent = program(args, { ...agentEnv, ...env });
    },
    putApplication: async (id, path = "guestbook") => {
      const spec = {
        agent: "one",
        argoProject: "default",
        revisionHistoryLimit: 10,
        source: { repoUrl: "https://git.example.com/apps.git", path },
        destination: { namespace: "default" },
      };
      return ok(await service.api.PUT("/v1/applications/{id}", { params: { path: { id } }, body: { spec } }));
    },
    application: async (id) => (await service.api.GET("/v1/applications/{id}", { params: { path: { id } } })).data,
    cr: async (name) => {
      const found = await kube.get(RESOURCES.application, NAMESPACE, name);
      return found.kind === "done" ? found.value : undefined;
    },
    sealKey: async () => {
      const agent = ok(await service.api.GET("/v1/agents/{id}", { params: { path: { id: "one" } } }));
      return agent.status.sealKey!;
    },
    seal: async (collection, id, spec, credentials) =>
      seal(await w.sealKey(), { account: "default", collection, id }, spec, credentials),
    stop: async () => {
      await w.agent.stop();
      await service.stop();
      await kube.close();
      await cluster.stop();
    },
  };
  await until(
    `the agent to connect`,
    async () => {
      if (w.agent.ended()) throw new Error(`the agent ended: ${w.agent.said()}`);
      return (await service.api.GET("/v1/agents/{id}", { params: { path: { id: "one" } } })).data?.status.connected;
    },
    30_000,
  ).catch(async (error) => {
    const said = w.agent.said();
    await w.stop();
    throw new Error(`${error.message}; the agent said:\n${said}`);
  });
  return w;
}

const RBAC = "rbac.authorization.k8s.io";
const rbac = (kind: string): Resource => ({
  group: RBAC,
  version: "v1",
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: !kind.startsWith("Cluster"),
});

/** Gives rights in a namespace, or in the whole cluster. */
export async function grant(
  kube: KubeClient,
  namespace: string | undefined,
  name: string,
  subject: object,
  rules: object[],
): Promise<void> {
  const role = namespace ? "Role" : "ClusterRole";
  const [apiVersion, metadata] = [`${RBAC}/v1`, { name, ...(namespace ? { namespace } : {}) }];
  must(await kube.create(rbac(role), { apiVersion, kind: role, metadata, rules } as KubeObject));
  const binding = {
    apiVersion,
    kind: `${role}Binding`,
    metadata,
    roleRef: { apiGroup: RBAC, kind: role, name },
    subjects: [subject],
  };
  must(await kube.create(rbac(`${role}Binding`), binding as KubeObject));
}

/** The link and the controller as the chart installs them: two programs, each with its own account and the chart's own roles for it. */
export async function asInstalled(w: LinkWorld): Promise<Daemon> {
  const charts = join(root, "modules/charts/outpost-agent");
  const manifests = helmTemplate(findHelm(), charts, "outpost-agent", w.namespace, { endpoint: w.service.url });
  for (const object of manifests.filter(({ kind }) => kind === "ServiceAccount"))
    must(await w.kube.create(SERVICE_ACCOUNT, object as KubeObject));
  for (const object of manifests.filter(({ apiVersion }) => apiVersion.startsWith(RBAC)))
    must(await w.kube.create(rbac(object.kind), object as KubeObject));
  const folder = mkdtempSync(join(tmpdir(), "outpost-installed-"));
  const token = join(folder, "reads-token");
  writeFileSync(token, "shared-by-the-link-and-the-controller", { mode: 0o600 });
  const listen = `127.0.0.1:${await freePort()}`;
  await w.agent.stop();
  w.installed = {
    KUBECONFIG: await kubeconfigOf(w, folder, "outpost-agent"),
    OUTPOST_CONTROLLER_URL: `http://${listen}`,
    OUTPOST_READS_TOKEN_FILE: token,
  };
  w.startAgent(w.installed);
  const controller = program(["controller"], {
    KUBECONFIG: await kubeconfigOf(w, folder, "outpost-agent-controller"),
    POD_NAMESPACE: w.namespace,
    OUTPOST_LEADER_ELECTION: "false",
    OUTPOST_READS_LISTEN: listen,
    OUTPOST_READS_TOKEN_FILE: token,
  });
  const stop = async () => {
    await controller.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return Object.assign(Object.create(controller) as Daemon, { stop });
}

const SERVICE_ACCOUNT: Resource = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
};

/** A kubeconfig of a service account, with a token that the API server made for it. */
export async function kubeconfigOf(
  w: Pick<LinkWorld, "kube" | "cluster" | "namespace">,
  folder: string,
  account: string,
): Promise<string> {
  const path = `/api/v1/namespaces/${w.namespace}/serviceaccounts/${account}/token`;
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const made = must(await w.kube.json<KubeObject>("POST", path, { body }));
  const config = JSON.parse(readFileSync(w.cluster.kubeconfig, "utf8"));
  config.users[0].user = { token: made.status.token };
  const file = join(folder, `${account}.kubeconfig`);
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

/** What an operation answered, or an error with its problem. */
export function ok<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  if (!answer.response.ok)
    throw new Error(`${answer.response.url} answered ${answer.response.status}: ${JSON.stringify(answer.error)}`);
  return answer.data as T;
}

export function must<T>(outcome: { kind: string; value?: T; message?: string }): T {
  if (outcome.kind !== "done") throw new Error(outcome.message);
  return outcome.value as T;
}
