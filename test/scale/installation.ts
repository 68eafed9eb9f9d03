import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { Application } from "../../server/agent/controller/application.ts";
import type { Outcome } from "../../server/base/outcome.ts";
import { repositoryKey } from "../../server/base/repository-key.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { watch } from "../../server/kube/watch.ts";
import { type ApiServer, startApiServer, toolPath } from "../cluster/apiserver.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { type RedisServer, startRedis } from "../servers/redis.ts";
import { type Daemon, daemon, freePort, ready } from "../servers/run.ts";

/** Controller, repo server and cache as the processes they are in an installation, between a real API server and a real Git server. */
export interface Installation {
  api: ApiServer;
  git: GitServer;
  client: KubeClient;
  namespace: string;
  /** Applications as their watch shows them. */
  apps: Map<string, Application>;
  /** Resolves when `holds` does, looked at after each event. */
  when(what: string, holds: () => boolean, deadlineMs?: number): Promise<void>;
  app(name: string, repo: string, path: string, spec?: Partial<Application["spec"]>): Promise<void>;
  /** What a webhook becomes in the cluster. */
  hint(repo: string): Promise<void>;
  refresh(name: string): Promise<void>;
  /** CPU seconds so far: of ours with all their children, and of the API server with its store. */
  cpu(): { ours: number; controller: number; repo: number; git: number; api: number };
  /** Resident MiB of each of ours. */
  memory(): Record<string, number>;
  /** The programs as they run now, and the folder of what they write: mirrors, and everything for a moment. */
  programs(): { controller: Daemon; repo: Daemon };
  folder: string;
  /** Kills the repo server without warning and starts another one. */
  replaceRepo(): Promise<void>;
  stop(): Promise<void>;
}

export const NAMESPACE = "outpost-agent";
const DIST = new URL("../../dist/outpost.mjs", import.meta.url).pathname;
const CRD: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
};

export function value<T>(outcome: Outcome<T>): T {
  if (outcome.kind !== "done") throw new Error(`${outcome.reason}: ${outcome.message}`);
  return outcome.value;
}

export async function installation(env: NodeJS.ProcessEnv = {}): Promise<Installation> {
  const [api, git] = await Promise.all([startApiServer(), startGit()]);
  const redis = await startRedis().catch(() => undefined);
  const folder = mkdtempSync(join(tmpdir(), "outpost-scale-"));
  const client = new KubeClient(parseKubeconfig(readFileSync(api.kubeconfig, "utf8")));
  await prepare(client);
  mkdirSync(join(folder, "tmp"));
  writeFileSync(join(folder, "token"), randomBytes(32).toString("hex"), { mode: 0o600 });
  const [health, socket] = [await freePort(), join(folder, "repo.sock")];
  const shared = {
    PATH: process.env.PATH,
    HOME: folder,
    TMPDIR: join(folder, "tmp"),
    OUTPOST_LOG_LEVEL: process.env.DEBUG ? "warn" : "fatal",
    OUTPOST_REPO_TOKEN_FILE: join(folder, "token"),
    OUTPOST_HELM: toolPath("helm"),
    OUTPOST_KUSTOMIZE: toolPath("kustomize"),
    OUTPOST_JSONNET: toolPath("jsonnet"),
    ...env,
  };
  const profile = (name: string) =>
    process.env.PROFILE ? ["--cpu-prof", `--cpu-prof-dir=${process.env.PROFILE}/${name}`] : [];
  const startRepo = () =>
    daemon(process.execPath, [...profile("repo"), DIST, "repo-server"], {
      env: {
        ...shared,
        OUTPOST_REPO_LISTEN: `unix:${socket}`,
        OUTPOST_WORK: join(folder, "mirrors"),
        REDIS_URL: redis?.url,
      },
      deathSignal: "TERM",
    });
  let repo = startRepo();
  const controller = daemon(process.execPath, [...profile("controller"), DIST, "controller"], {
    env: {
      ...shared,
      KUBECONFIG: api.kubeconfig,
      POD_NAMESPACE: NAMESPACE,
      OUTPOST_REPO_URL: `unix:${socket}`,
      OUTPOST_HEALTH_LISTEN: `127.0.0.1:${health}`,
    },
    deathSignal: "TERM",
  });
  await ready(
    "the controller",
    controller,
    async () => (await fetch(`http://127.0.0.1:${health}/readyz`).catch(() => undefined))?.ok === true,
  );
  const seen = await follow(client);
  const made: Installation = {
    api,
    git,
    client,
    namespace: NAMESPACE,
    apps: seen.apps,
    when: seen.when,
    app: async (name, repository, path, spec = {}) => {
      const app = {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "Application",
        metadata: { name, namespace: NAMESPACE },
        spec: {
          project: "default",
          source: { repoURL: git.cloneUrl(repository), path, targetRevision: "main" },
          destination: { name: "in-cluster", namespace: name },
          syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: ["CreateNamespace=true"] },
          ...spec,
        },
      };
      value(await client.create(RESOURCES.application, app));
    },
    hint: async (repository) => {
      const url = git.cloneUrl(repository);
      const data = {
        [repositoryKey(url)!.replace(/[^a-z0-9.-]/g, "-")]: JSON.stringify({ url, at: new Date().toISOString() }),
      };
      const patched = await client.mergePatch(RESOURCES.configMap, NAMESPACE, "outpost-hints", { data });
      value(patched);
    },
    refresh: async (name) => {
      const patch = { metadata: { annotations: { "argocd.argoproj.io/refresh": "normal" } } };
      value(await client.mergePatch(RESOURCES.application, NAMESPACE, name, patch));
    },
    cpu: () => {
      const [one, two] = [cpuOf(controller.child.pid!), cpuOf(repo.child.pid!)];
      const api_ = cpuOf(api.pids.apiserver).own + cpuOf(api.pids.etcd).own;
      return {
        ours: one.own + two.own + one.children + two.children,
        controller: one.own,
        repo: two.own,
        git: two.children,
        api: api_,
      };
    },
    memory: () => memoryOf({ controller, "repo server": repo }, redis),
    programs: () => ({ controller, repo }),
    folder,
    replaceRepo: async () => {
      await repo.stop("SIGKILL");
      repo = startRepo();
    },
    stop: async () => {
      seen.end();
      await Promise.all([controller.stop(), repo.stop()]);
      await redis?.stop();
      await client.close();
      await git.stop();
      await api.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await first(made);
  return made;
}

/** The API server takes two seconds for the first event of a kind that was defined a moment ago; a user's applications are not that new. */
async function first({ app, apps, when, client }: Installation): Promise<void> {
  await app("first", "nowhere", "x");
  await when("the first application is looked at", () => (apps.get("first")?.status?.conditions ?? []).length > 0);
  value(await client.delete(RESOURCES.application, NAMESPACE, "first"));
  await when("the first application is gone", () => !apps.has("first"));
}

async function prepare(client: KubeClient): Promise<void> {
  const folder = new URL("../../server/agent/crds/", import.meta.url);
  for (const file of readdirSync(folder))
    value(await client.apply(CRD, parse(readFileSync(new URL(file, folder), "utf8")) as KubeObject));
  value(
    await client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }),
  );
  const labels = { "app.kubernetes.io/part-of": "argocd" };
  const hints = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "outpost-hints", namespace: NAMESPACE, labels },
  };
  value(await client.create(RESOURCES.configMap, hints));
  const deadline = Date.now() + 20_000;
  while ((await client.list(RESOURCES.application, { namespace: NAMESPACE })).kind !== "done") {
    if (Date.now() > deadline) throw new Error("the Application kind was not established");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The applications, kept true by a watch. */
async function follow(client: KubeClient) {
  const apps = new Map<string, Application>();
  const waiting = new Set<() => void>();
  const abort = new AbortController();
  const told = () => {
    for (const look of [...waiting]) look();
  };
  await new Promise<void>((resolve) => {
    void watch({
      client,
      resource: RESOURCES.application,
      namespace: NAMESPACE,
      signal: abort.signal,
      replace: (all) => {
        for (const app of all) apps.set(app.metadata.name, app as Application);
        told();
        resolve();
      },
      change: (type, object) => {
        if (type === "DELETED") apps.delete(object.metadata.name);
        else apps.set(object.metadata.name, object as Application);
        told();
      },
    });
  });
  const when = (what: string, holds: () => boolean, deadlineMs = 180_000) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => end(new Error(`not within ${deadlineMs / 1_000} s: ${what}`)), deadlineMs);
      const look = () => holds() && end();
      const end = (error?: Error) => {
        clearTimeout(timer);
        waiting.delete(look);
        if (error) reject(error);
        else resolve();
      };
      waiting.add(look);
      look();
    });
  return { apps, when, end: () => abort.abort() };
}

/** Of a process, and of its children that have ended: git, helm. */
export function cpuOf(pid: number): { own: number; children: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const of = (a: number, b: number) => (Number(fields[a]) + Number(fields[b])) / 100;
  return { own: of(11, 12), children: of(13, 14) };
}

export function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1_024;
}

function memoryOf(processes: Record<string, Daemon>, redis: RedisServer | undefined): Record<string, number> {
  const all = Object.entries(processes).map(([name, { child }]) => [name, Math.round(rssOf(child.pid!))] as const);
  return { ...Object.fromEntries(all), ...(redis ? {} : { "cache (in the repo server)": 0 }) };
}
