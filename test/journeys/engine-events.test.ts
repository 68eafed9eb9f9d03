import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import type { Resource } from "../../server/kube/path.ts";
import { configMap, synced, value, type World, world } from "./engine-world.ts";
import { startSets } from "./set-world.ts";

const EVENT: Resource = { group: "", version: "v1", kind: "Event", plural: "events", namespaced: true };
let w: World;
beforeAll(async () => {
  w = await world();
}, 90_000);
afterAll(() => w?.stop(), 30_000);

/** What was told of an application, in the order in which it was written. */
async function told(name: string): Promise<string[]> {
  const { items } = value(await w.client.list(EVENT, { namespace: w.namespace }));
  const number = (event: KubeObject) => Number(event.metadata.resourceVersion);
  return items
    .filter(({ involvedObject: of }) => (of as { name: string }).name === name)
    .sort((a, b) => number(a) - number(b))
    .map(({ type, reason, message }) => `${type} ${reason} ${message}`);
}

test("syncs, and changes of sync and health, are Kubernetes events of the application", async () => {
  const repository = await w.git.createRepository("told", { files: { "app/a.yaml": configMap("a", { v: "1" }) } });
  const first = (await repository.tip("refs/heads/main"))!;
  await w.app("told", { repo: "told", path: "app" });
  const app = await w.until("told", synced);
  await w.settled(async () => (await told("told")).length >= 4, "told of the first sync");
  expect((await told("told")).filter((one) => !one.includes("health"))).toEqual([
    `Normal OperationStarted Initiated automated sync to '${first}'`,
    `Normal OperationCompleted Sync operation to ${first} succeeded`,
    "Normal ResourceUpdated Updated sync status:  -> Synced",
  ]);
  const { items } = value(await w.client.list(EVENT, { namespace: w.namespace }));
  const { metadata, involvedObject, source } = items[0]!;
  expect(metadata.annotations).toEqual({ "dest-server": app.spec.destination.server ?? "", "dest-namespace": "told" });
  expect(involvedObject).toMatchObject({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    name: "told",
    uid: app.metadata.uid,
  });
  expect(source).toEqual({ component: "outpost-controller" });
});

test("a look that changes nothing is not an event, and one that changes something is told", async () => {
  const before = (await told("told")).length;
  await w.refresh("told");
  const second = await w.git.commit("told", { "app/a.yaml": configMap("a", { v: "2" }) }, "second");
  await w.refresh("told");
  const last = `Normal OperationCompleted Sync operation to ${second} succeeded`;
  await w.settled(async () => (await told("told")).includes(last), "told of the second sync");
  expect((await told("told")).slice(before).filter((one) => !one.includes("status:"))).toEqual([
    `Normal OperationStarted Initiated automated sync to '${second}'`,
    last,
  ]);
});

test("what a set does to its applications is a Kubernetes event of the set", async () => {
  const { sets, home } = await startSets(w);
  try {
    const generators = (...names: string[]) => [{ list: { elements: names.map((name) => ({ name })) } }];
    const source = { repoURL: w.git.cloneUrl("told"), path: "app", targetRevision: "main" };
    const spec = { project: "default", source, destination: { name: "in-cluster", namespace: "{{.name}}" } };
    const made = value(
      await w.client.create(APPLICATION_SET, {
        apiVersion: "argoproj.io/v1alpha1",
        kind: "ApplicationSet",
        metadata: { name: "telling", namespace: w.namespace },
        spec: {
          goTemplate: true,
          generators: generators("one", "two"),
          template: { metadata: { name: "{{.name}}" }, spec },
        },
      }),
    );
    await w.settled(async () => (await told("telling")).length === 2, "told of both");
    value(
      await w.client.mergePatch(APPLICATION_SET, w.namespace, "telling", { spec: { generators: generators("one") } }),
    );
    await w.settled(async () => (await told("telling")).length === 3, "told of the deletion");
    expect((await told("telling")).sort()).toEqual([
      'Normal Deleted Deleted Application "two"',
      'Normal created created Application "one"',
      'Normal created created Application "two"',
    ]);
    const { items } = value(await w.client.list(EVENT, { namespace: w.namespace }));
    const { uid } = made.metadata;
    expect(items.map((event) => event.involvedObject)).toContainEqual(
      expect.objectContaining({ kind: "ApplicationSet", uid }),
    );
  } finally {
    await sets.stop();
    await home.close();
  }
});
