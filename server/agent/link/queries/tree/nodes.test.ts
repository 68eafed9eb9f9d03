import type { KubeObject } from "../../../../kube/object.ts";
import { infoOf, nodeOf } from "./nodes.ts";

const object = (kind: string, name: string, owner?: string, more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion:
    kind === "Pod" || kind === "Service" || kind === "Endpoints" || kind === "PersistentVolumeClaim" ? "v1" : "apps/v1",
  kind,
  metadata: {
    name,
    namespace: "web",
    uid: `uid-${name}`,
    ...(owner ? { ownerReferences: [{ apiVersion: "apps/v1", kind: "X", name: owner, uid: `uid-${owner}` }] } : {}),
  },
  ...more,
});

const text = (one: KubeObject) => infoOf(one).map(({ name, value }) => `${name} ${value}`);
test("a line says what a person wants to see at once", () => {
  const pod = object("Pod", "p", undefined, {
    spec: {
      nodeName: "n1",
      containers: [
        { name: "a", image: "a:1" },
        { name: "b", image: "b:1" },
      ],
    },
    status: {
      phase: "Running",
      containerStatuses: [
        { ready: true, restartCount: 1 },
        { ready: false, restartCount: 2, state: { waiting: { reason: "CrashLoopBackOff" } } },
      ],
    },
  });
  expect(text(pod)).toEqual(["status CrashLoopBackOff", "ready 1/2", "restarts 3", "node n1"]);
  expect(text(object("Deployment", "d", undefined, { spec: { replicas: 2 }, status: { readyReplicas: 1 } }))).toEqual([
    "ready 1/2",
  ]);
  expect(text(object("Deployment", "d", undefined, { spec: { replicas: 0 } }))).toEqual(["ready 0/0"]);
  expect(text(object("Pod", "p", undefined, { status: { containerStatuses: "odd" } }))).toEqual([]);
  expect(nodeOf(pod, { status: "Degraded", message: "back-off" }, { parents: ["x"] })).toMatchObject({
    version: "v1",
    kind: "Pod",
    namespace: "web",
    uid: "uid-p",
    parents: ["x"],
    health: "Degraded",
    message: "back-off",
    images: ["a:1", "b:1"],
  });
});
