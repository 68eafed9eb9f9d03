import { createHmac, randomUUID } from "node:crypto";
import type { Schemas } from "../../openapi/client.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { type LinkWorld, linkWorld, ok } from "../faults/link-world.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { until } from "../servers/run.ts";

// The service, a real API server, real Git, and `outpost agent --all`, which asks a remote by itself two minutes after it did so last: whatever
// is live before that came by the webhook.
const SOON_MS = 30_000;
let w: LinkWorld;
let git: GitServer;
let hook: Schemas["WebhookSecret"];

const map = (value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: web }\ndata: { value: "${value}" }\n`;
const live = async (namespace: string) => {
  const found = await w.kube.get(RESOURCES.configMap, namespace, "web");
  return found.kind === "done" ? String(found.value.data?.value) : undefined;
};
const becomes = (namespace: string, value: string) =>
  until(`${namespace} has ${value}`, async () => (await live(namespace)) === value, SOON_MS).catch((error: Error) => {
    throw new Error(`${error.message}; the agent said:\n${w.agent.said().slice(-2_000)}`);
  });

beforeAll(async () => {
  [w, git] = await Promise.all([linkWorld(["agent", "--all"]), startGit()]);
  await git.createRepository("shop", {
    files: Object.fromEntries(["a", "b", "c", "d"].map((name) => [`apps/${name}/all.yaml`, map("one")])),
  });
  ok(
    await w.service.api.PUT("/v1/webhooks/{id}", {
      params: { path: { id: "hub" } },
      body: { spec: { provider: "github", enabled: true, secretVersion: 1 } },
    }),
  );
  hook = ok(await w.service.api.GET("/v1/webhooks/{id}/secret", { params: { path: { id: "hub" } } }));
  for (const id of ["a", "b", "c", "d"]) {
    const spec = {
      agent: "one",
      source: { repoUrl: git.cloneUrl("shop"), path: `apps/${id}` },
      destination: { namespace: id },
      syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: ["CreateNamespace=true"] },
    };
    ok(await w.service.api.PUT("/v1/applications/{id}", { params: { path: { id } }, body: { spec } as never }));
  }
  for (const id of ["a", "b", "c", "d"]) await becomes(id, "one");
}, 180_000);
afterAll(async () => {
  await git?.stop();
  await w?.stop();
}, 30_000);

/** What GitHub sends after a push, signed as GitHub signs it. */
async function push(revision: string, change: { repository?: string; secret?: string } = {}): Promise<Response> {
  const url = git.cloneUrl(change.repository ?? "shop");
  const repository = {
    full_name: "team/shop",
    clone_url: url,
    html_url: url.replace(/\.git$/, ""),
    ssh_url: "git@127.0.0.1:shop.git",
  };
  const body = JSON.stringify({ ref: "refs/heads/main", after: revision, repository });
  const signature = createHmac("sha256", change.secret ?? hook.secret)
    .update(body)
    .digest("hex");
  const headers = {
    "content-type": "application/json",
    "x-github-event": "push",
    "x-github-delivery": randomUUID(),
    "x-hub-signature-256": `sha256=${signature}`,
  };
  return fetch(hook.url, { method: "POST", headers, body });
}
const versions = async () => {
  const all = await Promise.all(["a", "b", "c", "d"].map((id) => w.kube.get(RESOURCES.configMap, id, "web")));
  return all.map((one) => (one.kind === "done" ? one.value.metadata.resourceVersion : undefined));
};
const hinted = async () => {
  const found = await w.kube.get(RESOURCES.configMap, w.namespace, "outpost-hints");
  return found.kind === "done" ? JSON.stringify(found.value.data) : undefined;
};

test("a push is live after a signed call, long before anybody would have asked by himself", async () => {
  const revision = await git.commit("shop", { "apps/a/all.yaml": map("two") }, "change a");
  const before = await versions();
  const answer = await push(revision);
  expect([answer.status, await answer.json()]).toEqual([202, { outcome: "Accepted", repositories: 1 }]);
  await becomes("a", "two");
  await until(
    "the application says so",
    async () => (await w.application("a"))?.status.sync?.revision === revision,
    SOON_MS,
  );
  expect((await versions()).slice(1)).toEqual(before.slice(1));
}, 60_000);

test("the remote is asked once for all applications that read it", async () => {
  const revision = await git.commit("shop", { "apps/b/all.yaml": map("three") }, "change b");
  const before = git.requests("shop");
  await push(revision);
  await becomes("b", "three");
  // References in two requests, the new objects in one or two.
  expect(git.requests("shop") - before).toBeLessThanOrEqual(4);
}, 60_000);

test("a call that is not signed with the secret, or of a repository nobody reads, makes nobody look", async () => {
  const before = [await hinted(), git.requests("shop")];
  expect((await push("f".repeat(40), { secret: "wrong" })).status).toBe(401);
  expect(await (await push("f".repeat(40), { repository: "other" }).catch((error) => error)).json()).toEqual({
    outcome: "Ignored",
    repositories: 0,
  });
  // A good call behind them: had they been passed on, they would have arrived before it.
  const revision = await git.commit("shop", { "apps/c/all.yaml": map("four") }, "change c");
  await push(revision);
  await becomes("c", "four");
  expect(Object.keys(JSON.parse((await hinted())!))).toEqual(Object.keys(JSON.parse(before[0] as string)));
}, 60_000);

test("a call that is repeated changes nothing", async () => {
  const before = await versions();
  const revision = (await git.repository("shop").tip("main"))!;
  for (let i = 0; i < 5; i++) expect((await push(revision)).status).toBe(202);
  const next = await git.commit("shop", { "apps/d/all.yaml": map("five") }, "change d");
  await push(next);
  await becomes("d", "five");
  expect((await versions()).slice(0, 3)).toEqual(before.slice(0, 3));
}, 60_000);

test("a set makes an application of a folder that was pushed", async () => {
  const path = { revision: "main", repoURL: git.cloneUrl("shop") };
  const spec = {
    agent: "one",
    generators: [{ git: { ...path, directories: [{ path: "sets/*" }], requeueAfterSeconds: 3_600 } }],
    template: {
      metadata: { name: "{{.path.basename}}" },
      spec: {
        project: "default",
        source: { repoURL: path.repoURL, targetRevision: "main", path: "{{.path.path}}" },
        destination: { name: "in-cluster", namespace: "{{.path.basename}}" },
        syncPolicy: { automated: {}, syncOptions: ["CreateNamespace=true"] },
      },
    },
  };
  await git.commit("shop", { "sets/first/all.yaml": map("one") }, "a folder");
  ok(await w.service.api.PUT("/v1/applicationsets/{id}", { params: { path: { id: "set" } }, body: { spec } as never }));
  await becomes("first", "one");
  await push(await git.commit("shop", { "sets/second/all.yaml": map("two") }, "another folder"));
  await becomes("second", "two");
}, 90_000);

test("the agent that was away while a call came looks when it is back", async () => {
  await w.agent.stop("SIGKILL");
  const revision = await git.commit("shop", { "apps/a/all.yaml": map("six") }, "change a again");
  expect((await push(revision)).status).toBe(202);
  w.startAgent();
  await becomes("a", "six");
}, 90_000);
