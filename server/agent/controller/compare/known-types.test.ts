import type { KubeObject } from "../../../kube/object.ts";
import { knownFieldsOf, readKnownFields } from "../config/known-fields.ts";
import { inSpellingOf } from "./known-types.ts";

const widget = (spec: object): KubeObject => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "w" },
  spec,
});
const fields = (...named: [field: string, type: string][]) =>
  readKnownFields(
    "example.com",
    "Widget",
    named.map(([field, type]) => ({ field, type })),
  ).filter((one) => typeof one !== "string");

// Field and type | wanted | live | what is compared with the live one
test.each<[string, string, object, object, object]>([
  ["spec.cpu", "core/Quantity", { cpu: 1 }, { cpu: "1000m" }, { cpu: "1000m" }],
  ["spec.cpu", "core/Quantity", { cpu: "1" }, { cpu: 1 }, { cpu: 1 }],
  ["spec.cpu", "core/Quantity", { cpu: "2" }, { cpu: "1" }, { cpu: "2" }],
  ["spec.cpu", "core/Quantity", { cpu: "x" }, { cpu: "y" }, { cpu: "x" }],
  ["spec.cpu", "core/Quantity", { a: "1.0" }, { a: "1" }, { a: "1.0" }],
  ["spec.wait", "meta/v1/Duration", { wait: "60s" }, { wait: "1m0s" }, { wait: "1m0s" }],
  ["spec.wait", "meta/v1/Duration", { wait: "61s" }, { wait: "1m0s" }, { wait: "61s" }],
  ["spec.list.cpu", "core/Quantity", { list: [{ cpu: 1 }] }, { list: [{ cpu: "1" }, {}] }, { list: [{ cpu: "1" }] }],
  ["spec.a", "core/v1/ResourceList", { a: { cpu: "0.5" } }, { a: { cpu: "500m" } }, { a: { cpu: "500m" } }],
  [
    "spec.pod",
    "core/v1/PodSpec",
    { pod: { containers: [{ name: "1.0", resources: { limits: { cpu: 1 } } }] } },
    { pod: { containers: [{ name: "1", resources: { limits: { cpu: "1" } } }] } },
    { pod: { containers: [{ name: "1.0", resources: { limits: { cpu: "1" } } }] } },
  ],
])("%s is a %s: %j beside %j", (field, type, wanted, live, want) => {
  expect(inSpellingOf(widget(wanted), widget(live), fields([field, type])).spec).toEqual(want);
});

test("a Rollout's template is known without a word, and another one if it is named", () => {
  const rollout = { ...widget({}), apiVersion: "argoproj.io/v1alpha1", kind: "Rollout" };
  expect(knownFieldsOf(rollout, []).map(({ path }) => path.join("."))).toEqual(["spec.template.spec"]);
  const named = readKnownFields("argoproj.io", "Rollout", [{ field: "spec.cpu", type: "core/Quantity" }]);
  expect(knownFieldsOf(rollout, named as never).map(({ path }) => path.join("."))).toEqual(["spec.cpu"]);
  expect(knownFieldsOf(widget({}), named as never)).toEqual([]);
});

test.each<[unknown, unknown[]]>([
  [undefined, []],
  ["x", ["it is not a list"]],
  [[{ field: "a" }], ["an entry has no field or no type"]],
  [[{ field: "a", type: "core/Nothing" }], ["the type core/Nothing is not known"]],
])("fields %j", (said, want) => {
  expect(readKnownFields("g", "K", said)).toEqual(want);
});
