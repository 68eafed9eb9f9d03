import { argoControllerIn, whileAlone } from "../../server/agent/controller/argo-cd.ts";
import { heldReason, noteHeld } from "../../server/agent/controller/held.ts";
import { putApplication, removeApplication } from "../../server/agent/link/deliveries/application.ts";
import { putCluster } from "../../server/agent/link/deliveries/cluster.ts";
import { putRepository } from "../../server/agent/link/deliveries/repository.ts";
import { noRepo, outOfSync } from "../../server/agent/link/queries/beside.ts";
import { localReads } from "../../server/agent/link/queries/reads.ts";
import { applicationTree } from "../../server/agent/link/queries/tree/tree.ts";
import { applicationOperate } from "../../server/agent/link/tasks/operate.ts";
import { KubeClient } from "../../server/kube/client.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import type { WorkerObject } from "../../server/link/exchange.ts";
import { until } from "../servers/run.ts";
import {
  application,
  create,
  ctx,
  kube,
  live,
  OWN,
  observer,
  reports,
  STATEFUL_SET,
  secret,
  startWorld,
  stopWorld,
  told,
} from "./discover-world.ts";
import { must } from "./link-world.ts";

// The agent's half of discovered objects, on a real API server, beside an Argo CD of which only the objects are there.
beforeAll(startWorld, 240_000);
afterAll(stopWorld, 30_000);

const task = (object: KubeObject, more: object = {}) => ({
  task: "t1",
  kind: "application.operate",
  params: {
    collection: "applications",
    key: "-/-/x",
    uid: "service-uid",
    live: { namespace: object.metadata.namespace, name: object.metadata.name, uid: object.metadata.uid },
    ...more,
  },
});
const tc = () => ({ ctx, repo: noRepo(), reads: localReads({ ctx, repo: noRepo() }) });

test("everything in the agent's namespaces is told once, with what makes it, and no secret of any of it", async () => {
  await until("the application of team-a", async () => told.has("applications/team-a/shop"), 20_000);
  const owners = Object.fromEntries(
    [...told].map(([at, { owner }]) => [at, owner && (owner as { kind: string; name: string })]),
  );
  expect(owners).toEqual({
    "applications/argocd/by-kubectl": undefined,
    "applications/argocd/made": { kind: "applicationset", name: "teams", namespace: OWN },
    "applications/argocd/child": { kind: "application", name: "by-kubectl", namespace: OWN },
    "applications/team-a/shop": undefined,
    "applicationsets/argocd/teams": undefined,
    "appprojects/argocd/default": undefined,
    "clusters/argocd/cluster-prod": undefined,
    "repositories/argocd/repo-1": undefined,
  });
  expect(JSON.stringify([...told])).not.toMatch(/s3cret|czNjcmV0/);
  const status = () => JSON.stringify(told.get("applicationsets/argocd/teams")?.status ?? {});
  await until("the set's application", async () => status().includes('"name":"made"'), 10_000);
});

test("what is deleted in the cluster is told as deleted, and what changes as it is now", async () => {
  await create(application("short"));
  await until("the new one", async () => told.has("applications/argocd/short"), 10_000);
  must(
    await kube.mergePatch(RESOURCES.application, OWN, "short", {
      status: { sync: { status: "OutOfSync", comparedTo: {} } },
    }),
  );
  await until(
    "its status",
    async () => JSON.stringify(told.get("applications/argocd/short")).includes("OutOfSync"),
    10_000,
  );
  must(await kube.delete(RESOURCES.application, OWN, "short"));
  await until("its end", async () => !told.has("applications/argocd/short"), 10_000);
});

test("a sync, a refresh and a rollback go to Argo CD by the fields that it reads, and nothing else of the object changes", async () => {
  const before = await create(application("act"));
  const sync = { sync: { id: "a1", by: "ada", request: { prune: true } } };
  expect(await applicationOperate(tc(), task(before, { action: sync }))).toEqual({ kind: "done", value: {} });
  const now = await live("act");
  expect(now.operation).toMatchObject({ initiatedBy: { username: "ada" }, sync: { prune: true } });
  expect([now.spec, now.metadata.labels, now.metadata.annotations]).toEqual([before.spec, undefined, undefined]);
  // A second one waits for the first.
  expect(await applicationOperate(tc(), task(before, { action: sync }))).toMatchObject({
    kind: "stop",
    reason: "OperationRunning",
  });
  // Argo CD takes it up.
  const operationState = { phase: "Running", operation: now.operation, startedAt: new Date().toISOString() };
  const history = [{ id: 3, revision: "abc", source: before.spec.source, deployedAt: new Date().toISOString() }];
  must(
    await kube.mergePatch(RESOURCES.application, OWN, "act", { operation: null, status: { operationState, history } }),
  );
  expect((await applicationOperate(tc(), task(before, { action: { terminate: { id: "a2" } } }))).kind).toBe("done");
  expect((await live("act")).status.operationState).toEqual({ ...operationState, phase: "Terminating" });
  must(await kube.mergePatch(RESOURCES.application, OWN, "act", { status: { operationState: { phase: "Failed" } } }));
  expect(
    (await applicationOperate(tc(), task(before, { action: { rollback: { id: "a3", request: { id: 3 } } } }))).kind,
  ).toBe("done");
  expect((await live("act")).operation.sync).toMatchObject({ revision: "abc", source: before.spec.source });
  expect((await applicationOperate(tc(), task(before, { action: { refresh: { id: "a4", hard: true } } }))).kind).toBe(
    "done",
  );
  expect((await live("act")).metadata.annotations).toEqual({ "argocd.argoproj.io/refresh": "hard" });
});

test("an action is for the very object that was shown: not for a newer one of its name, nor for one that is none of the agent's", async () => {
  const refresh = { action: { refresh: { id: "r", hard: false } } };
  const other = await live("not-ours", "team-b");
  expect(await applicationOperate(tc(), task(other, refresh))).toMatchObject({ kind: "stop", reason: "NotFound" });
  const here = await live("by-kubectl");
  const old = { ...here, metadata: { ...here.metadata, uid: "00000000-0000-0000-0000-000000000000" } };
  expect(await applicationOperate(tc(), task(old, refresh))).toMatchObject({ kind: "stop", reason: "NotTheSame" });
  expect((await live("by-kubectl")).metadata.annotations).toBeUndefined();
  const credentials = must(await kube.get(RESOURCES.secret, OWN, "other"));
  const asRepository = { ...task(credentials), params: { ...task(credentials).params, collection: "repositories" } };
  expect(
    (await applicationOperate(tc(), { ...asRepository, params: { ...asRepository.params, ...refresh } })).kind,
  ).toBe("stop");
});

const delivery = (object: KubeObject, more: Partial<WorkerObject> = {}): WorkerObject => ({
  worker: "w",
  collection: "applications",
  key: "-/-/taken",
  uid: "service-uid",
  generation: 1,
  op: "put",
  name: object.metadata.name,
  namespace: object.metadata.namespace!,
  adopt: { uid: object.metadata.uid! },
  spec: {
    agent: "one",
    argoProject: "default",
    source: { repoUrl: "https://git.example.com/apps.git", path: "new" },
    destination: { namespace: "default" },
  },
  ...more,
});

test("taking an application over marks the same object, writes the new specification and keeps everything else that people set", async () => {
  const finalizers = ["example.com/theirs"];
  const before = await create(application("take", { labels: { team: "a" }, annotations: { note: "x" }, finalizers }));
  expect((await putApplication(ctx, delivery(before))).kind).toBe("done");
  const now = await live("take");
  expect(now.metadata).toMatchObject({
    uid: before.metadata.uid,
    finalizers,
    labels: { team: "a" },
    annotations: { note: "x" },
  });
  expect(now.metadata.annotations).toMatchObject({ "outpost.dev/id": "taken", "outpost.dev/adopted": "true" });
  // Its id is another than its name, and it is the agent's own scope's all the same.
  expect(now.metadata.annotations).not.toHaveProperty("outpost.dev/tenant");
  expect(now.spec.source.path).toBe("new");
  // The same cluster, in the spelling that it had.
  expect(now.spec.destination).toEqual(before.spec.destination);
  await until(
    "its status to be reported as of an object of the service",
    async () => reports.batch().some(({ uid }) => uid === "service-uid"),
    10_000,
  );
  // Given up by the service, it is deleted as any other.
  must(await kube.mergePatch(RESOURCES.application, OWN, "take", { metadata: { finalizers: null } }));
  await until(
    "its end",
    async () =>
      (await removeApplication(ctx, delivery(now, { op: "delete", cascade: "orphan", generation: 2 }))).kind === "done",
    20_000,
  );
  expect((await kube.get(RESOURCES.application, OWN, "take")).kind).toBe("stop");
});

test("an object that was made again since, or that a set makes, is not taken over", async () => {
  const here = await live("by-kubectl");
  expect(await putApplication(ctx, delivery(here, { adopt: { uid: "another" } }))).toMatchObject({
    kind: "stop",
    reason: "NotTheSame",
  });
  expect(await putApplication(ctx, delivery(await live("made")))).toMatchObject({ kind: "stop", reason: "Generated" });
  expect((await live("by-kubectl")).metadata.labels).toBeUndefined();
});

const fieldsOf = async (name: string) => {
  const { data } = must(await kube.get(RESOURCES.secret, OWN, name));
  return Object.fromEntries(
    Object.entries(data as Record<string, string>).map(([key, value]) => [
      key,
      Buffer.from(value, "base64").toString(),
    ]),
  );
};

test("a repository that is taken over keeps how it signs in and the name that Argo CD shows, and loses its password only to another address", async () => {
  const url = "https://git.example.com/taken.git";
  const before = { url, type: "git", username: "bot", password: "s3cret", name: "shop" };
  const secretOf = await create(secret("repo-argo", "repository", before), RESOURCES.secret);
  const put = (spec: object, generation: number) =>
    putRepository(
      ctx,
      delivery(secretOf, {
        collection: "repositories",
        key: "-/-/repo",
        uid: "repo-uid",
        generation,
        spec: { agent: "one", ...spec } as never,
      }),
    );
  expect(await put({ url, type: "git", enableLfs: true }, 1)).toMatchObject({ kind: "done" });
  expect(await fieldsOf("repo-argo")).toEqual({ ...before, enableLfs: "true" });
  expect((await put({ url: "https://elsewhere.example.com/taken.git", type: "git" }, 2)).kind).toBe("stop");
  expect(await fieldsOf("repo-argo")).toMatchObject({ url, password: "s3cret" });
});

test("a cluster that is taken over keeps its name and token, and is not written without how it signs in", async () => {
  const server = "https://10.2.2.2:6443";
  const config = JSON.stringify({ bearerToken: "s3cret", tlsClientConfig: { insecure: false } });
  const one = await create(secret("cluster-argo", "cluster", { name: "eu", server, config }), RESOURCES.secret);
  const put = (object: KubeObject, uid: string) =>
    putCluster(
      ctx,
      delivery(object, {
        collection: "clusters",
        key: "-/-/eu-1",
        uid,
        spec: { agent: "one", server, namespaces: ["shop"] } as never,
      }),
    );
  expect(await put(one, "cluster-uid")).toMatchObject({ kind: "done" });
  const now = await fieldsOf("cluster-argo");
  expect([now.name, now.namespaces, JSON.parse(now.config!).bearerToken]).toEqual(["eu", "shop", "s3cret"]);
  const aws = JSON.stringify({ awsAuthConfig: { clusterName: "prod" } });
  const other = await create(secret("cluster-aws", "cluster", { name: "aws", server, config: aws }), RESOURCES.secret);
  expect(await put(other, "aws-uid")).toMatchObject({ kind: "stop", reason: "CredentialsRequired" });
  expect((await fieldsOf("cluster-aws")).config).toBe(aws);
});

test("a mark copied into another namespace does not make objects there the service's own", async () => {
  const annotations = {
    "outpost.dev/uid": "service-uid-2",
    "outpost.dev/generation": "1",
    "outpost.dev/scope": "default/-/-",
    "outpost.dev/id": "forged",
  };
  const forged = await create(
    application("forged", { namespace: "team-a", labels: { "outpost.dev/managed": "true" }, annotations }),
  );
  must(
    await kube.mergePatch(RESOURCES.application, "team-a", "forged", {
      status: { sync: { status: "Synced", comparedTo: {} } },
    }),
  );
  const later = await create(application("later", { namespace: "team-a" }));
  await until("what came after it", async () => told.has(`applications/team-a/${later.metadata.name}`), 10_000);
  expect((await observer.known()).map(({ uid }) => uid)).not.toContain("service-uid-2");
  // Once the service has delivered it there, its mark counts.
  ctx.elsewhere!.set("service-uid-2", "team-a/forged");
  observer.look("Application", forged);
  expect((await observer.known()).map(({ uid }) => uid)).toContain("service-uid-2");
});

test("beside Argo CD tree and differences come from its own verdict and the live objects", async () => {
  await create(
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "there", namespace: "default" }, data: { a: "1" } },
    RESOURCES.configMap,
  );
  const row = (name: string, more: object = {}) => ({
    version: "v1",
    kind: "ConfigMap",
    namespace: "default",
    name,
    status: "OutOfSync",
    ...more,
  });
  const resources = [
    row("there"),
    row("missing"),
    row("there", { requiresPruning: true }),
    { ...row("same"), status: "Synced" },
  ];
  const app = await create(
    application("shown", {}, { status: { resources, sync: { status: "OutOfSync", revision: "abc", comparedTo: {} } } }),
  );
  const asked = { ...task(app), kind: "application.tree" };
  const tree = must(await applicationTree({ ctx, repo: noRepo() }, asked)) as {
    nodes: { name: string; uid?: string }[];
  };
  expect(tree.nodes.find(({ name }) => name === "there")?.uid).toBeDefined();
  expect(must(await outOfSync({ ctx, repo: noRepo() }, asked))).toEqual({
    revision: "abc",
    items: [
      {
        kind: "ConfigMap",
        namespace: "default",
        name: "there",
        change: "update",
        live: expect.stringContaining('a: "1"'),
      },
      { kind: "ConfigMap", namespace: "default", name: "missing", change: "create" },
      { kind: "ConfigMap", namespace: "default", name: "there", change: "delete", live: expect.any(String) },
    ],
  });
});

test("our controller waits while Argo CD's runs in its namespace, goes on when it is scaled down, and ends when it comes back", async () => {
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "x" }] } };
  const name = "argocd-application-controller";
  const stateful = { serviceName: name, selector: { matchLabels: { a: "b" } }, template, replicas: 1 };
  await create(
    { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name, namespace: OWN }, spec: stateful },
    STATEFUL_SET,
  );
  const scale = async (replicas: number) =>
    must(await kube.mergePatch(STATEFUL_SET, OWN, name, { spec: { replicas } }));
  const done = new AbortController();
  const said: (string | undefined)[] = [];
  let turns = 0;
  let working = false;
  const alone = whileAlone(
    {
      client: kube,
      namespace: OWN,
      log: ctx.log as never,
      signal: done.signal,
      held: (why) => void said.push(why),
      lookMs: 20,
    },
    async (signal) => {
      turns++;
      working = true;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      working = false;
    },
  );
  await until("it to wait", async () => said.length === 1, 10_000);
  expect([turns, said[0]]).toEqual([0, expect.stringContaining(`StatefulSet ${OWN}/${name} runs`)]);
  await scale(0);
  await until("it to work", async () => working, 10_000);
  await scale(1);
  await until("it to end", async () => !working && said.length === 3, 10_000);
  await scale(0);
  await until("it to work again", async () => working && turns === 2, 10_000);
  done.abort();
  await alone;
  expect(working).toBe(false);
}, 60_000);

test.each([
  ["of its Helm chart with another release name", "argo-cd-argocd-application-controller", "StatefulSet"],
  ["of its operator", "main-application-controller", "StatefulSet"],
  ["that shares its clusters out by itself", "my-application-controller", "Deployment"],
])(
  "the Argo CD controller %s is known by its labels, whatever it is called",
  async (_, name, kind) => {
    const labels = { "app.kubernetes.io/component": "application-controller", "app.kubernetes.io/part-of": "argocd" };
    const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "x" }] } };
    const more = kind === "StatefulSet" ? { serviceName: name } : {};
    const object = { apiVersion: "apps/v1", kind, metadata: { name, namespace: OWN, labels }, spec: {} };
    object.spec = { ...more, selector: { matchLabels: { a: "b" } }, template, replicas: 1 };
    const resource = kind === "StatefulSet" ? STATEFUL_SET : { ...STATEFUL_SET, kind, plural: "deployments" };
    await create(object, resource);
    expect(must(await argoControllerIn(kube, OWN))).toBe(`${kind} ${OWN}/${name}`);
    must(await kube.mergePatch(resource, OWN, name, { spec: { replicas: 0 } }));
    expect(must(await argoControllerIn(kube, OWN))).toBeUndefined();
  },
  60_000,
);

test("what our controller waits for stands on its Lease while it holds it, under any name of Argo CD's controller", async () => {
  const lease = "outpost-controller-0";
  const spec = { holderIdentity: "me", renewTime: "2026-01-01T00:00:00.000000Z" };
  const told = async () => must(await heldReason(kube, OWN));
  const note = (why?: string) => noteHeld(kube, { namespace: OWN, lease, log: ctx.log as never }, why);
  await note("nothing to write on");
  expect(await told()).toBeUndefined();
  await create(
    { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: lease, namespace: OWN }, spec },
    RESOURCES.lease,
  );
  await note("main-application-controller runs");
  expect(await told()).toBe("main-application-controller runs");
  must(await kube.mergePatch(RESOURCES.lease, OWN, lease, { spec: { holderIdentity: "" } }));
  expect(await told()).toBeUndefined();
  must(await kube.mergePatch(RESOURCES.lease, OWN, lease, { spec: { holderIdentity: "next" } }));
  await note();
  expect(await told()).toBeUndefined();
  expect(must(await kube.get(RESOURCES.lease, OWN, lease)).metadata.annotations ?? {}).toEqual({});
}, 60_000);

test("while the API server cannot be asked whether Argo CD runs, our controller does not begin", async () => {
  const away = new KubeClient({ ...kube.config, server: "https://127.0.0.1:1" });
  const done = new AbortController();
  let looks = 0;
  const counting = new Proxy(away, {
    get: (target, key) => {
      if (key === "list") looks++;
      const found = Reflect.get(target, key) as unknown;
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
  let began = false;
  const alone = whileAlone(
    { client: counting, namespace: OWN, log: ctx.log as never, signal: done.signal, lookMs: 20 },
    async () => {
      began = true;
    },
  );
  await until("it to look twice", async () => looks > 1, 60_000);
  done.abort();
  await alone;
  await away.close();
  expect(began).toBe(false);
}, 90_000);
