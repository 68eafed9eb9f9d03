import { within } from "../../../../test/within.ts";
import type { FieldSet, KubeObject } from "../../../kube/object.ts";
import type { Application, IgnoreDifference } from "../application.ts";
import { ignoring, NOTHING, ruleProblems, taking, without } from "./ignore.ts";
import { ownedPaths } from "./owned.ts";

const appWith = (...ignoreDifferences: IgnoreDifference[]) => ({ spec: { ignoreDifferences } }) as Application;
const deployment = (more: object = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    replicas: 1,
    containers: [
      { name: "app", image: "a:1" },
      { name: "proxy", image: "p:1" },
    ],
    ...more,
  },
});
const rule = (more: Partial<IgnoreDifference>): IgnoreDifference => ({ group: "apps", kind: "Deployment", ...more });

test.each<[string, IgnoreDifference, object]>([
  ["a pointer", rule({ jsonPointers: ["/spec/replicas"] }), { containers: deployment().spec.containers }],
  [
    "a pointer to the last item",
    rule({ jsonPointers: ["/spec/containers/-1"] }),
    { replicas: 1, containers: [{ name: "app", image: "a:1" }] },
  ],
  [
    "a pointer with a number of two digits",
    rule({ jsonPointers: ["/spec/containers/00/image"] }),
    { replicas: 1, containers: [{ name: "app" }, { name: "proxy", image: "p:1" }] },
  ],
  [
    "a pointer before the first item",
    rule({ jsonPointers: ["/spec/containers/-3", "/spec/containers/-"] }),
    deployment().spec,
  ],
  ["a pointer that leads nowhere", rule({ jsonPointers: ["/spec/none/at"] }), deployment().spec],
  [
    "a jq path",
    rule({ jqPathExpressions: ['.spec.containers[] | select(.name == "proxy")'] }),
    { replicas: 1, containers: [{ name: "app", image: "a:1" }] },
  ],
  ["a jq path that does not fit", rule({ jqPathExpressions: [".spec.replicas[].x"] }), deployment().spec],
  ["another kind's rule", rule({ kind: "StatefulSet", jsonPointers: ["/spec/replicas"] }), deployment().spec],
  ["another object's rule", rule({ name: "other", jsonPointers: ["/spec/replicas"] }), deployment().spec],
  ["a pattern of kinds", { group: "*", kind: "*", jsonPointers: ["/spec/containers"] }, { replicas: 1 }],
])("ignored by %s", (_name, given, want) => {
  const object = deployment();
  expect(without(object, ignoring(appWith(given), [], object)).spec).toEqual(want);
});

test("rules for all applications count as one's own, and without rules nothing is done", () => {
  const object = deployment();
  expect(
    without(object, ignoring(appWith(), [rule({ jsonPointers: ["/spec/replicas"] })], object)).spec.replicas,
  ).toBeUndefined();
  expect(ignoring(appWith(), [], object)).toBe(NOTHING);
});

test("an expression that cannot be used is named", () => {
  expect(ruleProblems(appWith(), [rule({ jqPathExpressions: [".spec |"] })])).toHaveLength(1);
  expect(ruleProblems(appWith(rule({ jqPathExpressions: [".spec", ".spec |"] })))).toEqual([
    expect.stringMatching(/^ignoreDifferences: the jq path expression \.spec \| cannot be used: expected/),
  ]);
});

const fields: FieldSet = {
  "f:spec": {
    "f:replicas": {},
    "f:containers": {
      'k:{"name":"proxy"}': { ".": {}, "f:name": {}, "f:image": {} },
      'k:{"name":"gone"}': { ".": {} },
    },
    "f:absent": { "f:x": {} },
  },
};

test("the fields of a manager are found in an object, and those it does not have are not", () => {
  expect(ownedPaths(fields, deployment())).toEqual([
    ["spec", "replicas"],
    ["spec", "containers", 1, "name"],
    ["spec", "containers", 1, "image"],
  ]);
  expect(without(deployment(), NOTHING, [fields]).spec).toEqual({ containers: [{ name: "app", image: "a:1" }, {}] });
});

test.each<[string, IgnoreDifference, FieldSet[], object]>([
  [
    "a pointer",
    rule({ jsonPointers: ["/spec/replicas"] }),
    [],
    { replicas: 5, containers: [{ name: "proxy", image: "p:1" }] },
  ],
  [
    "a jq path through a list in another order",
    rule({ jqPathExpressions: ['.spec.containers[] | select(.name == "proxy") | .image'] }),
    [],
    { replicas: 1, containers: [{ name: "proxy", image: "p:9" }] },
  ],
  ["a manager's fields", rule({}), [fields], { replicas: 5, containers: [{ name: "proxy", image: "p:9" }] }],
  [
    "a whole list",
    rule({ jqPathExpressions: [".spec.containers"] }),
    [],
    { replicas: 1, containers: [{ name: "app" }, { name: "proxy", image: "p:9" }] },
  ],
  [
    "an item of a list is not taken",
    rule({ jsonPointers: ["/spec/containers/0"] }),
    [],
    { replicas: 1, containers: [{ name: "proxy", image: "p:1" }] },
  ],
  [
    "the status is not taken",
    rule({ jsonPointers: ["/status"] }),
    [],
    { replicas: 1, containers: [{ name: "proxy", image: "p:1" }] },
  ],
])("what is sent has the live value of %s", (_name, given, owned, want) => {
  const wanted = deployment({ containers: [{ name: "proxy", image: "p:1" }] });
  const live = {
    ...deployment({ replicas: 5, containers: [{ name: "app" }, { name: "proxy", image: "p:9" }] }),
    status: { x: 1 },
  };
  const sent = taking(wanted, live, ignoring(appWith(given), [], wanted), owned);
  expect(sent.spec).toEqual(want);
  expect(sent.status).toBeUndefined();
});

test("an expression that takes too long hides nothing, is named, and is not tried for every object", () => {
  const text = '.spec.list[] | select(test("(a+)+$"))';
  const app = appWith(rule({ jqPathExpressions: [text] }));
  const object = deployment({ list: Array.from({ length: 50 }, () => `${"a".repeat(60)}!`) });
  const ignored = ignoring(app, [], object);
  const began = performance.now();
  for (let i = 0; i < 200; i++) expect(without(object, ignored)).toBe(object);
  expect(performance.now() - began).toBeLessThan(within(5_000));
  expect(ruleProblems(app)).toEqual([expect.stringContaining("takes too long")]);
});

test("a pointer to the last item takes what is there of it", () => {
  const live = deployment({
    containers: [
      { name: "app", image: "a:1" },
      { name: "proxy", image: "p:9" },
    ],
  });
  const pointers = rule({ jsonPointers: ["/spec/containers/-1/image"] });
  expect(taking(deployment(), live, ignoring(appWith(pointers), [], live)).spec.containers[1].image).toBe("p:9");
});
