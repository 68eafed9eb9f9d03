import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { CompareTarget } from "./normalise.ts";
import { withoutUnknownFields } from "./unknown-fields.ts";

const deployment = (): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", annotations: { "example.com/a.b": "kept" } },
  spec: {
    color: "red",
    template: {
      spec: {
        containers: [
          { name: "web", image: "web:1", color: "blue", ports: [{ containerPort: 80, tint: 1 }] },
          { name: "x" },
        ],
      },
    },
  },
});
const target = (object = deployment()): CompareTarget => ({ key: "k", object, digest: "whole", wave: 0 });
const refused = (...paths: string[]) =>
  stop(
    KUBE.invalid,
    `failed to create typed patch object (ns/web; apps/v1, Kind=Deployment): ${paths.length > 1 ? "errors:\n  " : ""}${paths.map((path) => `${path}: field not declared in schema`).join("\n  ")}`,
  );
const LENIENT = ["Validate=false"];

test.each<[string, string[], (object: KubeObject) => unknown]>([
  ["at the top", [".spec.color"], ({ spec }) => "color" in spec],
  [
    "in an item with a key",
    ['.spec.template.spec.containers[name="web"].color'],
    ({ spec }) => "color" in spec.template.spec.containers[0],
  ],
  [
    "in an item one of whose keys is a default",
    ['.spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].tint'],
    ({ spec }) => "tint" in spec.template.spec.containers[0].ports[0],
  ],
  [
    "in an item with a number",
    [".spec.template.spec.containers[0].color"],
    ({ spec }) => "color" in spec.template.spec.containers[0],
  ],
  [
    "beneath a name with dots",
    [".metadata.annotations.example.com/a.b"],
    ({ metadata }) => "example.com/a.b" in metadata.annotations!,
  ],
])("a field that its kind does not have is left out, and nothing else: %s", async (_, paths, has) => {
  const one = target();
  const answers: Outcome<string>[] = [refused(...paths), done("sent")];
  expect(await withoutUnknownFields(one, LENIENT, async () => answers.shift()!)).toEqual(done("sent"));
  expect([has(deployment()), has(one.object), one.undeclared]).toEqual([true, false, paths]);
  expect(JSON.stringify(one.object).length).toBeLessThan(JSON.stringify(deployment()).length);
});

test("all that one answer names goes at once, and what the next one names after it", async () => {
  const one = target();
  const all = [".spec.color", '.spec.template.spec.containers[name="web"].color'];
  const answers: Outcome<string>[] = [
    refused(...all),
    refused('.spec.template.spec.containers[name="x"].name'),
    done("sent"),
  ];
  expect((await withoutUnknownFields(one, LENIENT, async () => answers.shift()!)).kind).toBe("done");
  expect(one.object.spec).toEqual({
    template: { spec: { containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80, tint: 1 }] }, {}] } },
  });
  expect(one.digest).not.toBe("whole");
});

test.each<[string, string[], Outcome<string>]>([
  ["nobody asked for it", [], refused(".spec.color")],
  ["it was refused for something else", LENIENT, stop(KUBE.invalid, "spec.replicas: Invalid value: -1")],
  ["it has no such field", LENIENT, refused(".spec.size")],
  ["no answer names a field", LENIENT, stop(KUBE.forbidden, ".spec.color: field not declared in schema")],
])("it is sent as it is where %s", async (_, options, answer) => {
  const one = target();
  const sent: CompareTarget[] = [];
  const send = async () => {
    sent.push(one);
    return answer;
  };
  expect(await withoutUnknownFields(one, options, send)).toEqual(answer);
  expect([one.object, one.digest, one.undeclared, sent.length]).toEqual([deployment(), "whole", undefined, 1]);
});

test("what was left out is back when nobody asks for it any more", async () => {
  const one = target();
  const answers: Outcome<string>[] = [refused(".spec.color"), done("sent")];
  await withoutUnknownFields(one, LENIENT, async () => answers.shift()!);
  expect((await withoutUnknownFields(one, [], async () => refused(".spec.color"))).kind).toBe("stop");
  expect([one.object, one.digest, one.undeclared]).toEqual([deployment(), "whole", undefined]);
});
