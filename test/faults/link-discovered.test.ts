import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import type { Daemon } from "../servers/run.ts";
import { until } from "../servers/run.ts";
import { asInstalled, type LinkWorld, linkWorld, must, ok } from "./link-world.ts";

// Discovered objects through everything that is real: service, agent and controller with the chart's rights, and an API server.
const SET: Resource = {
  group: "argoproj.io",
  version: "v1alpha1",
  kind: "ApplicationSet",
  plural: "applicationsets",
  namespaced: true,
};

let w: LinkWorld;
let controller: Daemon;
beforeAll(async () => {
  w = await linkWorld();
  controller = await asInstalled(w);
}, 240_000);
afterAll(async () => {
  await controller?.stop();
  await w?.stop();
}, 60_000);

const spec = (path: string) => ({
  project: "default",
  source: { repoURL: "https://git.example.com/apps.git", path, targetRevision: "HEAD" },
  destination: { server: "https://kubernetes.default.svc", namespace: "default" },
});
const application = (name: string, metadata: object = {}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name, namespace: w.namespace, ...metadata },
  spec: spec(name),
});
const create = async (object: KubeObject, resource: Resource = RESOURCES.application) =>
  must(await w.kube.create(resource, object));
const shown = (id: string) => until(`${id} to be shown`, () => w.application(id), 60_000);
const path = (id: string) => ({ params: { path: { id } } });

test("children of a set, of an application and what kubectl applied appear, each with its origin and owner", async () => {
  await create(application("by-hand"));
  const annotations = { "argocd.argoproj.io/tracking-id": `by-hand:argoproj.io/Application:${w.namespace}/leaf` };
  await create(application("leaf", { annotations }));
  const generators = [{ list: { elements: [{ name: "set-a" }, { name: "set-b" }] } }];
  const template = { metadata: { name: "{{name}}" }, spec: spec("{{name}}") };
  await create(
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "ApplicationSet",
      metadata: { name: "teams", namespace: w.namespace },
      spec: { generators, template },
    },
    SET,
  );
  expect(await shown("by-hand")).toMatchObject({
    origin: "discovered",
    live: { namespace: w.namespace, name: "by-hand" },
  });
  expect(await shown("leaf")).toMatchObject({
    origin: "generated",
    owner: { kind: "application", name: "by-hand", address: "applications/by-hand" },
  });
  for (const id of ["set-a", "set-b"])
    expect(await shown(id)).toMatchObject({
      origin: "generated",
      owner: { kind: "applicationset", name: "teams", address: "applicationsets/teams" },
    });
  const set = ok(await w.service.api.GET("/v1/applicationsets/{id}", path("teams")));
  expect(set).toMatchObject({ origin: "discovered", spec: { goTemplate: false, generators } });
  const denied = await w.service.api.DELETE("/v1/applications/{id}", path("set-a"));
  expect([denied.response.status, denied.error]).toEqual([
    409,
    expect.objectContaining({ code: "owned_by", detail: expect.stringContaining("applicationsets/teams") }),
  ]);
}, 180_000);

test("tree, history and a sync work on a discovered application", async () => {
  await shown("by-hand");
  expect(ok(await w.service.api.GET("/v1/applications/{id}/tree", path("by-hand"))).nodes).toEqual(expect.anything());
  expect(ok(await w.service.api.GET("/v1/applications/{id}/history", path("by-hand"))).items).toEqual([]);
  const { status } = ok(
    await w.service.api.POST("/v1/applications/{id}/sync", { ...path("by-hand"), body: { prune: true } }),
  );
  expect(status.operation).toMatchObject({ phase: "Pending" });
  const asked = async () => {
    const object = await w.cr("by-hand");
    return object?.operation ?? object?.status?.operationState?.operation;
  };
  expect(await until("the operation at the live object", asked, 30_000)).toMatchObject({ sync: { prune: true } });
  // The controller carries it out, or says why not, and the service is told.
  await until("its outcome", async () => (await w.application("by-hand"))?.status.operation?.phase, 60_000);
}, 180_000);

test("a take-over marks the very object and makes no second one; forgotten again, it is shown as discovered", async () => {
  const before = await create(application("lent", { labels: { team: "a" } }));
  const { uid, spec: found } = await shown("lent");
  const refused = await w.service.api.PUT("/v1/applications/{id}", { ...path("lent"), body: { spec: found } });
  expect(refused.error).toMatchObject({ code: "not_adopted" });
  const taken = ok(
    await w.service.api.PUT("/v1/applications/{id}", {
      params: { path: { id: "lent" }, query: { adopt: true } },
      body: { spec: found },
    }),
  );
  expect(taken).toMatchObject({ uid, origin: "managed" });
  await until(
    "it to be delivered",
    async () => (await w.application("lent"))?.status.delivery?.state === "Delivered",
    60_000,
  );
  const after = (await w.cr("lent"))!;
  expect(after.metadata).toMatchObject({
    uid: before.metadata.uid,
    labels: { team: "a", "outpost.dev/managed": "true" },
  });
  expect(after.spec).toMatchObject({
    project: "default",
    source: before.spec.source,
    destination: { namespace: "default" },
  });
  const all = must(await w.kube.list(RESOURCES.application, { namespace: w.namespace })) as { items: KubeObject[] };
  expect(all.items.filter(({ metadata }) => metadata.name!.startsWith("lent"))).toHaveLength(1);

  ok(await w.service.api.DELETE("/v1/applications/{id}", { params: { path: { id: "lent" }, query: { force: true } } }));
  await w.agent.stop();
  w.startAgent(w.installed);
  expect(
    await until(
      "it to be discovered again",
      async () => {
        const one = await w.application("lent");
        return one?.origin === "discovered" && one;
      },
      60_000,
    ),
  ).toMatchObject({ origin: "discovered" });
  expect((await w.cr("lent"))!.metadata.uid).toBe(before.metadata.uid);
}, 180_000);

test("what is deleted in the cluster goes, also while the agent was away, and nothing goes because the agent is away", async () => {
  await create(application("brief"));
  await shown("brief");
  await w.agent.stop();
  must(await w.kube.delete(RESOURCES.application, w.namespace, "brief"));
  expect((await w.application("brief"))?.origin).toBe("discovered");
  w.startAgent(w.installed);
  await until("it to go", async () => !(await w.application("brief")), 60_000);
  expect((await w.application("by-hand"))?.origin).toBe("discovered");
}, 180_000);
