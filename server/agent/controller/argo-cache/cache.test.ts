import { Redis } from "ioredis";
import { Registry } from "prom-client";
import { type RedisServer, startRedis } from "../../../../test/servers/redis.ts";
import { until } from "../../../../test/servers/run.ts";
import { KubeClient } from "../../../kube/client.ts";
import type { Application } from "../application.ts";
import { Repositories } from "../config/repositories.ts";
import type { Deps } from "../deps.ts";
import { Destinations } from "../destination.ts";
import { remember } from "../memory.ts";
import { Projects } from "../projects.ts";
import { Settings } from "../settings.ts";
import { Store } from "../status/store.ts";
import { ArgoCache } from "./cache.ts";

const NAMESPACE = "outpost-agent";
const quiet = { info: () => {}, warn: () => {}, error: () => {} };
let redis: RedisServer;
let home: KubeClient;
const abort = new AbortController();
beforeAll(async () => {
  redis = await startRedis();
  // No cluster is needed: the applications name one that is not there.
  home = new KubeClient({ server: "http://127.0.0.1:1", insecure: false } as ConstructorParameters<
    typeof KubeClient
  >[0]);
}, 30_000);
afterAll(async () => {
  abort.abort();
  await home?.close();
  await redis?.stop();
}, 30_000);

const app = (name: string) =>
  ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name, namespace: NAMESPACE, uid: name, resourceVersion: "1" },
    spec: {
      project: "default",
      source: { repoURL: "https://h/x", path: "." },
      destination: { name: "nowhere", namespace: name },
    },
  }) as Application;

test("an application that goes away before it is written holds up no other", async () => {
  const settings = new Settings();
  const destinations = new Destinations({
    home,
    own: NAMESPACE,
    settings,
    namespaces: [],
    changed: () => {},
    signal: abort.signal,
  });
  const store = new Store(home, NAMESPACE);
  const projects = new Projects();
  projects.replace([]);
  const deps = {
    home,
    namespace: NAMESPACE,
    repositories: new Repositories(),
    projects,
    settings,
    destinations,
    store,
    memory: new Map(),
    log: quiet,
    now: Date.now,
  } as unknown as Deps;
  const cache = new ArgoCache({ deps, owns: () => true, first: false, registry: new Registry() });
  const reader = new Redis({ port: redis.port });
  try {
    const data = { "redis.server": `127.0.0.1:${redis.port}` };
    cache.configure([{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "argocd-cmd-params-cm" }, data }]);
    for (const name of ["gone", "there"]) {
      store.seen(app(name));
      remember(deps, name);
      cache.changed(name);
    }
    store.gone("gone");
    await until(
      "the tree of the application that is there",
      async () => (await reader.exists("app|resources-tree|there|1.8.3.gz")) === 1,
    );
    expect(await reader.keys("app|*|gone|*")).toEqual([]);
  } finally {
    await cache.stop();
    reader.disconnect();
    await destinations.close();
  }
}, 20_000);
