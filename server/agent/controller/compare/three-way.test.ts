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
