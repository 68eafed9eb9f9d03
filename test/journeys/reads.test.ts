import type { Schemas } from "../../openapi/client.ts";
import { until } from "../servers/run.ts";
import { settled, type World, world } from "../world.ts";

/** What people look at and do by hand: the tree, an action, a rollback, the end of a sync, and who changed what. */
let w: World;
let image: string;
const kubectl = (...args: string[]) => w.cluster.kubectl(...args);
beforeAll(async () => {
  w = await world();
  await w.waitApplication("guestbook", "guestbook settled", settled);
  image = await kubectl(
    "-n",
    "guestbook",
    "get",
    "deployment",
    "guestbook",
    "-o",
    "jsonpath={.spec.template.spec.containers[0].image}",
  );
});

const treeOf = async (id: string): Promise<Schemas["ResourceTree"]> =>
  JSON.parse((await w.cli("app", "tree", id, "-o", "json")).out);
/** What came of an object, one step down. */
const below = (tree: Schemas["ResourceTree"], kind: string, uid?: string) =>
  tree.nodes.filter((node) => node.kind === kind && (uid === undefined || node.parents?.includes(uid)));

test("the tree leads from the Deployment to its running Pod, and from the Service to its addresses", async () => {
  const tree = await treeOf("guestbook");
  const [deployment] = below(tree, "Deployment");
  const sets = below(tree, "ReplicaSet", deployment!.uid);
  const pods = sets.flatMap((set) => below(tree, "Pod", set.uid));
  expect(deployment).toMatchObject({ status: "Synced", health: "Healthy" });
  expect(pods.length).toBeGreaterThan(0);
  for (const pod of pods) {
    expect(pod).toMatchObject({ health: "Healthy", images: [image] });
    expect(pod.info).toContainEqual({ name: "ready", value: "1/1" });
  }
  const [service] = below(tree, "Service");
  expect(below(tree, "EndpointSlice", service!.uid)).toHaveLength(1);
  expect(below(tree, "Endpoints", service!.uid)).toHaveLength(1);
  const { out } = await w.cli("app", "tree", "guestbook");
  expect(out).toMatch(/^apps\/Deployment guestbook +Synced +Healthy/m);
  expect(out).toMatch(/^ {3}└─ Pod guestbook-|^│ {2}└─ Pod guestbook-/m);
});

test("what its Pods write and what Kubernetes tells of them is read through the agent", async () => {
  const of = ["--group", "apps", "--kind", "Deployment", "--name", "guestbook"];
  const line = expect.stringMatching(/(^|│ )guestbook on port \d+$/m);
  const logs = await w.cli("app", "logs", "guestbook", ...of);
  expect([logs.exit, logs.err, logs.out]).toEqual([0, "", line]);
  const followed = await w.cli("app", "logs", "guestbook", ...of, "--follow", "--timeout", "5s");
  expect([followed.exit, followed.err, followed.out]).toEqual([0, "the time is over\n", line]);
  const events = await w.cli("app", "events", "guestbook");
  expect([events.exit, events.out]).toEqual([0, expect.stringMatching(/Started +.*Pod/)]);
});

test("a restart makes new Pods, and self-heal lets it be", async () => {
  const pods = async () =>
    (await kubectl("-n", "guestbook", "get", "pods", "-o", "jsonpath={.items[*].metadata.uid}")).split(" ");
  const before = await pods();
  const did = await w.cli("app", "action", "guestbook", "apps/Deployment/guestbook/guestbook", "restart");
  expect([did.exit, did.err]).toEqual([
    0,
    expect.stringContaining("restart of apps/Deployment/guestbook/guestbook is done"),
  ]);
  const restarted = "jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}";
  expect(await kubectl("-n", "guestbook", "get", "deployment", "guestbook", "-o", restarted)).toMatch(/Z$/);
  await kubectl("-n", "guestbook", "rollout", "status", "deployment/guestbook", "--timeout=240s");
  await until("new pods", async () => !(await pods()).some((uid) => before.includes(uid)));
  expect((await w.cli("app", "diff", "guestbook")).exit).toBe(0);
  await w.waitApplication("guestbook", "guestbook settled again", settled);
});

describe("an application that is synced by hand", () => {
  const BRANCH = "reads";
  const map = (value: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  value: ${value}\n`;
  const commit = (files: Record<string, string | null>, message: string) =>
    w.repository.commit(files, message, { branch: BRANCH });
  const value = () => kubectl("-n", "reads", "get", "configmap", "settings", "-o", "jsonpath={.data.value}");
  beforeAll(async () => {
    await commit({ "reads/settings.yaml": map("one") }, "Begin");
    const spec = {
      agent: "quickstart",
      argoProject: "default",
      revisionHistoryLimit: 10,
      source: { repository: "code", path: "reads", targetRevision: BRANCH },
      destination: { namespace: "reads" },
      syncPolicy: { syncOptions: ["CreateNamespace=true"] },
    };
    await w.api.PUT("/v1/applications/{id}", { params: { path: { id: "reads" } }, body: { spec } });
    expect((await w.cli("app", "sync", "reads", "--timeout", "240s")).exit).toBe(0);
  });
  afterAll(async () => {
    await w.cli("app", "delete", "reads", "--timeout", "240s");
    await kubectl("delete", "namespace", "reads", "--wait=false").catch(() => undefined);
    await w.repository.git("update-ref", "-d", `refs/heads/${BRANCH}`);
  });

  test("goes back to what an entry of its history deployed", async () => {
    const second = await commit({ "reads/settings.yaml": map("two") }, "Change it");
    await w.cli("app", "refresh", "reads");
    await w.waitApplication("reads", "the commit", (a) => a.status.sync?.revision === second);
    expect((await w.cli("app", "sync", "reads", "--timeout", "240s")).exit).toBe(0);
    expect(await value()).toBe("two");
    const back = await w.cli("app", "rollback", "reads", "0", "--timeout", "240s");
    expect([back.exit, back.err]).toEqual([0, expect.stringContaining("✓ app reads")]);
    expect(await value()).toBe("one");
    const history = await w.waitApplication("reads", "the entry of it", (a) => a.status.history?.length === 3);
    expect(history.status.history!.map(({ cause }) => cause)).toEqual(["Manual", "Manual", "Rollback"]);
    const unknown = await w.cli("app", "rollback", "reads", "9");
    expect([unknown.exit, unknown.err]).toEqual([
      2,
      expect.stringContaining("The history has no entry 9. It has 0, 1, 2."),
    ]);
    const { out } = await w.cli("app", "revision", "reads");
    expect(out).toContain("Change it");
  });

  test("names who changed what is live", async () => {
    const patch = '{"data":{"value":"by hand"}}';
    await kubectl(
      "-n",
      "reads",
      "patch",
      "configmap",
      "settings",
      "--type=merge",
      "--field-manager=kubectl-edit",
      "-p",
      patch,
    );
    const { exit, out } = await w.cli("app", "diff", "reads");
    expect([exit, out]).toEqual([1, expect.stringContaining("/data/value was set by kubectl-edit")]);
  });

  test("a sync that waits for a Job is ended, and the Job with it", async () => {
    const job = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "sleeps", annotations: { "argocd.argoproj.io/hook": "PreSync" } },
      spec: {
        template: {
          spec: {
            restartPolicy: "Never",
            terminationGracePeriodSeconds: 1,
            containers: [{ name: "c", image, command: ["node", "-e", "setTimeout(() => {}, 600000)"] }],
          },
        },
      },
    };
    const third = await commit(
      { "reads/job.yaml": JSON.stringify(job), "reads/settings.yaml": map("three") },
      "Wait for a Job",
    );
    await w.cli("app", "refresh", "reads");
    await w.waitApplication("reads", "the commit", (a) => a.status.sync?.revision === third);
    expect((await w.cli("app", "sync", "reads", "--no-wait")).exit).toBe(0);
    await w.waitApplication(
      "reads",
      "its hook to run",
      (a) => a.status.operation?.message?.includes("Job/sleeps") === true,
    );
    const tree = await until("the Job's Pod in the tree", async () => {
      const now = await treeOf("reads");
      return below(now, "Pod").length > 0 && now;
    });
    const [hook] = below(tree, "Job");
    expect([hook!.hook, below(tree, "Pod", hook!.uid).length]).toEqual([true, 1]);
    const ended = await w.cli("app", "terminate", "reads", "--timeout", "240s");
    expect([ended.exit, ended.err]).toEqual([0, expect.stringContaining("Operation terminated")]);
    await until("the Job to go", async () => (await kubectl("-n", "reads", "get", "jobs", "-o", "name")).trim() === "");
    expect(await value()).toBe("by hand");
    expect((await w.cli("app", "terminate", "reads")).exit).toBe(4);
  });
});
