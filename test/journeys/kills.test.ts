import { whole } from "../../openapi/client.ts";
import { until } from "../servers/run.ts";
import { settled, type World, world } from "../world.ts";

let w: World;
let home: string;
beforeAll(async () => {
  w = await world();
  home = (await w.repository.tip("refs/heads/main"))!;
});
beforeEach(() => w.waitApplication("guestbook", "guestbook settled", settled));
afterAll(async () => {
  await w.repository.git("update-ref", "refs/heads/main", home);
  await w.cli("app", "refresh", "guestbook");
  await w.waitApplication(
    "guestbook",
    "guestbook back at its first commit",
    (a) => settled(a) && a.status.sync?.revision === home,
  );
});

const uids = async () =>
  (
    await w.cluster.kubectl("-n", "guestbook", "get", "deployment,service", "-o", "jsonpath={.items[*].metadata.uid}")
  ).trim();
const configMap = (n: number) => ({
  "guestbook/extra.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata:\n  n: "${n}"\n`,
});

test("every pod of the agent killed at once: it comes back, nothing is deleted, what was committed meanwhile becomes live", async () => {
  const before = await uids();
  await w.cluster.kubectl("-n", "outpost-agent", "delete", "pods", "--all", "--force", "--grace-period=0");
  const revision = await w.repository.commit(configMap(1), "While the agent is away", { branch: "main" });
  await w.cluster.kubectl(
    "-n",
    "outpost-agent",
    "wait",
    "--for=condition=Available",
    "deployment",
    "--all",
    "--timeout=240s",
  );
  await w.cli("app", "refresh", "guestbook");
  await w.waitApplication("guestbook", "the commit", (a) => settled(a) && a.status.sync?.revision === revision);
  expect(await uids()).toBe(before);
});

test("the service killed with -9: nothing is lost, the cluster goes on without it, and the agent comes back by itself", async () => {
  const before = await uids();
  const objects = await w.api.GET("/v1/applications").then((r) => whole(r.data!.items).map((a) => a.uid));
  await w.killService();
  try {
    // Without the service the cluster is kept equal to Git all the same.
    await w.cluster.kubectl("-n", "guestbook", "scale", "deployment", "guestbook", "--replicas=0");
    await until(
      "self-heal without the service",
      async () =>
        (
          await w.cluster.kubectl(
            "-n",
            "guestbook",
            "get",
            "deployment",
            "guestbook",
            "-o",
            "jsonpath={.spec.replicas}",
          )
        ).trim() !== "0",
      60_000,
    );
  } finally {
    await w.startService();
  }
  expect(await w.api.GET("/v1/applications").then((r) => whole(r.data!.items).map((a) => a.uid))).toEqual(objects);
  const revision = await w.repository.commit(configMap(2), "After the service is back", { branch: "main" });
  const waited = await w.cli("agent", "wait", (await w.application("guestbook")).spec.agent, "--timeout", "240s");
  expect([waited.exit, waited.err]).toEqual([0, expect.stringContaining("connected")]);
  await w.cli("app", "refresh", "guestbook");
  await w.waitApplication("guestbook", "the commit", (a) => settled(a) && a.status.sync?.revision === revision);
  expect(await uids()).toBe(before);
});
