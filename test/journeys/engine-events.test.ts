import type { KubeObject } from "../../server/kube/object.ts";
import type { Resource } from "../../server/kube/path.ts";
import { configMap, synced, value, type World, world } from "./engine-world.ts";

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
  expect(involvedObject).toMatchObject({ apiVersion: "argoproj.io/v1alpha1", kind: "Application", name: "told", uid: app.metadata.uid });
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
