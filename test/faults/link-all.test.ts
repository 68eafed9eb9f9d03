import type { Schemas } from "../../openapi/client.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { until } from "../servers/run.ts";
import { type LinkWorld, linkWorld, ok } from "./link-world.ts";

// `outpost agent --all`: link, controller and repo server in one process, between the real service, a real API server and real Git.
let w: LinkWorld;
let git: GitServer;
beforeAll(async () => {
  [w, git] = await Promise.all([linkWorld(["agent", "--all"]), startGit()]);
  await git.createRepository("apps");
  await commit("one");
}, 120_000);
afterAll(async () => {
  await git?.stop();
  await w?.stop();
}, 30_000);

const map = (name: string, value: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { value: "${value}" }\n`;
const commit = (value: string) =>
  git.commit("apps", { "web/a.yaml": map("a", value), "web/b.yaml": map("b", value) }, value);
const live = async (name: string) => {
  const found = await w.kube.get(RESOURCES.configMap, "default", name);
  return found.kind === "done" ? String(found.value.data?.value) : undefined;
};
const when = (what: string, holds: (app: Schemas["Application"]) => boolean | undefined, ms = 30_000) =>
  until(
    what,
    async () => {
      const app = await w.application("web");
      return app && holds(app) ? app : undefined;
    },
    ms,
  ).catch(async (error) => {
    throw new Error(
      `${error.message}; it is ${JSON.stringify((await w.application("web"))?.status)}; the agent said:\n${w.agent.said().slice(-1500)}`,
    );
  });

async function put(more: Partial<Schemas["ApplicationSpec"]> = {}) {
  const source = { repoUrl: git.cloneUrl("apps"), path: "web" };
  const spec = {
    agent: "one",
    argoProject: "default",
    revisionHistoryLimit: 10,
    source,
    destination: { namespace: "default" },
    ...more,
  };
  return ok(await w.service.api.PUT("/v1/applications/{id}", { params: { path: { id: "web" } }, body: { spec } }));
}

test("an application goes from the service through Git into the cluster and back as Synced and Healthy", async () => {
  const wanted = await put({ syncPolicy: { automated: { prune: true, selfHeal: true } } });
  const app = await when(
    "Synced and Healthy",
    ({ status }) =>
      status.observedGeneration === wanted.generation &&
      status.sync?.status === "Synced" &&
      status.health?.status === "Healthy",
  );
  expect([await live("a"), await live("b")]).toEqual(["one", "one"]);
  expect(app.status.resources?.map(({ kind, name, status }) => [kind, name, status]).sort()).toEqual([
    ["ConfigMap", "a", "Synced"],
    ["ConfigMap", "b", "Synced"],
  ]);
  expect(app.status.history?.length).toBe(1);
}, 60_000);

test("a refresh from the service brings a new commit, though the agent is killed on the way", async () => {
  const head = await commit("two");
  ok(
    await w.service.api.POST("/v1/applications/{id}/refresh", {
      params: { path: { id: "web" } },
      body: { hard: false },
    }),
  );
  await w.agent.stop("SIGKILL");
  w.startAgent();
  await when("the new commit", ({ status }) => status.sync?.revision === head && status.sync.status === "Synced");
  expect(await live("a")).toBe("two");
}, 60_000);

test("a sync that is asked for runs once and its end comes back with its id", async () => {
  await put();
  const head = await commit("three");
  ok(
    await w.service.api.POST("/v1/applications/{id}/refresh", {
      params: { path: { id: "web" } },
      body: { hard: false },
    }),
  );
  await when("OutOfSync", ({ status }) => status.sync?.status === "OutOfSync" && status.sync.revision === head);
  expect(await live("a")).toBe("two");
  ok(await w.service.api.POST("/v1/applications/{id}/sync", { params: { path: { id: "web" } }, body: {} }));
  const app = await when(
    "the end",
    ({ status }) =>
      status.operation?.phase === "Succeeded" && status.operation.id !== undefined && status.sync?.status === "Synced",
  );
  expect([await live("a"), app.status.operation?.revision]).toEqual(["three", head]);
}, 60_000);

test("a deletion with cascade takes the objects along, though the service is killed on the way", async () => {
  // In the background, because there is no garbage collector beside this API server.
  ok(
    await w.service.api.DELETE("/v1/applications/{id}", {
      params: { path: { id: "web" }, query: { cascade: "background" } },
    }),
  );
  await w.service.kill();
  await w.service.start();
  await until("the row to go", async () => (await w.application("web")) === undefined, 40_000);
  expect([await w.cr("web"), await live("a"), await live("b")]).toEqual([undefined, undefined, undefined]);
}, 90_000);
