import { jest } from "@jest/globals";
import type { Schemas } from "../../../../openapi/client.ts";
import { RESOURCES, type Resource } from "../../../kube/path.ts";
import { configMap, crd, deployment, GADGET, startCluster, type TestCluster } from "../../testing/cluster.ts";
import { temporaryFolder, until } from "../../testing/temporary.ts";
import { kubernetesApply } from "./kubernetes-apply.ts";
import { WORKLOADS } from "./revisions.ts";

/** Against a real API server; without controllers nothing becomes ready by itself, so the tests write what those would. */
const POD: Resource = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };
const dir = temporaryFolder();
jest.setTimeout(60_000);
let c: TestCluster;
beforeAll(async () => {
  c = await startCluster(dir);
}, 90_000);
afterAll(() => c?.stop());

type Apply = Schemas["TaskParamsKubernetesApply"];
const apply = (params: Partial<Apply>, timeoutSeconds = 240, log: string[] = []) =>
  c.bench.run(kubernetesApply, { cluster: c.access, namespace: "default", ...params } as Apply, {
    timeoutSeconds,
    log,
  });

describe("kubernetes.apply", () => {
  test("makes objects in an order in which they can be made: a namespace and a definition before what needs them", async () => {
    const gadget = "apiVersion: test.example/v1\nkind: Gadget\nmetadata: { name: first, namespace: fresh }\n---\n";
    const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: { name: fresh }\n---\n";
    const manifests = gadget + configMap("in-fresh", { a: "1" }, ", namespace: fresh") + crd + namespace;
    const ran = await apply({ manifests });
    expect([ran.outcome, ran.message]).toEqual(["succeeded", undefined]);
    expect(ran.outputs!.objects).toMatchObject([
      { kind: "Namespace", name: "fresh", result: "created" },
      { kind: "ConfigMap", namespace: "fresh", name: "in-fresh", result: "created" },
      { kind: "CustomResourceDefinition", result: "created" },
      { kind: "Gadget", namespace: "fresh", result: "created" },
    ]);
    expect(ran.log).toContain("ConfigMap fresh/in-fresh created");
    const owner = (await c.get(RESOURCES.configMap, "in-fresh", "fresh"))?.metadata.managedFields?.[0];
    expect([owner?.manager, owner?.operation]).toEqual(["outpost-delegate", "Apply"]);
  });

  test("says what became of each object: created, configured, unchanged", async () => {
    const results = async (manifests: string, more = {}) =>
      ((await apply({ manifests, ...more })).outputs!.objects as { result: string }[]).map(({ result }) => result);
    expect(await results(configMap("a1") + configMap("a2"))).toEqual(["created", "created"]);
    expect(await results(configMap("a1") + configMap("a2", { a: "2" }))).toEqual(["unchanged", "configured"]);
    expect(await results(configMap("a1", { a: "3" }) + configMap("a2", { a: "2" }), { dryRun: true })).toEqual([
      "configured",
      "unchanged",
    ]);
    expect((await c.get(RESOURCES.configMap, "a1"))?.data).toEqual({ a: "1" });
  });

  test("reads the files of a source in the order of their names, and a folder in it", async () => {
    const files = {
      "app/b.yaml": configMap("from-b"),
      "app/deep/c.json": JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "from-c" } }),
      "other.yaml": "not: this",
      "app/.hidden.yaml": "[",
    };
    const ran = await apply({ source: { files }, path: "app" });
    expect((ran.outputs!.objects as { name: string }[]).map(({ name }) => name)).toEqual(["from-b", "from-c"]);
  });

  test("an object with only the beginning of a name is a new one each time", async () => {
    const manifests = "apiVersion: v1\nkind: ConfigMap\nmetadata: { generateName: many- }\n";
    const names = [await apply({ manifests }), await apply({ manifests })].map(
      (ran) => (ran.outputs!.objects as { name: string }[])[0]!.name,
    );
    expect(new Set(names).size).toBe(2);
  });

  const failures: [string, { given: Record<string, unknown>; reason: string; says: RegExp }][] = [
    [
      "YAML that is none, by its line",
      {
        given: { manifests: "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x\n" },
        reason: "ManifestInvalid",
        says: /^manifests: line \d+: /,
      },
    ],
    [
      "a file that is none, by its name",
      {
        given: { source: { files: { "a/b.yaml": "kind: [" } } },
        reason: "ManifestInvalid",
        says: /^a\/b\.yaml: line 1: /,
      },
    ],
    [
      "an object without a kind",
      { given: { manifests: "metadata: { name: x }" }, reason: "ManifestInvalid", says: /no kind/ },
    ],
    ["nothing to apply", { given: { manifests: "# nothing" }, reason: "NoManifests", says: /no object/ }],
    ["no manifests at all", { given: {}, reason: "ParamsInvalid", says: /`manifests` or a `source`/ }],
    [
      "a kind in a version that is gone, with the one that is there",
      {
        given: { manifests: deployment("old").replace("apps/v1", "extensions/v1beta1") },
        reason: "KindNotFound",
        says: /Deployment old: .*no kind Deployment in extensions\/v1beta1; it serves Deployment as apps\/v1/,
      },
    ],
    [
      "an unknown kind, before anything is changed",
      {
        given: { manifests: `${configMap("never")}apiVersion: a.example/v1\nkind: Thing\nmetadata: { name: t }` },
        reason: "KindNotFound",
        says: /its CustomResourceDefinition may be missing/,
      },
    ],
    [
      "a field that is not there",
      {
        given: { manifests: `${configMap("bad")}`.replace("\ndata:", "\ndato:") },
        reason: "Invalid",
        says: /ConfigMap.*bad.*dato/,
      },
    ],
    [
      "a namespace that is not there",
      {
        given: { manifests: configMap("lost", {}, ", namespace: nowhere") },
        reason: "NamespaceNotFound",
        says: /"nowhere" not found; add the Namespace to the manifests/,
      },
    ],
    [
      "the same object twice",
      {
        given: { manifests: configMap("twice") + configMap("twice") },
        reason: "ObjectTwice",
        says: /ConfigMap default\/twice is there twice/,
      },
    ],
    [
      "a path that leads out",
      { given: { source: { files: { "a.yaml": "{}" } }, path: "b" }, reason: "PathNotFound", says: /no "b"/ },
    ],
    [
      "files for Kustomize",
      {
        given: { source: { files: { "kustomization.yaml": "{}", "a.yaml": "{}" } } },
        reason: "KustomizationFound",
        says: /render it first/,
      },
    ],
    [
      "a kubeconfig that names files of the delegate",
      {
        given: {
          manifests: configMap("x"),
          cluster: {
            kubeconfig:
              '{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1","certificate-authority":"/etc/passwd"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"}',
          },
        },
        reason: "KubeconfigInvalid",
        says: /names the file \/etc\/passwd; put its content in/,
      },
    ],
    [
      "a kubeconfig that runs a program",
      {
        given: {
          manifests: configMap("x"),
          cluster: {
            kubeconfig:
              '{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],"users":[{"name":"u","user":{"exec":{"command":"id"}}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}',
          },
        },
        reason: "KubeconfigInvalid",
        says: /plugin id, which is not allowed here; its operator allows it by OUTPOST_KUBECONFIG_EXEC/,
      },
    ],
    [
      "no cluster at all",
      {
        given: { manifests: configMap("x"), cluster: undefined },
        reason: "NoCluster",
        says: /does not run in a cluster/,
      },
    ],
  ];
  test.each(failures)("refuses %s", async (_name, { given, reason, says }) => {
    const ran = await apply(given);
    expect([ran.outcome, ran.reason, ran.message]).toEqual(["failed", reason, expect.stringMatching(says)]);
    expect(await c.get(RESOURCES.configMap, "never")).toBeUndefined();
  });

  test("a field of somebody else is not taken over unless that is said; both are named", async () => {
    await c.client.apply(RESOURCES.configMap, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "theirs", namespace: "default" },
      data: { a: "theirs" },
    });
    const ran = await apply({ manifests: configMap("theirs", { a: "ours" }) });
    expect([ran.reason, ran.message]).toEqual([
      "FieldConflict",
      expect.stringMatching(/conflict with "somebody".*\.data\.a; .*`force`/),
    ]);
    expect((await apply({ manifests: configMap("theirs", { a: "ours" }), force: true })).outcome).toBe("succeeded");
  });

  test("what cannot be changed says so, with what had been applied before", async () => {
    await apply({ manifests: deployment("fixed"), wait: false });
    const ran = await apply({ manifests: configMap("before") + deployment("fixed", "x:1", "other"), wait: false });
    expect([ran.reason, ran.message]).toEqual([
      "FieldImmutable",
      expect.stringMatching(
        /Deployment.*fixed.*immutable; delete the object first.*\(1 of 2 objects had been applied; those stay\)/s,
      ),
    ]);
    expect(ran.outputs!.objects).toHaveLength(1);
  });

  test("a right that is missing is named: verb, resource, namespace", async () => {
    const ran = await apply({ manifests: configMap("forbidden"), cluster: c.limited });
    expect([ran.reason, ran.message]).toEqual([
      "Forbidden",
      expect.stringMatching(
        /"limited" cannot patch resource "configmaps".* in the namespace "default"; give the delegate's service account this right/,
      ),
    ]);
  });

  test("a server and a token do as well as a kubeconfig; the token is not in the log", async () => {
    const token = parseKubeconfigToken(c.access.kubeconfig!);
    const caCertificate = Buffer.from(
      JSON.parse(c.access.kubeconfig!).clusters[0].cluster["certificate-authority-data"],
      "base64",
    ).toString();
    const ran = await apply({
      manifests: configMap("by-token", { token }),
      cluster: { server: c.api.url, token, caCertificate },
    });
    expect(ran.outcome).toBe("succeeded");
    const wrong = await apply({
      manifests: configMap("x"),
      cluster: { server: c.api.url, token: "wrong-token", caCertificate },
    });
    expect([wrong.reason, wrong.message]).toEqual([
      "Unauthorized",
      expect.stringMatching(/does not accept the credentials/),
    ]);
  });

  test("waits until a workload is rolled out, and says for what", async () => {
    const log: string[] = [];
    const running = apply({ manifests: deployment("slow") }, 60, log);
    const waits = /^waiting for apps\/Deployment default\/slow: .*\(it has no Pods yet\)/;
    await until("it says for what it waits", () => log.some((line) => waits.test(line)), 30_000);
    const { generation } = (await c.get(WORKLOADS.Deployment, "slow"))!.metadata;
    const all = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
    await c.status(WORKLOADS.Deployment, "slow", { observedGeneration: generation, ...all });
    const ran = await running;
    expect([ran.outcome, ran.message]).toEqual(["succeeded", undefined]);
  });

  test("a container that crashes again and again is not taken for ready in the instants in which it runs", async () => {
    const log: string[] = [];
    const running = apply({ manifests: deployment("loops") }, 14, log);
    await until("it is there", () => c.get(WORKLOADS.Deployment, "loops"));
    const containers = [{ name: "c", image: "x:1" }];
    await c.client.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "loops-1", namespace: "default", labels: { app: "loops" } },
      spec: { containers },
    });
    const startedAt = new Date().toISOString();
    const container = {
      name: "c",
      image: "x:1",
      imageID: "x",
      ready: true,
      restartCount: 3,
      state: { running: { startedAt } },
    };
    await c.status(POD, "loops-1", {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [container],
    });
    const { generation } = (await c.get(WORKLOADS.Deployment, "loops"))!.metadata;
    const all = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
    await c.status(WORKLOADS.Deployment, "loops", { observedGeneration: generation, ...all });
    const ran = await running;
    expect([ran.reason, ran.message]).toEqual([
      "NotReady",
      expect.stringMatching(
        /container c of Pod loops-1 has just started after 3 restarts; without a readiness probe .* run for 20 s/,
      ),
    ]);
  });

  test("waits for the condition Ready of a kind that it does not know", async () => {
    await apply({ manifests: crd });
    const gadget = { apiVersion: "test.example/v1", kind: "Gadget", metadata: { name: "waits", namespace: "default" } };
    await c.client.create(GADGET, gadget);
    const condition = (value: string) =>
      c.status(GADGET, "waits", { conditions: [{ type: "Ready", status: value, message: "counting sheep" }] });
    await condition("False");
    const late = await apply({ manifests: JSON.stringify(gadget) }, 12);
    expect([late.reason, late.message]).toEqual([
      "NotReady",
      "not ready in the task's time: test.example/Gadget default/waits: counting sheep",
    ]);
    await condition("True");
    expect((await apply({ manifests: JSON.stringify(gadget) })).outcome).toBe("succeeded");
  });

  test("a failed job ends the wait at once", async () => {
    const manifests =
      "apiVersion: batch/v1\nkind: Job\nmetadata: { name: breaks }\nspec: { template: { spec: { restartPolicy: Never, containers: [{ name: c, image: x }] } } }\n";
    const job: Resource = { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true };
    const running = apply({ manifests });
    await until("it is there", () => c.get(job, "breaks"));
    const now = new Date().toISOString();
    const failed = (type: string) => ({
      type,
      status: "True",
      reason: "BackoffLimitExceeded",
      message: "Job has reached the specified backoff limit",
      lastTransitionTime: now,
    });
    await c.status(job, "breaks", { startTime: now, conditions: [failed("FailureTarget"), failed("Failed")] });
    const ran = await running;
    expect([ran.reason, ran.message]).toEqual([
      "ObjectFailed",
      expect.stringMatching(/^batch\/Job default\/breaks: Job has reached the specified backoff limit/),
    ]);
  });
});

const parseKubeconfigToken = (text: string): string => JSON.parse(text).users[0].user.token;
