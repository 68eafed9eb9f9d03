import type { FieldSet, KubeObject } from "../../../kube/object.ts";
import { isAppliedAlready } from "./contained.ts";
import { NOTHING } from "./ignore.ts";
import { LAST_APPLIED } from "./last-applied.ts";

const leaf: FieldSet = {};
const object = (fields: object, metadata: object = {}) =>
  ({
    apiVersion: "v1",
    kind: "Thing",
    metadata: { name: "x", namespace: "y", ...metadata },
    ...fields,
  }) as unknown as KubeObject;
/** As the API server gives it, with what its managers have. */
const live = (fields: object, spec: FieldSet, metadata: object = {}, operation = "Update") => {
  const fieldsV1 = { "f:spec": spec, "f:metadata": { "f:labels": { "f:l": leaf } } };
  const managedFields = [{ manager: "argocd-controller", operation, apiVersion: "v1", fieldsV1 }];
  return object(fields, { uid: "u", resourceVersion: "1", ...metadata, managedFields });
};
const decided = (wanted: KubeObject, there: KubeObject) => isAppliedAlready(wanted, there, NOTHING);

const BY_NAME: FieldSet = { "f:items": { 'k:{"name":"a"}': { ".": leaf, "f:name": leaf, "f:value": leaf } } };
const BY_PORT: FieldSet = {
  "f:ports": { 'k:{"port":80,"protocol":"TCP"}': { ".": leaf, "f:port": leaf, "f:protocol": leaf } },
};
const filled = { name: "a", value: 1, filledIn: true };
test.each<[string, object, object, FieldSet]>([
  ["plain values", { n: 1 }, { n: 1, filledIn: 2 }, { "f:n": leaf }],
  ["a map in which the cluster fills in", { m: { a: 1 } }, { m: { a: 1, b: 2 } }, { "f:m": { "f:a": leaf } }],
  ["items by key in which the cluster fills in", { items: [{ name: "a", value: 1 }] }, { items: [filled] }, BY_NAME],
  ["a port without its protocol", { ports: [{ port: 80 }] }, { ports: [{ port: 80, protocol: "TCP" }] }, BY_PORT],
  [
    "a quantity in another spelling",
    { limits: { cpu: "0.1" } },
    { limits: { cpu: "100m" } },
    { "f:limits": { "f:cpu": leaf } },
  ],
  ["a list as one value", { list: [1, 2] }, { list: [1, 2] }, { "f:list": leaf }],
])("what another engine applied is known to be as desired without a request: %s", (_, wanted, there, fields) => {
  expect(decided(object({ spec: wanted }), live({ spec: there }, fields))).toBe(true);
  expect(decided(object({ spec: wanted }), live({ spec: there }, fields, {}, "Apply"))).toBe(false);
});

test.each<[string, object, object, FieldSet]>([
  ["another value", { n: 1 }, { n: 2 }, { "f:n": leaf }],
  ["another quantity", { limits: { cpu: "1" } }, { limits: { cpu: "100m" } }, { "f:limits": { "f:cpu": leaf } }],
  ["another spelling of what need be no quantity", { cpu: "1000m" }, { cpu: "1" }, { "f:cpu": leaf }],
  ["a missing field", { n: 1, m: 1 }, { n: 1 }, { "f:n": leaf }],
  ["a map that is one value", { m: { a: 1 } }, { m: { a: 1, b: 2 } }, { "f:m": leaf }],
  ["a list that is one value", { items: [{ name: "a" }] }, { items: [filled] }, { "f:items": leaf }],
  ["one more item", { items: [{ name: "a" }] }, { items: [filled, { name: "b" }] }, BY_NAME],
  ["another order", { items: [{ name: "b" }, { name: "a" }] }, { items: [{ name: "a" }, { name: "b" }] }, BY_NAME],
])("the API server decides: %s", (_, wanted, there, fields) => {
  expect(decided(object({ spec: wanted }), live({ spec: there }, fields))).toBe(false);
});

test("the API server decides where the fields are those of another version, or of a subresource", () => {
  const [entry] = live({}, { "f:n": leaf }).metadata.managedFields!;
  const there = (more: object) => object({ spec: { n: 1 } }, { managedFields: [{ ...entry, ...more }] });
  expect(decided(object({ spec: { n: 1 } }), there({}))).toBe(true);
  expect(decided(object({ spec: { n: 1 } }), there({ apiVersion: "v2" }))).toBe(false);
  expect(decided(object({ spec: { n: 1 } }), there({ subresource: "status" }))).toBe(false);
});

test("what was applied on the client's side and has left Git is not a match", () => {
  const last = (spec: object) => ({ annotations: { [LAST_APPLIED]: JSON.stringify(object({ spec })) } });
  const fields = { "f:n": leaf, "f:m": leaf };
  expect(decided(object({ spec: { n: 1 } }), live({ spec: { n: 1, m: 2 } }, fields, last({ n: 1 })))).toBe(true);
  expect(decided(object({ spec: { n: 1 } }), live({ spec: { n: 1, m: 2 } }, fields, last({ n: 1, m: 2 })))).toBe(false);
});

test("what was applied on the server's side and has left Git is not a match", () => {
  const wanted = (spec: object) => object({ spec }, { labels: { l: "1" } });
  const there = live(
    { spec: { n: 1, m: 2 } },
    { "f:n": leaf, "f:m": leaf },
    { labels: { l: "1", other: "2" } },
    "Apply",
  );
  expect(decided(wanted({ n: 1, m: 2 }), there)).toBe(true);
  expect(decided(wanted({ n: 1 }), there)).toBe(false);
  const items = live({ spec: { items: [filled] } }, BY_NAME, { labels: { l: "1" } }, "Apply");
  expect(decided(wanted({ items: [{ name: "a", value: 1 }] }), items)).toBe(true);
  expect(decided(wanted({ items: [{ name: "a" }] }), items)).toBe(false);
});
