import type { KubeObject } from "../../../kube/object.ts";
import { workloadsOf } from "./workloads.ts";

const object = (kind: string, name: string, more: object, apiVersion = "apps/v1"): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "web" },
  ...more,
});
const template = (image: string, version?: string) => ({
  ...(version ? { metadata: { labels: { "app.kubernetes.io/version": version } } } : {}),
  spec: { initContainers: [{ image: "init:1" }], containers: [{ image }, { image }] },
});
const counts = (one: KubeObject) => workloadsOf([one]).map(({ ready, total }) => `${ready}/${total}`);

test("a workload has its version, its images and how many Pods are ready", () => {
  const one = object("Deployment", "web", {
    spec: { replicas: 3, template: template("web:2", "2.0") },
    status: { readyReplicas: 2 },
  });
  expect(workloadsOf([one])).toEqual([
    {
      group: "apps",
      kind: "Deployment",
      namespace: "web",
      name: "web",
      version: "2.0",
      images: ["web:2"],
      ready: 2,
      total: 3,
    },
  ]);
});

const ready = (status: string) => ({ status: { conditions: [{ type: "Ready", status }] } });
test.each<[string, KubeObject, string[]]>([
  ["a Deployment without a number has one Pod", object("Deployment", "a", { spec: {} }), ["0/1"]],
  ["a StatefulSet", object("StatefulSet", "a", { spec: { replicas: 2 }, status: { readyReplicas: 2 } }), ["2/2"]],
  ["a Deployment that is scaled to none", object("Deployment", "a", { spec: { replicas: 0 } }), ["0/0"]],
  ["a DaemonSet", object("DaemonSet", "a", { status: { numberReady: 1, desiredNumberScheduled: 4 } }), ["1/4"]],
  ["a Pod that is ready", object("Pod", "a", ready("True"), "v1"), ["1/1"]],
  ["a Pod that is not", object("Pod", "a", ready("False"), "v1"), ["0/1"]],
  [
    "a Rollout",
    object("Rollout", "a", { spec: { replicas: 5 }, status: { readyReplicas: 4 } }, "argoproj.io/v1alpha1"),
    ["4/5"],
  ],
  ["a Deployment of another group", object("Deployment", "a", {}, "example.com/v1"), []],
  ["an object without Pods", object("ConfigMap", "a", {}, "v1"), []],
  [
    "numbers of any shape",
    object("Deployment", "a", { spec: { replicas: "many" }, status: { readyReplicas: -1 } }),
    ["0/0"],
  ],
])("%s", (_what, one, want) => expect(counts(one)).toEqual(want));

test("many workloads are bounded, and their order is that of their names", () => {
  const many = Array.from({ length: 80 }, (_, n) => object("Deployment", `w${String(79 - n).padStart(2, "0")}`, {}));
  const names = workloadsOf(many).map(({ name }) => name);
  expect([names.length, names[0], names.at(-1)]).toEqual([50, "w00", "w49"]);
});
