import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RedisCache } from "../../server/agent/cache/redis.ts";
import type { Application } from "../../server/agent/controller/application.ts";
import { startEngine } from "../../server/agent/controller/engine.ts";
import { RBAC } from "../../server/agent/rbac.ts";
import { RepoClient } from "../../server/agent/repo/client.ts";
import { repoServer } from "../../server/agent/repo/server.ts";
import { RepoService } from "../../server/agent/repo/service.ts";
import { Secret } from "../../server/base/secret.ts";
import { KubeClient } from "../../server/kube/client.ts";
import { loadConfig, parseKubeconfig } from "../../server/kube/config.ts";
import { withLease } from "../../server/kube/lease.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { startRedis } from "../servers/redis.ts";
import { until } from "../servers/run.ts";
import {
  CONFIG_MAP,
  condition,
  configMap,
  DEPLOYMENT,
  fourObjects,
  synced,
  value,
  type World,
  world,
} from "./engine-world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  kind,
  plural,
  namespaced,
});
async function grant(namespace: string | undefined, rules: object[], name = "limited"): Promise<void> {
  const kind = namespace ? "Role" : "ClusterRole";
  const apiVersion = "rbac.authorization.k8s.io/v1";
  value(
    await w.client.apply(rbac(kind, `${kind.toLowerCase()}s`, Boolean(namespace)), {
      apiVersion,
      kind,
      metadata: { name, namespace },
      rules,
    }),
  );
  value(
    await w.client.apply(rbac(`${kind}Binding`, `${kind.toLowerCase()}bindings`, Boolean(namespace)), {
      apiVersion,
      kind: `${kind}Binding`,
      metadata: { name, namespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name },
      subjects: [{ kind: "User", name: "limited", apiGroup: "rbac.authorization.k8s.io" }],
    }),
  );
}
const limited = () => parseKubeconfig(readFileSync(w.api.kubeconfigFor("limited"), "utf8"));

describe("rights", () => {
  afterAll(() => w.restart());
  test("with no more than the table says everything works, and what is forbidden is said by name", async () => {
    await w.git.createRepository("rights", {
      files: { "a.yaml": configMap("a", { a: "1" }), "d.yaml": fourObjects() },
    });
    value(
      await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "rights" } }),
    );
    const { own, managed } = RBAC.controller;
    await grant(w.namespace, own, "own");
    // A cluster administrator may give less than the table: here ConfigMaps and ServiceAccounts to see, only ConfigMaps to write.
    await grant(undefined, [
      { apiGroups: [""], resources: ["configmaps", "serviceaccounts", "services"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: managed[0]!.verbs },
    ]);
    await w.restart({ config: limited() });
    await w.app("rights", { repo: "rights", syncPolicy: { automated: { prune: true }, retry: { limit: 0 } } });
    // Deployments cannot even be seen: nothing is known of them, and nothing is done with them.
    const unseen = (app: Application) =>
      app.status?.conditions?.find((c) => c.message.includes("apps/Deployment cannot be watched"));
    const blind = await w.until(
      "rights",
      (app) => unseen(app) !== undefined && app.status?.operationState?.phase === "Failed",
      "told",
    );
    expect(unseen(blind)).toMatchObject({ type: "ComparisonError", reason: "Forbidden" });
    expect(blind.status?.resources).toContainEqual(expect.objectContaining({ kind: "Deployment", status: "Unknown" }));
    expect(await w.object(CONFIG_MAP, "rights", "a")).toBeDefined();
    // They can be seen, but not written: that object alone fails.
    await grant(
      undefined,
      [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"] }],
      "see-deployments",
    );
    const failed = await w.until(
      "rights",
      (app) =>
        app.status?.operationState?.syncResult?.resources?.some(
          (r) => r.kind === "Deployment" && r.status === "SyncFailed",
        ),
      "Failed",
    );
    const results = failed.status?.operationState?.syncResult?.resources ?? [];
    expect(results).toContainEqual(
      expect.objectContaining({ kind: "Deployment", status: "SyncFailed", reason: "Forbidden" }),
    );
    expect(results).toContainEqual(expect.objectContaining({ kind: "ConfigMap", name: "a", status: "Synced" }));
    // With the whole table it is done.
    await grant(undefined, managed, "managed");
    value(await w.client.mergePatch(RESOURCES.application, w.namespace, "rights", { operation: { sync: {} } }));
    await w.until("rights", synced);
  }, 60_000);
});

test("an application goes to another cluster by its Secret, and a changed Secret is a new connection", async () => {
  await w.git.createRepository("remote", { files: { "a.yaml": configMap("a", { a: "1" }) } });
  const config = parseKubeconfig(readFileSync(w.api.kubeconfig, "utf8"));
  const secretOf = (token: string) => ({
    name: "remote",
    server: w.api.url,
    config: JSON.stringify({
      bearerToken: token,
      tlsClientConfig: { caData: Buffer.from(config.ca!).toString("base64") },
    }),
  });
  const good = (await config.token!())!.reveal();
  const metadata = {
    name: "cluster-remote",
    namespace: w.namespace,
    labels: { "argocd.argoproj.io/secret-type": "cluster" },
  };
  value(
    await w.client.create(RESOURCES.secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      stringData: secretOf("wrong-canary"),
    }),
  );
  const app = await w.app("remote", { repo: "remote", destination: { name: "remote", namespace: "remote" } });
  const refused = await w.until("remote", (a) => condition(a, "Unauthorized") !== undefined, "refused");
  expect(JSON.stringify(refused)).not.toContain("canary");
  value(await w.client.mergePatch(RESOURCES.secret, w.namespace, "cluster-remote", { stringData: secretOf(good) }));
  await w.until("remote", synced);
  expect(app.spec.destination.server).toBeUndefined();
  expect(await w.object(CONFIG_MAP, "remote", "a")).toBeDefined();
});

test("manual applications see objects that are there already", async () => {
  await w.git.createRepository("adopt", { files: { "a.yaml": configMap("a", { a: "git" }) } });
  value(
    await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "adopt" } }),
  );
  value(
    await w.client.apply(CONFIG_MAP, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "a", namespace: "adopt" },
      data: { a: "hand", b: "kept" },
    }),
  );
  await w.app("adopt", { repo: "adopt", syncPolicy: {} });
  const before = await w.until("adopt", (app) => app.status?.sync?.status === "OutOfSync");
  expect(before.status?.health?.status).toBe("Healthy");
  value(await w.client.mergePatch(RESOURCES.application, w.namespace, "adopt", { operation: { sync: {} } }));
  await w.until("adopt", synced);
  expect((await w.object(CONFIG_MAP, "adopt", "a"))?.data).toMatchObject({ a: "git" });
});

test("a difference that is to be ignored is none", async () => {
  await w.git.createRepository("ignore", { files: { "all.yaml": fourObjects() } });
  await w.app("ignore", {
    repo: "ignore",
    ignoreDifferences: [{ group: "apps", kind: "Deployment", jsonPointers: ["/spec/replicas"] }],
  });
  await w.until("ignore", synced);
  value(await w.client.mergePatch(DEPLOYMENT, "ignore", "web", { spec: { replicas: 3 } }));
  await w.refresh("ignore", "hard");
  const app = await w.get("ignore");
  expect(app.status?.sync?.status).toBe("Synced");
  expect((await w.object(DEPLOYMENT, "ignore", "web"))?.spec.replicas).toBe(3);
});

test("the repo server over a sealed connection, with Redis behind it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "outpost-remote-repo-"));
  const redis = await startRedis();
  const secret = new Secret("0123456789abcdef0123456789abcdef");
  const cache = new RedisCache(redis.url, secret);
  const service = new RepoService({ folder, cache });
  await service.start();
  const server = repoServer(service, secret);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new RepoClient(address, secret);
  const stranger = new RepoClient(address, new Secret("another secret of some length"));
  try {
    await w.git.createRepository("sealed", { users: { ana: "pass" }, files: { "a.yaml": configMap("a", {}) } });
    const url = w.git.cloneUrl("sealed");
    const repo = { url, username: "ana", password: new Secret("pass") };
    const request = {
      app: { name: "a", namespace: "n", project: "default" },
      namespace: "d",
      sources: [{ source: { repoURL: url, path: "." }, repo }],
      freshness: "normal" as const,
    };
    const first = value(await client.render(request));
    expect(first.objects).toHaveLength(1);
    expect(Object.keys(value(await client.refs(repo)).branches)).toEqual(["main"]);
    expect(await stranger.render(request)).toMatchObject({
      kind: "again",
      reason: "RepoServerUnavailable",
      message: expect.stringContaining("shared secret"),
    });
    // Another replica finds the rendering in Redis; one with another secret finds nothing it would believe.
    const other = new RedisCache(redis.url, secret);
    const foreign = new RedisCache(redis.url, new Secret("another secret of some length"));
    expect(await until("the other replica to find it", () => other.get(first.key))).toEqual(first.objects);
    expect(await foreign.get(first.key)).toBeUndefined();
    await Promise.all([other.close(), foreign.close()]);
  } finally {
    await client.close();
    await stranger.close();
    await new Promise((resolve) => server.close(resolve));
    service.close();
    await cache.close();
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a specification of a shape nobody thought of stops only itself", async () => {
  await w.git.createRepository("poison", { files: { "a.yaml": configMap("a", {}) } });
  const poison = { syncPolicy: { automated: {}, syncOptions: 7 } } as never;
  await w.app("poison", { repo: "poison", ...(poison as object) });
  const app = await w.until("poison", (a) => condition(a, "SpecInvalid") !== undefined);
  expect(condition(app, "SpecInvalid")?.message).toBe("spec.syncPolicy.syncOptions must be a list");
  // A shape that even that does not foresee ends in a condition too.
  const strange = { source: { repoURL: w.git.cloneUrl("poison"), path: ".", directory: { include: 7 } } };
  await w.app("strange", strange as never);
  await w.until("strange", (a) => condition(a, "ManifestInvalid") !== undefined);
  await w.app("stranger", { repo: "poison", syncPolicy: { automated: {}, syncOptions: [7] } } as never);
  await w.until("stranger", (a) => condition(a, "InternalError") !== undefined);
  await w.app("beside", { repo: "poison" });
  await w.until("beside", synced);
});

test("a running operation can be terminated", async () => {
  const pod =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: never, annotations: {argocd.argoproj.io/hook: PreSync}}\nspec: {containers: [{name: c, image: x}]}\n";
  await w.git.createRepository("terminate", { files: { "a.yaml": configMap("a", {}), "pod.yaml": pod } });
  await w.app("terminate", { repo: "terminate" });
  // That it runs is written before its hook does; what it waits for comes after.
  const running = await w.until("terminate", (a) => a.status?.operationState?.message !== undefined, "Running");
  expect(running.status?.operationState?.message).toBe("waiting for completion of hook /Pod/never");
  value(
    await w.client.mergePatch(RESOURCES.application, w.namespace, "terminate", {
      status: { operationState: { phase: "Terminating" } },
    }),
  );
  const ended = await w.until("terminate", (a) => a.status?.operationState?.phase === "Failed", "Failed");
  expect(ended.status?.operationState?.message).toBe("Operation terminated");
  expect(await w.object(CONFIG_MAP, "terminate", "a")).toBeUndefined();
});

test("restarts in the middle of work delete nothing and make nothing twice", async () => {
  const names = Array.from({ length: 8 }, (_, i) => `restart-${i}`);
  await w.git.createRepository("restarts", {
    files: Object.fromEntries(names.map((n) => [`${n}/all.yaml`, fourObjects("0")])),
  });
  for (const name of names) await w.app(name, { repo: "restarts", path: name });
  await Promise.all(names.map((name) => w.until(name, synced)));
  const uids = () => Promise.all(names.map(async (n) => (await w.object(DEPLOYMENT, n, "web"))?.metadata.uid));
  const before = await uids();
  for (let i = 1; i <= 10; i++) {
    await w.git.commit(
      "restarts",
      Object.fromEntries(names.map((n) => [`${n}/all.yaml`, fourObjects(`${i}`)])),
      `${i}`,
    );
    const annotations = { "argocd.argoproj.io/refresh": "normal" };
    await Promise.all(
      names.map((n) => w.client.mergePatch(RESOURCES.application, w.namespace, n, { metadata: { annotations } })),
    );
    // Each time at another point of the work: some have synced, some are in the middle, some have not begun.
    await new Promise((resolve) => setTimeout(resolve, i * 25));
    await w.restart();
  }
  const tip = await w.git.repository("restarts").tip("main");
  for (const name of names)
    await w.until(
      name,
      (app) => synced(app) && app.status?.sync?.revision === tip && app.status?.history?.at(-1)?.revision === tip,
    );
  expect(await uids()).toEqual(before);
  expect((await Promise.all(names.map((n) => w.object(CONFIG_MAP, n, "web")))).map((o) => o?.data.rev)).toEqual(
    names.map(() => "10"),
  );
}, 60_000);

test("of two replicas one leads, and the other takes over when it ends", async () => {
  const client = new KubeClient(loadConfig({ KUBECONFIG: w.api.kubeconfig }));
  const leading: string[] = [];
  const run = (holder: string) => {
    const abort = new AbortController();
    const ended = withLease(
      { client, namespace: w.namespace, name: "test-lease", holder, signal: abort.signal },
      async (signal) => {
        leading.push(holder);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      },
    );
    const stop = () => {
      abort.abort();
      return ended;
    };
    return { stop };
  };
  const until = async (count: number) => {
    const deadline = Date.now() + 60_000;
    while (leading.length < count && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const a = run("a");
  await until(1);
  const b = run("b");
  expect(leading).toEqual(["a"]);
  await a.stop();
  await until(2);
  expect(leading).toEqual(["a", "b"]);
  await b.stop();
  await client.close();
}, 30_000);

test("the programs start from their environment, and end when they are told to", async () => {
  const folder = mkdtempSync(join(tmpdir(), "outpost-programs-"));
  const token = join(folder, "token");
  writeFileSync(token, "0123456789abcdef0123456789abcdef", { mode: 0o600 });
  const socket = join(folder, "repo.sock");
  const main = (path: string, name: string, env: Record<string, string>) => {
    const code = `import { ${name} } from "${path}"; const a = new AbortController(); process.on("SIGTERM", () => a.abort()); await ${name}(process.env, a.signal);`;
    const base = {
      PATH: process.env.PATH!,
      OUTPOST_HELM: process.env.OUTPOST_HELM!,
      OUTPOST_REPO_TOKEN_FILE: token,
      OUTPOST_WORK: join(folder, "work"),
    };
    const args = ["--import", "tsx", "--input-type=module", "-e", code];
    const child = spawn(process.execPath, args, { env: { ...base, ...env }, stdio: ["ignore", "pipe", "inherit"] });
    const ready = new Promise<void>((resolve, reject) => {
      child.stdout.on("data", (chunk: Buffer) => chunk.includes("is ready") && resolve());
      child.once("exit", () => reject(new Error(`${name} ended`)));
    });
    const end = () =>
      new Promise<number | null>((resolve) => {
        child.removeAllListeners("exit");
        child.once("exit", resolve);
        child.kill("SIGTERM");
      });
    return { ready, end };
  };
  const root = new URL("../../server/agent/", import.meta.url).pathname;
  const repo = main(`${root}repo/main.ts`, "runRepoServer", { OUTPOST_REPO_LISTEN: `unix:${socket}` });
  await repo.ready;
  const own = "outpost-own";
  value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: own } }));
  const controller = main(`${root}controller/main.ts`, "runController", {
    KUBECONFIG: w.api.kubeconfig,
    POD_NAMESPACE: own,
    OUTPOST_REPO_URL: `unix:${socket}`,
    OUTPOST_LEADER_ELECTION: "true",
  });
  await controller.ready;
  await w.git.createRepository("programs", { files: { "a.yaml": configMap("a", {}) } });
  const spec = {
    source: { repoURL: w.git.cloneUrl("programs"), path: "." },
    destination: { name: "in-cluster", namespace: "programs" },
    syncPolicy: { automated: {}, syncOptions: ["CreateNamespace=true"] },
  };
  value(
    await w.client.create(RESOURCES.application, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata: { name: "programs", namespace: own },
      spec,
    }),
  );
  const deadline = Date.now() + 60_000;
  while (!(await w.object(CONFIG_MAP, "programs", "a")) && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await w.object(CONFIG_MAP, "programs", "a")).toBeDefined();
  expect(await controller.end()).toBe(0);
  expect(await repo.end()).toBe(0);
  // Given back: a successor need not wait.
  expect((await w.object(RESOURCES.lease, own, "outpost-controller"))?.spec.holderIdentity ?? "").toBe("");
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

test("everything in one process, as `outpost agent --all` has it", async () => {
  const abort = new AbortController();
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const env = { KUBECONFIG: w.api.kubeconfig, POD_NAMESPACE: "outpost-all" };
  value(
    await w.client.create(RESOURCES.namespace, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "outpost-all" },
    }),
  );
  const engine = await startEngine({ env, log, signal: abort.signal });
  expect(engine.ready()).toBe(true);
  expect(await engine.metrics()).toContain("argocd_app_reconcile");
  abort.abort();
  await engine.stop();
});
