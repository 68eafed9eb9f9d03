import { Controller } from "../../server/agent/controller/loop/controller.ts";
import { Shard } from "../../server/agent/controller/loop/shard.ts";
import type { RepoService } from "../../server/agent/repo/service.ts";
import type { RenderRequest } from "../../server/agent/repo/types.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, settings, synced, type World, world } from "./engine-world.ts";

/** Who looks again when a repository has something new, and what it costs. A real API server and a real Git server. */
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop());

/** The questions to the repo server, counted by what was asked. */
function counted(): Record<"render" | "survey", number> {
  const door = w.controller.deps.repo;
  const calls = { render: 0, survey: 0 };
  for (const name of ["render", "survey"] as const) {
    const own = door[name].bind(door) as (request: never) => never;
    Object.assign(door, {
      [name]: (request: never) => {
        calls[name]++;
        return own(request);
      },
    });
  }
  return calls;
}

const uncounted = () => {
  for (const name of ["render", "survey"]) delete (w.controller.deps.repo as unknown as Record<string, unknown>)[name];
};

test("a hint costs one question to the remote for 30 applications, and renders the one whose files are others", async () => {
  const names = Array.from({ length: 30 }, (_, i) => `mono-${i}`);
  const files = Object.fromEntries(names.map((name) => [`apps/${name}/all.yaml`, configMap("conf", { rev: "1" })]));
  await w.git.createRepository("mono", { files });
  await Promise.all(names.map((name) => w.app(name, { repo: "mono", path: `apps/${name}` })));
  await Promise.all(names.map((name) => w.until(name, synced, "synced")));

  const calls = counted();
  const asked = w.git.requests("mono");
  const patches = w.controller.deps.home.requests.PATCH!;
  const revision = await w.git.commit(
    "mono",
    { "apps/mono-7/all.yaml": configMap("conf", { rev: "2" }) },
    "one of thirty",
  );
  // Another spelling of the address than the applications have.
  await w.controller.repositoryChanged(`${w.git.url}/MONO`);
  await w.until("mono-7", (app) => synced(app) && app.status?.sync?.revision === revision, "at the new commit");
  expect((await w.object(CONFIG_MAP, "mono-7", "conf"))?.data.rev).toBe("2");
  expect(calls).toEqual({ survey: 1, render: 1 });
  // Git's own way to ask once is two requests, and to fetch once two more.
  expect(w.git.requests("mono") - asked).toBeLessThanOrEqual(4);

  // The others' revision moves behind, with one small write each and without a look at Git.
  await Promise.all(names.map((name) => w.until(name, (app) => app.status?.sync?.revision === revision, "moved")));
  expect(calls.render).toBe(1);
  expect(w.git.requests("mono") - asked).toBeLessThanOrEqual(4);
  expect(w.controller.deps.home.requests.PATCH! - patches).toBeLessThanOrEqual(29 + 4);
  uncounted();
});

test("a hint that is wrong costs one question and not one write", async () => {
  const calls = counted();
  const patches = w.controller.deps.home.requests.PATCH!;
  await w.controller.repositoryChanged(w.git.cloneUrl("mono"), { revision: "f".repeat(40) });
  await w.controller.repositoryChanged("https://example.com/nobody/reads-this.git");
  expect(calls).toEqual({ survey: 1, render: 0 });
  expect(w.controller.deps.home.requests.PATCH).toBe(patches);
  uncounted();
});

test("what is read outside of the path counts: a base, a library, values of another repository", async () => {
  await w.git.createRepository("parts", {
    files: {
      "overlay/kustomization.yaml": "resources: [../base]\n",
      "base/kustomization.yaml": "resources: [conf.yaml]\n",
      "base/conf.yaml": configMap("conf", { rev: "1" }),
      "lib/rev.libsonnet": "{ rev: '1' }\n",
      "jsonnet/main.jsonnet":
        "local lib = import 'rev.libsonnet'; { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'conf' }, data: { rev: lib.rev } }\n",
      "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
      "chart/templates/conf.yaml":
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {rev: {{ .Values.rev | quote }}}\n",
    },
  });
  await w.git.createRepository("values", { files: { "prod/values.yaml": "rev: '1'\n" } });
  const repoURL = w.git.cloneUrl("parts");
  await w.app("overlay", { repo: "parts", path: "overlay" });
  await w.app("library", {
    source: { repoURL, path: "jsonnet", targetRevision: "main", directory: { jsonnet: { libs: ["lib"] } } },
  });
  const chart = { repoURL, path: "chart", targetRevision: "main", helm: { valueFiles: ["$values/prod/values.yaml"] } };
  const values = { repoURL: w.git.cloneUrl("values"), targetRevision: "main", ref: "values" };
  await w.app("charted", { source: undefined, sources: [chart, values] });
  await Promise.all(["overlay", "library", "charted"].map((name) => w.until(name, synced, "synced")));

  const shows = (name: string, rev: string) =>
    w
      .until(name, (app) => synced(app) && (w.controller.deps.store.get(name) ? true : undefined), "synced")
      .then(async () => {
        const deadline = Date.now() + 60_000;
        while ((await w.object(CONFIG_MAP, name, "conf"))?.data.rev !== rev) {
          if (Date.now() > deadline) throw new Error(`${name} does not show ${rev}`);
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
      });
  const calls = counted();
  await w.git.commit("parts", { "base/conf.yaml": configMap("conf", { rev: "2" }) }, "the base");
  await w.controller.repositoryChanged(repoURL);
  await shows("overlay", "2");
  expect(calls.render).toBe(1);
  await w.git.commit("parts", { "lib/rev.libsonnet": "{ rev: '2' }\n" }, "the library");
  await w.controller.repositoryChanged(repoURL);
  await shows("library", "2");
  expect(calls.render).toBe(2);
  await w.git.commit("values", { "prod/values.yaml": "rev: '2'\n" }, "the values");
  await w.controller.repositoryChanged(w.git.cloneUrl("values"));
  await shows("charted", "2");
  expect(calls.render).toBe(3);
  uncounted();
});

test("without a hint a repository is asked by the clock, once for all", async () => {
  const asked = w.git.requests("mono");
  const calls = counted();
  await w.restart({ pollMs: 400 });
  await w.git.commit("mono", { "apps/mono-3/all.yaml": configMap("conf", { rev: "9" }) }, "by the clock");
  await w.until(
    "mono-3",
    (app) => synced(app) && app.status?.operationState?.syncResult?.revision === app.status?.sync?.revision,
    "synced",
  );
  const deadline = Date.now() + 60_000;
  while ((await w.object(RESOURCES.configMap, "mono-3", "conf"))?.data.rev !== "9") {
    if (Date.now() > deadline) throw new Error("the clock did not bring it");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  expect(w.git.requests("mono")).toBeGreaterThan(asked);
  // Thirty at the start of the program, one for the commit: the clock itself renders nothing.
  expect(calls.render).toBeLessThanOrEqual(34 + 1);
  await w.restart();
  uncounted();
});

test("how often a repository is asked is a setting that counts without a restart, and so is how often all is rendered anew", async () => {
  await settings(w, "argocd-cm", { "timeout.reconciliation": "1s", "timeout.reconciliation.jitter": "0" });
  await w.git.commit("mono", { "apps/mono-4/all.yaml": configMap("conf", { rev: "10" }) }, "by the setting's clock");
  await w.settled(async () => (await w.object(CONFIG_MAP, "mono-4", "conf"))?.data.rev === "10", "at 10");
  const door = w.controller.deps.repo;
  const own = door.render.bind(door);
  let hard = 0;
  Object.assign(door, {
    render: (request: RenderRequest) => {
      if (request.freshness === "hard") hard++;
      return own(request);
    },
  });
  await settings(w, "argocd-cm", {
    "timeout.reconciliation": "0",
    "timeout.hard.reconciliation": "1s",
    "timeout.reconciliation.jitter": "0",
  });
  await w.settled(async () => hard >= 2 * w.controller.deps.store.all().length, "rendered anew twice");
  await settings(w, "argocd-cm", {});
  uncounted();
});

test("two shards look at every application, and at each only one of them", async () => {
  const names = Array.from({ length: 12 }, (_, i) => `shared-${i}`);
  const files = Object.fromEntries(names.map((name) => [`apps/${name}/all.yaml`, configMap("conf", { rev: "1" })]));
  await w.git.createRepository("shared", { files });
  await w.restart({ shard: new Shard(0, 2) });
  const { home, repo, log } = w.controller.deps;
  const abort = new AbortController();
  const lookup = async () => repo as RepoService;
  const other = new Controller({
    home,
    namespace: w.namespace,
    repo,
    lookup,
    log,
    signal: abort.signal,
    shard: new Shard(1, 2),
  });
  await other.start();
  await Promise.all(names.map((name) => w.app(name, { repo: "shared", path: `apps/${name}` })));
  await Promise.all(names.map((name) => w.until(name, synced, "synced")));
  const looked = [w.controller, other].map(({ deps }) => names.filter((name) => deps.memory.has(name)));
  expect(looked.flat().sort()).toEqual([...names].sort());
  for (const some of looked) expect(some.length).toBeGreaterThan(0);
  abort.abort();
  await other.stop();
  await w.restart();
});
