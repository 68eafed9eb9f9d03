import { Buffer } from "node:buffer";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { startGit } from "../servers/git.ts";
import { until } from "../servers/run.ts";
import { type LinkWorld, linkWorld, must, ok } from "./link-world.ts";

let w: LinkWorld;
beforeAll(async () => {
  w = await linkWorld();
}, 120_000);
afterAll(() => w?.stop(), 30_000);

const status = async (name: string, value: object) =>
  must(await w.kube.mergePatch(RESOURCES.application, w.namespace, name, { status: value }));
const secret = async (name: string) => {
  const found = await w.kube.get(RESOURCES.secret, w.namespace, name);
  return found.kind === "done" ? found.value : undefined;
};
const field = (object: KubeObject | undefined, name: string) =>
  Buffer.from(object?.data?.[name] ?? "", "base64").toString();

test("an application arrives in the cluster in Argo CD's format, and its status comes back", async () => {
  await w.putApplication("first");
  const cr = await until("the Application", () => w.cr("first"));
  expect(cr.spec).toEqual({
    project: "default",
    source: { repoURL: "https://git.example.com/apps.git", path: "guestbook", targetRevision: "HEAD" },
    destination: { name: "in-cluster", namespace: "default" },
    revisionHistoryLimit: 10,
  });
  expect(cr.metadata).toMatchObject({
    labels: { "outpost.dev/managed": "true" },
    annotations: { "outpost.dev/scope": "default/-/-", "outpost.dev/id": "first" },
    finalizers: ["resources-finalizer.argocd.argoproj.io"],
  });
  await status("first", {
    observedGeneration: Number(cr.metadata.annotations!["outpost.dev/generation"]),
    sync: {
      status: "Synced",
      revision: "abc",
      comparedTo: { source: cr.spec.source, destination: cr.spec.destination },
    },
    health: { status: "Healthy" },
    resources: [
      {
        version: "v1",
        kind: "ConfigMap",
        name: "a",
        namespace: "default",
        status: "Synced",
        health: { status: "Healthy" },
      },
    ],
  });
  const app = await until("the status", async () => {
    const got = await w.application("first");
    return got?.status.sync?.status === "Synced" && got;
  });
  expect(app.status).toMatchObject({
    observedGeneration: app.generation,
    delivery: { state: "Delivered" },
    health: { status: "Healthy" },
    resources: [{ kind: "ConfigMap", health: "Healthy" }],
  });
});

test("a status that speaks of the older specification does not count as observed", async () => {
  const before = (await w.application("first"))!;
  await w.putApplication("first", "other");
  await until("the new spec", async () => (await w.cr("first"))?.spec.source.path === "other");
  await status("first", { health: { status: "Degraded" } });
  const app = await until("the report", async () => {
    const got = await w.application("first");
    return got?.status.health?.status === "Degraded" && got;
  });
  expect([app.generation, app.status.observedGeneration]).toEqual([before.generation + 1, before.generation]);
});

test("sync and refresh are put in once", async () => {
  ok(
    await w.service.api.POST("/v1/applications/{id}/sync", {
      params: { path: { id: "first" } },
      body: { prune: true },
    }),
  );
  const cr = await until("the operation", async () => {
    const got = await w.cr("first");
    return got?.operation && got;
  });
  expect(cr.operation).toMatchObject({ sync: { prune: true }, info: [{ name: "outpost.dev/action" }] });
  // Played by the controller: taken, run, ended.
  must(
    await w.kube.mergePatch(RESOURCES.application, w.namespace, "first", {
      operation: null,
      status: { operationState: { operation: cr.operation, phase: "Succeeded", startedAt: "2026-01-01T00:00:00Z" } },
    }),
  );
  await until("the end", async () => (await w.application("first"))?.status.operation?.phase === "Succeeded");
  await w.putApplication("first", "third");
  await until("the next spec", async () => (await w.cr("first"))?.spec.source.path === "third");
  expect((await w.cr("first"))?.operation).toBeUndefined();
  ok(
    await w.service.api.POST("/v1/applications/{id}/refresh", {
      params: { path: { id: "first" } },
      body: { hard: true },
    }),
  );
  await until(
    "the refresh",
    async () => (await w.cr("first"))?.metadata.annotations?.["argocd.argoproj.io/refresh"] === "hard",
  );
});

test("what somebody else made is left as it is, and the service says so", async () => {
  const theirs = {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "taken", namespace: w.namespace },
    spec: { destination: {}, project: "theirs" },
  };
  // Made while the agent is away, so that the service cannot know of it: otherwise it refuses the creation at once (`not_adopted`).
  await w.agent.stop();
  must(await w.kube.create(RESOURCES.application, theirs));
  await w.putApplication("taken");
  w.startAgent();
  const app = await until("the refusal", async () => {
    const got = await w.application("taken");
    return got?.status.delivery?.state === "Refused" && got;
  });
  expect(app.status.delivery).toMatchObject({
    reason: "AlreadyExists",
    message: expect.stringContaining("was not made by Outpost"),
  });
  expect((await w.cr("taken"))?.spec.project).toBe("theirs");
  ok(await w.service.api.DELETE("/v1/applications/{id}", { params: { path: { id: "taken" } } }));
  await until("the row to go", async () => (await w.application("taken")) === undefined);
  expect((await w.cr("taken"))?.spec.project).toBe("theirs");
});

test("one of the same name in another namespace is another application, whatever marks it carries: it is not told of and not deleted", async () => {
  await w.putApplication("twin");
  const cr = await until("the Application", () => w.cr("twin"));
  await status("twin", { health: { status: "Healthy" } });
  const health = async () => (await w.application("twin"))?.status.health?.status;
  await until("the status", async () => (await health()) === "Healthy");
  must(
    await w.kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "elsewhere" } }),
  );
  const { labels, annotations } = cr.metadata;
  const copy = {
    ...cr,
    metadata: { name: "twin", namespace: "elsewhere", labels, annotations },
    status: { health: { status: "Degraded" } },
  };
  const made = must(await w.kube.create(RESOURCES.application, copy as KubeObject)) as KubeObject;
  // What comes after it was told, so it would have been.
  await status("first", { health: { status: "Suspended" } });
  await until("a later status", async () => (await w.application("first"))?.status.health?.status === "Suspended");
  expect(await health()).toBe("Healthy");
  ok(await w.service.api.DELETE("/v1/applications/{id}", { params: { path: { id: "twin" } } }));
  await until("the deletion", async () => (await w.cr("twin"))?.metadata.deletionTimestamp !== undefined);
  must(await w.kube.mergePatch(RESOURCES.application, w.namespace, "twin", { metadata: { finalizers: null } }));
  await until("the row to go", async () => (await w.application("twin")) === undefined);
  const left = must(await w.kube.get(RESOURCES.application, "elsewhere", "twin")) as KubeObject;
  expect(left).toEqual(made);
});

test("an application that is removed by hand comes back", async () => {
  await w.putApplication("again");
  const cr = await until("the Application", () => w.cr("again"));
  must(await w.kube.mergePatch(RESOURCES.application, w.namespace, "again", { metadata: { finalizers: null } }));
  must(await w.kube.delete(RESOURCES.application, w.namespace, "again"));
  const back = await until("another one", async () => {
    const got = await w.cr("again");
    return got && got.metadata.uid !== cr.metadata.uid && got;
  });
  expect(back.metadata.annotations?.["outpost.dev/uid"]).toBe(cr.metadata.annotations?.["outpost.dev/uid"]);
});

test("a deletion cascades as asked, and is only acknowledged when the object is gone", async () => {
  const cr = (await w.cr("again"))!;
  ok(
    await w.service.api.DELETE("/v1/applications/{id}", {
      params: { path: { id: "again" }, query: { cascade: "background" } },
    }),
  );
  const going = await until("the deletion", async () => {
    const got = await w.cr("again");
    return got?.metadata.deletionTimestamp ? got : undefined;
  });
  expect([going.metadata.uid, going.metadata.finalizers]).toEqual([
    cr.metadata.uid,
    ["resources-finalizer.argocd.argoproj.io/background"],
  ]);
  expect(await w.application("again")).toBeDefined();
  must(await w.kube.mergePatch(RESOURCES.application, w.namespace, "again", { metadata: { finalizers: null } }));
  await until("the row to go", async () => (await w.application("again")) === undefined);
});

test("a sealed password becomes the repository's Secret, is kept, and does not follow the address to another host", async () => {
  const git = await startGit();
  try {
    await git.createRepository("private");
    await git.commit("private", { "a.yaml": "kind: ConfigMap" }, "first");
    git.setPassword("private", "user", "canary-password");
    const url = git.cloneUrl("private");
    const spec = { agent: "one", type: "git" as const, insecure: false, url, username: "user" };
    const tryPut = (more: object) =>
      w.service.api.PUT("/v1/repositories/{id}", {
        params: { path: { id: "private" } },
        body: { spec: { ...spec, ...more } },
      });
    const put = async (more: object) => ok(await tryPut(more));
    const sealedCredentials = await w.seal("repositories", "private", spec, { password: "canary-password" });
    await put({ sealedCredentials, credentialsVersion: "1" });
    const held = await until("the Secret", () => secret("repo-private"));
    expect(["url", "username", "password", "type"].map((name) => field(held, name))).toEqual([
      url,
      "user",
      "canary-password",
      "git",
    ]);
    const repository = () =>
      w.service.api.GET("/v1/repositories/{id}", { params: { path: { id: "private" } } }).then((answer) => answer.data);
    await until("the connection", async () => (await repository())?.status.connection?.state === "Successful");
    expect((await repository())?.status).toMatchObject({ credentials: "Delivered", delivery: { state: "Delivered" } });

    // A change without credentials keeps them.
    await put({ depth: 1, credentialsVersion: "1" });
    await until("the change", async () => field(await secret("repo-private"), "depth") === "1");
    expect(field(await secret("repo-private"), "password")).toBe("canary-password");
    const refs = ok(await w.service.api.GET("/v1/repositories/{id}/refs", { params: { path: { id: "private" } } }));
    expect(refs.branches.map((branch) => branch.name)).toEqual(["main"]);
    expect(refs.defaultBranch).toBe("main");

    // The service refuses at once what it can know, with the same credentials kept and with the same envelope.
    const elsewhere = { url: "https://elsewhere.example.com/x.git", credentialsVersion: "1" };
    expect((await tryPut(elsewhere)).error).toMatchObject({ code: "credentials_required", pointer: "/spec/url" });
    expect((await tryPut({ ...elsewhere, sealedCredentials })).error).toMatchObject({
      code: "credentials_audience_mismatch",
      pointer: "/spec/url",
    });
    expect(field(await secret("repo-private"), "url")).toBe(url);
    ok(await w.service.api.DELETE("/v1/repositories/{id}", { params: { path: { id: "private" } } }));
    await until("the Secret to go", async () => (await secret("repo-private")) === undefined);
    await until("the row to go", async () => (await repository()) === undefined);
  } finally {
    await git.stop();
  }
}, 60_000);

test("manifests and differences are read through the agent, a Secret's values only as digests", async () => {
  const git = await startGit();
  try {
    await git.createRepository("apps");
    const password = "a: c2VjcmV0LWNhbmFyeQ==";
    const files = {
      "web/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: web }\ndata: { a: new }\n",
      "web/secret.yaml": `apiVersion: v1\nkind: Secret\nmetadata: { name: web }\ndata: { ${password} }\n`,
    };
    await git.commit("apps", files, "first");
    const spec = {
      agent: "one",
      argoProject: "default",
      revisionHistoryLimit: 10,
      source: { repoUrl: git.cloneUrl("apps"), path: "web" },
      destination: { namespace: "default" },
    };
    ok(await w.service.api.PUT("/v1/applications/{id}", { params: { path: { id: "web" } }, body: { spec } }));
    const params = { path: { id: "web" } };
    const delivered = async () => (await w.application("web"))?.status.delivery?.state === "Delivered";
    await until("the delivery", delivered);
    must(
      await w.kube.create(RESOURCES.configMap, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "web", namespace: "default" },
        data: { a: "old" },
      }),
    );
    const manifests = ok(await w.service.api.GET("/v1/applications/{id}/manifests", { params }));
    expect(manifests).toMatchObject({ sourceType: "Directory", revision: expect.stringMatching(/^[0-9a-f]{40}$/) });
    expect(manifests.manifests.map((object) => object.kind).sort()).toEqual(["ConfigMap", "Secret"]);
    const diff = ok(await w.service.api.GET("/v1/applications/{id}/diff", { params }));
    expect(diff.items.map(({ kind, change }) => [kind, change]).sort()).toEqual([
      ["ConfigMap", "update"],
      ["Secret", "create"],
    ]);
    const map = diff.items.find(({ kind }) => kind === "ConfigMap");
    expect([map?.desired?.includes("a: new"), map?.live?.includes("a: old")]).toEqual([true, true]);
    for (const answer of [manifests, diff])
      expect(JSON.stringify(answer)).not.toMatch(/c2VjcmV0LWNhbmFyeQ|secret-canary/);
    await git.stop();
    const broken = await w.service.api.GET("/v1/applications/{id}/manifests", { params });
    expect(broken.error).toMatchObject({ code: "agent_refused" });
  } finally {
    await git.stop();
  }
}, 60_000);

test("a cluster becomes a Secret that is tried", async () => {
  const spec = {
    agent: "one",
    server: "https://kubernetes.default.svc",
    namespaces: ["a", "b"],
    clusterResources: true,
    insecure: false,
  };
  ok(await w.service.api.PUT("/v1/clusters/{id}", { params: { path: { id: "home" } }, body: { spec } }));
  const held = await until("the Secret", () => secret("cluster-home"));
  expect(["name", "server", "namespaces"].map((name) => field(held, name))).toEqual([
    "home",
    "https://kubernetes.default.svc",
    "a,b",
  ]);
  const cluster = await until("the connection", async () => {
    const { data } = await w.service.api.GET("/v1/clusters/{id}", { params: { path: { id: "home" } } });
    return data?.status.connection?.state === "Successful" && data;
  });
  expect(cluster.status.serverVersion).toMatch(/^v1\./);
});
