import { jest } from "@jest/globals";
import type { Schemas } from "../../../../openapi/client.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { configMap, crd, deployment, startCluster, type TestCluster } from "../../testing/cluster.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { kubernetesApply } from "./kubernetes-apply.ts";
import { kubernetesDelete } from "./kubernetes-delete.ts";
import { kubernetesRollout } from "./kubernetes-rollout.ts";
import { WORKLOADS } from "./revisions.ts";

/** Against a real API server; without controllers nothing becomes ready by itself, so the tests write what those would. */
const dir = temporaryFolder();
jest.setTimeout(60_000);
let c: TestCluster;
beforeAll(async () => {
  c = await startCluster(dir);
}, 90_000);
afterAll(() => c?.stop());

type Apply = Schemas["TaskParamsKubernetesApply"];
const apply = (params: Partial<Apply>, timeoutSeconds = 240) =>
  c.bench.run(kubernetesApply, { cluster: c.access, namespace: "default", ...params } as Apply, { timeoutSeconds });

describe("kubernetes.delete", () => {
  test("deletes what manifests or names say, and takes what is not there for done", async () => {
    await apply({ manifests: configMap("d1") + configMap("d2") });
    const objects = [
      { apiVersion: "v1", kind: "ConfigMap", name: "d2" },
      { apiVersion: "v1", kind: "ConfigMap", name: "d3" },
    ];
    const ran = await c.bench.run(kubernetesDelete, {
      cluster: c.access,
      namespace: "default",
      manifests: configMap("d1"),
      objects,
      propagation: "background",
      wait: true,
    });
    expect(ran.outcome).toBe("succeeded");
    expect(
      (ran.outputs!.objects as { name: string; result: string }[])
        .map(({ name, result }) => `${name} ${result}`)
        .sort(),
    ).toEqual(["d1 deleted", "d2 deleted", "d3 absent"]);
    expect(await c.get(RESOURCES.configMap, "d1")).toBeUndefined();
  });

  test("what a finalizer holds is said when the time ends", async () => {
    await apply({ manifests: configMap("held", { a: "1" }, ', finalizers: ["test.example/hold"]') });
    const ran = await c.bench.run(
      kubernetesDelete,
      { cluster: c.access, namespace: "default", manifests: configMap("held"), propagation: "background", wait: true },
      { timeoutSeconds: 8 },
    );
    expect([ran.reason, ran.message]).toEqual([
      "NotGone",
      expect.stringMatching(/ConfigMap default\/held is still there: the finalizers test\.example\/hold hold it/),
    ]);
    await c.client.mergePatch(RESOURCES.configMap, "default", "held", { metadata: { finalizers: null } });
  });

  test("a definition goes with its objects, and once more without any of them", async () => {
    const manifests = `${crd}apiVersion: test.example/v1\nkind: Gadget\nmetadata: { name: last }\n`;
    await apply({ manifests });
    const params = {
      cluster: c.access,
      namespace: "default",
      manifests,
      propagation: "background" as const,
      wait: true,
    };
    expect((await c.bench.run(kubernetesDelete, params)).outcome).toBe("succeeded");
    const again = await c.bench.run(kubernetesDelete, params);
    expect([again.outcome, (again.outputs!.objects as { result: string }[]).map(({ result }) => result)]).toEqual([
      "succeeded",
      ["absent", "absent"],
    ]);
  });
});

describe("kubernetes.rollout", () => {
  const rollout = (
    action: Schemas["TaskParamsKubernetesRollout"]["action"],
    more: Partial<Schemas["TaskParamsKubernetesRollout"]> = {},
  ) =>
    c.bench.run(kubernetesRollout, {
      cluster: c.access,
      namespace: "default",
      kind: "Deployment",
      name: "rolls",
      action,
      wait: false,
      ...more,
    } as Schemas["TaskParamsKubernetesRollout"]);
  beforeAll(async () => {
    await apply({ manifests: deployment("rolls", "x:2"), wait: false });
    const live = (await c.get(WORKLOADS.Deployment, "rolls"))!;
    await c.client.mergePatch(WORKLOADS.Deployment, "default", "rolls", {
      metadata: { annotations: { "deployment.kubernetes.io/revision": "2" } },
    });
    const owner = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: "rolls",
      uid: live.metadata.uid!,
      controller: true,
    };
    for (const [number, image] of [
      ["1", "x:1"],
      ["2", "x:2"],
    ] as const) {
      const labels = { app: "rolls", "pod-template-hash": `h${number}` };
      const metadata = {
        name: `rolls-${number}`,
        namespace: "default",
        labels,
        ownerReferences: [owner],
        annotations: { "deployment.kubernetes.io/revision": number },
      };
      const template = { metadata: { labels }, spec: { containers: [{ name: "c", image }] } };
      await c.client.create(
        { ...WORKLOADS.Deployment, kind: "ReplicaSet", plural: "replicasets" },
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          metadata,
          spec: { replicas: 0, selector: { matchLabels: labels }, template },
        },
      );
    }
  });
  const template = async () => (await c.get(WORKLOADS.Deployment, "rolls"))!.spec.template;

  test("status tells the revision and the replicas", async () => {
    expect((await rollout("status")).outputs).toEqual({ revision: 2, ready: 0, wanted: 2 });
  });
  test("restart changes the template and nothing else", async () => {
    const before = await template();
    expect((await rollout("restart")).outcome).toBe("succeeded");
    const { metadata, ...after } = await template();
    expect([metadata.annotations["kubectl.kubernetes.io/restartedAt"], after]).toEqual([
      expect.any(String),
      { spec: before.spec },
    ]);
  });
  test("pause stops it, and what cannot be done then is refused; resume lets it go on", async () => {
    expect((await rollout("pause")).outcome).toBe("succeeded");
    expect((await c.get(WORKLOADS.Deployment, "rolls"))?.spec.paused).toBe(true);
    expect((await rollout("restart")).message).toMatch(/is paused; resume it first/);
    await rollout("resume");
    expect((await c.get(WORKLOADS.Deployment, "rolls"))?.spec.paused).toBeUndefined();
  });
  test("undo goes back to the revision before, or to the one named", async () => {
    const ran = await rollout("undo");
    expect([ran.outcome, (await template()).spec.containers[0].image]).toEqual(["succeeded", "x:1"]);
    expect((await template()).metadata.labels).toEqual({ app: "rolls" });
    const none = await rollout("undo", { toRevision: 9 });
    expect([none.reason, none.message]).toEqual([
      "RevisionNotFound",
      expect.stringMatching(/the revision 9 is not there; the cluster keeps 1, 2/),
    ]);
  });
  test("one that is not there is named", async () => {
    expect((await rollout("status", { name: "nobody" })).message).toMatch(
      /apps\/Deployment default\/nobody: .*not found/,
    );
  });
});
