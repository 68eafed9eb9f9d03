import { readFileSync } from "node:fs";
import type { Application } from "../../server/agent/controller/application.ts";
import { Controller } from "../../server/agent/controller/loop/controller.ts";
import { serve } from "../../server/agent/link/session.ts";
import type { RepoService } from "../../server/agent/repo/service.ts";
import { agentsOf } from "../../server/control/testing/agents.ts";
import { startService, type TestService } from "../../server/control/testing/service.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { parseKubeconfig } from "../../server/kube/config.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, synced, value, type World, world } from "./engine-world.ts";

/** The service, two agents in two namespaces of one API server, each with its controller, and a Git server: all of them real. */
const B = "outpost-agent-b";
const quiet = { info() {}, warn() {}, error() {}, debug() {}, child: () => quiet } as never;
const abort = new AbortController();
const running: Promise<unknown>[] = [];
let w: World;
let s: TestService;
let second: Controller;
const clients: KubeClient[] = [];

const own = () => parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8"));
const { put, tokenOf } = agentsOf(() => s);
const unused = new Proxy(
  {},
  { get: () => async () => ({ kind: "stop", reason: "Unused", message: "nothing is rendered here" }) },
) as RepoService;

beforeAll(async () => {
  [w, s] = await Promise.all([world(), startService()]);
  value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: B } }));
  for (const [agent, namespace] of [
    ["a", w.namespace],
    ["b", B],
  ] as const) {
    await put(`/v1/agents/${agent}`, { namespace });
    const client = new KubeClient(own());
    clients.push(client);
    const env = { OUTPOST_TOKEN: await tokenOf(agent), POD_NAME: agent };
    running.push(
      serve({
        endpoint: s.url,
        env,
        client,
        namespace,
        repo: unused,
        version: "0.1.0",
        log: quiet,
        signal: abort.signal,
        waitSeconds: 2,
      }),
    );
  }
  const home = new KubeClient(own());
  clients.push(home);
  const { repo } = w;
  second = new Controller({ home, namespace: B, repo, lookup: async () => repo, log: quiet, signal: abort.signal });
  await second.start();
  await w.git.createRepository("app", { files: { "cm.yaml": configMap("kept", { a: "1" }) } });
}, 180_000);
afterAll(async () => {
  abort.abort();
  await second?.stop();
  await Promise.all(running);
  for (const client of clients) await client.close();
  await s?.stop();
  await w?.stop();
}, 60_000);

const spec = (agent: string, namespace: string, more: object = {}) => ({
  agent,
  source: { repoUrl: w.git.cloneUrl("app"), path: ".", targetRevision: "main" },
  destination: { namespace, ...more },
  syncPolicy: {
    automated: { prune: true, selfHeal: true },
    syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"],
  },
});
const application = async (namespace: string, name: string) =>
  (await w.object(RESOURCES.application, namespace, name)) as Application | undefined;
const isSynced = (namespace: string, name: string) => async () => {
  const app = await application(namespace, name);
  return app !== undefined && synced(app) === true;
};

/** Whether it found what the other agent deployed equal to Git. It need not sync for that, so there may be no operation. */
const isTaken = (namespace: string, name: string) => async () => {
  const { operation, status } = (await application(namespace, name)) ?? {};
  return operation === undefined && status?.sync?.status === "Synced" && status.health?.status === "Healthy";
};

test("an application moves to another agent: the first gives it up, the second takes it over, and what it deployed is never deleted", async () => {
  expect((await put("/v1/applications/moved", spec("a", "moved"))).status).toBe(201);
  await w.settled(isSynced(w.namespace, "moved"), "synced by the first agent");
  const before = (await w.object(CONFIG_MAP, "moved", "kept"))!;
  expect((await put("/v1/applications/moved?move=true", spec("b", "moved"))).status).toBe(200);
  await w.settled(async () => (await application(w.namespace, "moved")) === undefined, "given up by the first agent");
  await w.settled(isTaken(B, "moved"), "synced by the second agent");
  const after = (await w.object(CONFIG_MAP, "moved", "kept"))!;
  expect(after.metadata.uid).toBe(before.metadata.uid);
  // The second agent keeps it now: what Git changes, it writes.
  await w.git.commit("app", { "cm.yaml": configMap("kept", { a: "2" }) }, "change");
  value(
    await w.client.mergePatch(RESOURCES.application, B, "moved", {
      metadata: { annotations: { "argocd.argoproj.io/refresh": "normal" } },
    }),
  );
  await w.settled(
    async () => ((await w.object(CONFIG_MAP, "moved", "kept"))?.data as { a?: string } | undefined)?.a === "2",
    "written by the second",
  );
  expect((await s.ask("GET", "/v1/applications/moved")).body.status.delivery).toEqual({ state: "Delivered" });
}, 180_000);

test("a set moves to another agent, and what its applications deployed stays", async () => {
  const set = (agent: string) => ({
    agent,
    generators: [{ list: { elements: [{ name: "of-set" }] } }],
    template: {
      metadata: { name: "{{ .name }}", finalizers: ["resources-finalizer.argocd.argoproj.io"] },
      spec: {
        project: "default",
        source: { repoURL: w.git.cloneUrl("app"), path: ".", targetRevision: "main" },
        destination: { name: "in-cluster", namespace: "{{ .name }}" },
        syncPolicy: {
          automated: { prune: true },
          syncOptions: ["CreateNamespace=true", "PrunePropagationPolicy=background"],
        },
      },
    },
  });
  const resource = { ...RESOURCES.application, kind: "ApplicationSet", plural: "applicationsets" };
  const held = (namespace: string) => w.object(resource, namespace, "set");
  expect((await put("/v1/applicationsets/set", set("a"))).body.code).toBeUndefined();
  await w.settled(async () => (await held(w.namespace)) !== undefined, "delivered to the first agent");
  // The application as the set's controller makes it.
  const { apiVersion, kind, metadata } = (await held(w.namespace))!;
  const owner = { apiVersion, kind, name: "set", uid: metadata.uid!, controller: true };
  await w.app(
    "of-set",
    { repo: "app" },
    { ownerReferences: [owner], finalizers: ["resources-finalizer.argocd.argoproj.io"] },
  );
  await w.settled(isSynced(w.namespace, "of-set"), "synced by the first agent");
  const before = (await w.object(CONFIG_MAP, "of-set", "kept"))!;
  expect((await put("/v1/applicationsets/set?move=true", set("b"))).status).toBe(200);
  await w.settled(async () => (await held(w.namespace)) === undefined, "given up by the first agent");
  expect((await application(w.namespace, "of-set"))?.metadata.finalizers ?? []).toEqual([]);
  // No controller-manager runs: the cluster would remove the applications of a set that is gone.
  value(await w.client.delete(RESOURCES.application, w.namespace, "of-set"));
  await w.settled(async () => (await held(B)) !== undefined, "delivered to the second agent");
  await w.settled(async () => (await application(w.namespace, "of-set")) === undefined, "gone from the first agent");
  expect((await w.object(CONFIG_MAP, "of-set", "kept"))?.metadata.uid).toBe(before.metadata.uid);
}, 180_000);

test("a cluster's address changes under its application: the application follows, and nothing is deleted or made again", async () => {
  const config = own();
  const cluster = async (server: string, version: string) => ({
    agent: "a",
    server,
    caData: config.ca!.toString(),
    serverName: "127.0.0.1",
    credentials: { bearerToken: (await config.token!())!.reveal() },
    credentialsVersion: version,
  });
  const { port } = new URL(config.server);
  expect((await put("/v1/clusters/edge", await cluster(`https://127.0.0.1:${port}`, "1"))).body.code).toBeUndefined();
  expect((await put("/v1/applications/follows", spec("a", "follows", { cluster: "edge" }))).status).toBe(201);
  await w.settled(isSynced(w.namespace, "follows"), "synced at the first address");
  const [app, object] = [
    (await application(w.namespace, "follows"))!,
    (await w.object(CONFIG_MAP, "follows", "kept"))!,
  ];
  expect((await put("/v1/clusters/edge", await cluster(`https://localhost:${port}`, "2"))).status).toBe(200);
  await w.git.commit("app", { "cm.yaml": configMap("kept", { a: "3" }) }, "change");
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "follows", {
      metadata: { annotations: { "argocd.argoproj.io/refresh": "normal" } },
    }),
  );
  await w.settled(
    async () => ((await w.object(CONFIG_MAP, "follows", "kept"))?.data as { a?: string } | undefined)?.a === "3",
    "written at the new one",
  );
  expect((await application(w.namespace, "follows"))!.metadata.uid).toBe(app.metadata.uid);
  expect((await w.object(CONFIG_MAP, "follows", "kept"))!.metadata.uid).toBe(object.metadata.uid);
  const secret = (await w.object(RESOURCES.secret, w.namespace, "cluster-edge"))!;
  expect(Buffer.from((secret.data as Record<string, string>).server!, "base64").toString()).toBe(
    `https://localhost:${port}`,
  );
}, 180_000);
