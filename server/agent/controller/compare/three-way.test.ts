import type { KubeObject } from "../../../kube/object.ts";
import { advised, isClientSide } from "./client-side.ts";
import { LAST_APPLIED } from "./last-applied.ts";
import { predict } from "./three-way.ts";

const object = (spec: object, annotations?: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Thing",
  metadata: { name: "n", ...(annotations ? { annotations } : {}) },
  spec,
});
const was = (spec: object) => ({ [LAST_APPLIED]: JSON.stringify(object(spec)) });

// What was applied last | what is wanted | what is live | what comes of it
test.each<[string, object, object, object, object]>([
  ["what others added stays", { a: 1 }, { a: 2 }, { a: 1, b: 1 }, { a: 2, b: 1 }],
  ["what has left Git goes", { a: 1, b: 1 }, { a: 1 }, { a: 1, b: 1 }, { a: 1 }],
  ["a null is nothing", {}, { a: null, b: null }, { a: 1 }, {}],
  [
    "an item of others stays, one that has left Git goes",
    { list: [{ name: "a" }, { name: "b" }] },
    { list: [{ name: "a", v: 1 }] },
    { list: [{ name: "a", filled: true }, { name: "b" }, { name: "theirs" }] },
    { list: [{ name: "a", filled: true, v: 1 }, { name: "theirs" }] },
  ],
  [
    "a list with a key twice is what is wanted",
    { list: [{ name: "a", v: 1 }] },
    {
      list: [
        { name: "a", v: 1 },
        { name: "a", v: 2 },
      ],
    },
    { list: [{ name: "a", v: 1 }] },
    {
      list: [
        { name: "a", v: 1 },
        { name: "a", v: 2 },
      ],
    },
  ],
])("%s", (_name, last, wanted, live, want) => {
  expect(predict(object(wanted), object(live, was(last))).spec).toEqual(want);
});

// Kind | field | wanted | live | what comes of it: only quantities are the same in another spelling.
test.each<[string, string, object, object, object]>([
  ["v1", "data", { version: "1.10" }, { version: "1.1" }, { version: "1.10" }],
  ["v1", "data", { limits: "1.0" }, { limits: "1" }, { limits: "1.0" }],
  ["v1", "hard", { pods: "1000m" }, { pods: "1" }, { pods: "1" }],
  ["apps/v1", "limits", { cpu: 1, memory: "1Gi" }, { cpu: "1", memory: "2Gi" }, { cpu: "1", memory: "1Gi" }],
  ["apps/v1", "emptyDir", { sizeLimit: "1024Mi" }, { sizeLimit: "1Gi" }, { sizeLimit: "1Gi" }],
  ["autoscaling/v2", "target", { value: "1.5" }, { value: "1500m" }, { value: "1500m" }],
  ["example.com/v1", "limits", { cpu: "1000m" }, { cpu: "1" }, { cpu: "1000m" }],
])("%s %s %j over %j", (apiVersion, field, wanted, live, want) => {
  const of = (value: object) => ({ ...object({ [field]: value }), apiVersion });
  expect(predict(of(wanted), of(live)).spec).toEqual({ [field]: want });
});

test.each<[string | undefined, string[], boolean]>([
  [undefined, [], false],
  [undefined, ["ServerSideApply=false"], true],
  [undefined, ["ServerSideApply=true"], false],
  ["ServerSideApply=true", ["ServerSideApply=false"], false],
  ["ServerSideApply=false", [], true],
])("object %j, application %j: on the client's side %j", (own, options, want) => {
  expect(isClientSide(object({}, own ? { "argocd.argoproj.io/sync-options": own } : undefined), options)).toBe(want);
});

test("only a refusal of doubled keys is advised", () => {
  const failure = (message: string) => ({ kind: "stop" as const, reason: "Invalid", message });
  expect(advised(failure('duplicate entries for key [name="A"]'))).toMatchObject({
    message: expect.stringMatching(/ServerSideApply=false/),
  });
  expect(advised(failure("other"))).toEqual(failure("other"));
});
