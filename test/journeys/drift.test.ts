import { until } from "../servers/run.ts";
import { settled, type World, world } from "../world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
  await w.waitApplication("guestbook", "guestbook settled", settled);
});

const replicas = async () =>
  (
    await w.cluster.kubectl("-n", "guestbook", "get", "deployment", "guestbook", "-o", "jsonpath={.spec.replicas}")
  ).trim();

test("a change made in the cluster is undone", async () => {
  const wanted = await replicas();
  await w.cluster.kubectl(
    "-n",
    "guestbook",
    "patch",
    "deployment",
    "guestbook",
    "--type=merge",
    "-p",
    '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":7}}}}',
  );
  await w.cluster.kubectl("-n", "guestbook", "scale", "deployment", "guestbook", "--replicas=0");
  await until("self-heal", async () => (await replicas()) === wanted, 60_000);
  await w.waitApplication("guestbook", "guestbook settled again", settled);
});

test("an object deleted in the cluster comes back", async () => {
  const uid = () =>
    w.cluster
      .kubectl("-n", "guestbook", "get", "service", "guestbook", "-o", "jsonpath={.metadata.uid}")
      .catch(() => "");
  const before = await uid();
  await w.cluster.kubectl("-n", "guestbook", "delete", "service", "guestbook");
  await until("the service comes back", async () => !["", before].includes(await uid()), 60_000);
  await w.waitApplication("guestbook", "guestbook settled again", settled);
});

test("an object that nobody manages is left alone", async () => {
  await w.cluster.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "mine", namespace: "guestbook" },
    data: { a: "1" },
  });
  const { exit } = await w.cli("app", "sync", "guestbook", "--prune", "--timeout", "240s");
  expect(exit).toBe(0);
  expect(await w.cluster.kubectl("-n", "guestbook", "get", "configmap", "mine", "-o", "name")).toContain("mine");
  await w.cluster.kubectl("-n", "guestbook", "delete", "configmap", "mine");
});

test("unchanged objects are not written again", async () => {
  const version = () =>
    w.cluster.kubectl("-n", "guestbook", "get", "service", "guestbook", "-o", "jsonpath={.metadata.resourceVersion}");
  const before = await version();
  for (let i = 0; i < 3; i++) expect((await w.cli("app", "sync", "guestbook", "--timeout", "240s")).exit).toBe(0);
  expect(await version()).toBe(before);
});
