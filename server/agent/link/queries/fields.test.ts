import type { KubeObject } from "../../../kube/object.ts";
import { differing, fieldsOf, lacking, overlay, ownerOf, pointer } from "./fields.ts";

const live: KubeObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { "a/b": "1" } },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      spec: {
        containers: [
          { name: "side" },
          { name: "web", image: "web:2", ports: [{ containerPort: 80, protocol: "TCP" }] },
        ],
      },
    },
  },
};
const container = (name: string, fields: object) => ({
  [`k:{"name":"${name}"}`]: { ".": {}, "f:name": {}, ...fields },
});
const managed = [
  {
    manager: "outpost-controller",
    operation: "Apply",
    time: "2026-01-01T00:00:00Z",
    fieldsV1: {
      "f:spec": {
        "f:selector": {},
        "f:template": { "f:spec": { "f:containers": container("web", { "f:image": {} }) } },
      },
    },
  },
  {
    manager: "kubectl-edit",
    operation: "Update",
    time: "2026-01-02T00:00:00Z",
    fieldsV1: {
      "f:spec": {
        "f:replicas": {},
        "f:template": { "f:spec": { "f:containers": container("web", { "f:image": {} }) } },
      },
    },
  },
  {
    manager: "kube-controller-manager",
    subresource: "status",
    time: "2026-01-03T00:00:00Z",
    fieldsV1: { "f:spec": { "f:replicas": {} } },
  },
] as never;

test("each field that differs is named with the manager of what is live; the last who wrote it, and ourselves last of all", () => {
  const next = structuredClone(live) as KubeObject;
  next.spec.replicas = 1;
  next.spec.template.spec.containers[1].image = "web:1";
  next.spec.selector.matchLabels.app = "other";
  next.metadata.labels!["a/b"] = "2";
  next.metadata.annotations = { new: "1" };
  expect(fieldsOf(live, next, managed)).toEqual([
    { path: "/metadata/labels/a~1b" },
    { path: "/metadata/annotations" },
    { path: "/spec/replicas", manager: "kubectl-edit" },
    { path: "/spec/selector/matchLabels/app", manager: "outpost-controller" },
    { path: "/spec/template/spec/containers/1/image", manager: "kubectl-edit" },
  ]);
  expect(fieldsOf(live, structuredClone(live), managed)).toEqual([]);
});

test("lists of another length differ as a whole, and an answer names at most 200 fields", () => {
  expect(differing({ a: [1, 2] }, { a: [1] }).map(pointer)).toEqual(["/a"]);
  expect(differing({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }).map(pointer)).toEqual(["/a/0/b"]);
  const many = (value: number) => Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, value]));
  expect(differing(many(1), many(2))).toHaveLength(200);
});

test("what only the live object has is not a lack of what is desired", () => {
  const desired = {
    spec: { replicas: 3, template: { spec: { containers: [{ name: "side" }, { name: "web", image: "web:1" }] } } },
  };
  expect(lacking(live, desired).map(pointer)).toEqual(["/spec/template/spec/containers/1/image"]);
});

test("an item is known by its keys, its value or its place", () => {
  const set = (field: string) => [{ manager: "m", fieldsV1: { "f:l": { [field]: {} } } }] as never;
  expect(ownerOf(set('v:"b"'), { l: ["a", "b"] }, ["l", 1])?.manager).toBe("m");
  expect(ownerOf(set('v:"b"'), { l: ["a", "b"] }, ["l", 0])).toBeUndefined();
  expect(ownerOf(set("i:0"), { l: ["a"] }, ["l", 0])?.manager).toBe("m");
  expect(ownerOf(set('k:{"p":80}'), { l: [{ p: 80, q: 1 }] }, ["l", 0, "q"])?.manager).toBe("m");
});

test("a field that was written through a subresource names it, but for the status", () => {
  const scaled = [{ manager: "kubectl", subresource: "scale", fieldsV1: { "f:spec": { "f:replicas": {} } } }] as never;
  const next = structuredClone(live);
  next.spec.replicas = 1;
  expect(fieldsOf(live, next, scaled)).toEqual([{ path: "/spec/replicas", manager: "kubectl", subresource: "scale" }]);
});

test.each([
  ["a value", { a: 1, b: 2 }, { b: 3, a: 1 }, { a: 1, b: 3 }],
  ["a field that goes", { a: { x: 1, y: 2 } }, { a: { y: 2 } }, { a: { y: 2 } }],
  ["a field that comes", { a: {} }, { a: { z: 1 } }, { a: { z: 1 } }],
  [
    "an item",
    { l: [{ n: "a" }, { n: "b", v: 1 }] },
    { l: [{ n: "a" }, { v: 2, n: "b" }] },
    { l: [{ n: "a" }, { n: "b", v: 2 }] },
  ],
  ["a list of another length", { l: [1, 2], b: 1 }, { b: 1, l: [1] }, { l: [1], b: 1 }],
])("overlay shows %s in the place it has live", (_, before, after, want) => {
  const got = overlay<object>(before, after, differing(before, after));
  expect(JSON.stringify(got)).toBe(JSON.stringify(want));
});
