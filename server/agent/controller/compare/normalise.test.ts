import { done, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { normalise } from "./normalise.ts";

const find = async (group: string, version: string, kind: string) =>
  kind === "Lost"
    ? stop("KindNotFound", "no Lost")
    : done({ group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: kind !== "ClusterRole" });
const one = async (object: object) =>
  (await normalise([object as KubeObject], { app: "app", namespace: "dest" }, find)).targets[0]!;

test("namespaces follow the scope of the kind", async () => {
  expect((await one({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } })).key).toBe("/ConfigMap/dest/a");
  expect((await one({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "own" } })).key).toBe(
    "/ConfigMap/own/a",
  );
  const role = await one({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "r", namespace: "x" },
  });
  expect(role.object.metadata.namespace).toBeUndefined();
  expect(role.object.metadata.annotations).toEqual({
    "argocd.argoproj.io/tracking-id": "app:rbac.authorization.k8s.io/ClusterRole:dest/r",
  });
});
test("Secret text is encoded, status and server fields are dropped", async () => {
  const { object } = await one({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s", creationTimestamp: null, uid: "x" },
    data: { a: "QQ==" },
    stringData: { b: "B" },
    status: {},
  });
  expect(object).toMatchObject({ data: { a: "QQ==", b: "Qg==" } });
  expect(object).not.toHaveProperty("stringData");
  expect(object).not.toHaveProperty("status");
  expect(object.metadata).not.toHaveProperty("creationTimestamp");
});
test("of two with one name the last wins and is told", async () => {
  const make = (a: string) =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { a } }) as KubeObject;
  const { targets, repeated } = await normalise([make("1"), make("2")], { app: "app", namespace: "dest" }, find);
  expect(targets.map((t) => t.object.data)).toEqual([{ a: "2" }]);
  expect(repeated).toEqual([{ name: "ConfigMap dest/a", times: 2 }]);
});
test("the input stays as it was, because others share it", async () => {
  const given = Object.freeze({ apiVersion: "v1", kind: "ConfigMap", metadata: Object.freeze({ name: "a" }) });
  await one(given);
  expect(given).toEqual({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } });
});
test("a kind that is missing is a problem of that object", async () => {
  expect((await one({ apiVersion: "x.io/v1", kind: "Lost", metadata: { name: "a" } })).problem).toMatchObject({
    reason: "KindNotFound",
  });
});
