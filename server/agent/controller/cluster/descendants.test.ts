import type { KubeObject } from "../../../kube/object.ts";
import { descendants, kindsBelow } from "./descendants.ts";

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
const names = (found: ReturnType<typeof descendants>) =>
  found.map((one) => `${one.object.metadata.name} < ${one.parents.map((uid) => uid.slice(4)).join(",")}`);

test("what came of an object is found through its owners, parents before children, others' objects left out", () => {
  const roots = [object("Deployment", "web"), object("Deployment", "api")];
  const others = [
    object("Pod", "web-1-a", "web-1"),
    object("ReplicaSet", "web-1", "web"),
    object("ReplicaSet", "api-1", "api"),
    object("Pod", "other-1-a", "other-1"),
    object("ReplicaSet", "other-1", "other"),
    // A root does not become a child of another, and a circle ends.
    object("Deployment", "api", "web"),
    object("ReplicaSet", "loop", "loop"),
  ];
  expect(names(descendants(roots, others))).toEqual(["web-1 < web", "api-1 < api", "web-1-a < web-1"]);
});

test("claims of a StatefulSet and Endpoints of a Service are found by name", () => {
  const set = object("StatefulSet", "db", undefined, {
    spec: { volumeClaimTemplates: [{ metadata: { name: "data" } }] },
  });
  const roots = [set, object("Service", "db-svc")];
  const others = [
    object("PersistentVolumeClaim", "data-db-0"),
    object("PersistentVolumeClaim", "data-db-x"),
    object("PersistentVolumeClaim", "data-db2-0"),
    object("PersistentVolumeClaim", "logs-db-0"),
    { ...object("Endpoints", "db-svc"), metadata: { name: "db-svc", namespace: "web", uid: "uid-of-endpoints" } },
    object("Endpoints", "db"),
    {
      ...object("PersistentVolumeClaim", "data-db-1"),
      metadata: { name: "data-db-1", namespace: "elsewhere", uid: "u" },
    },
  ];
  expect(names(descendants(roots, others))).toEqual(["data-db-0 < db", "db-svc < db-svc"]);
});

test("an object with two parents has both", () => {
  const child = object("Pod", "p", "a");
  child.metadata.ownerReferences!.push({ apiVersion: "apps/v1", kind: "X", name: "b", uid: "uid-b" });
  expect(descendants([object("ReplicaSet", "a"), object("ReplicaSet", "b")], [child])[0]!.parents).toEqual([
    "uid-a",
    "uid-b",
  ]);
});

test.each<[string[], string[] | "any"]>([
  [["apps/Deployment"], ["/Pod", "apps/ReplicaSet"]],
  [["batch/CronJob"], ["/Pod", "batch/Job"]],
  [
    ["/Service", "/ConfigMap", "rbac.authorization.k8s.io/Role"],
    ["/Endpoints", "discovery.k8s.io/EndpointSlice"],
  ],
  [["apps/StatefulSet"], ["/PersistentVolumeClaim", "/Pod", "apps/ControllerRevision"]],
  [["argoproj.io/Application"], []],
  [["/ConfigMap", "cert-manager.io/Certificate"], "any"],
  [["snapshot.storage.k8s.io/VolumeSnapshot"], "any"],
])("below %j one looks for %j", (kinds, want) => {
  const found = kindsBelow(kinds);
  expect(found === "any" ? found : [...found].sort()).toEqual(want);
});
