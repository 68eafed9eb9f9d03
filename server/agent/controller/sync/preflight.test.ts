import { again, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";
import type { Task } from "../tasks.ts";
import { preflight } from "./preflight.ts";

const destination = { managed: [], clusterWide: true } as unknown as Destination;
const widget = (annotations: Record<string, string> = {}, name = "one"): KubeObject => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name, namespace: "shop", annotations },
});
const definition: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: { group: "example.com", names: { kind: "Widget" } },
};
const none = stop(KUBE.kindNotFound, "no such kind");
const task = (object: KubeObject, problem: CompareTarget["problem"], wave = 0): Task => {
  const key = keyOf(object);
  const target: CompareTarget = { key, object, digest: "", wave, problem };
  return { id: `Sync|${key}`, key, phase: "Sync", wave, object, hook: false, target };
};
const SAID =
  'The Kubernetes API could not find example.com/Widget for requested resource shop/one. Make sure the "Widget" CRD is installed on the destination cluster. (no such kind)';

test.each<[string, Task[], string[], string[], string[]]>([
  ["a kind that the cluster does not have, in a late wave", [task(widget(), none, 7)], [], [], [SAID]],
  ["its definition is part of the same sync", [task(definition, undefined, 9), task(widget(), none, 1)], [], [], []],
  [
    "the object says that it may come later",
    [task(widget({ "argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true" }), none)],
    [],
    [],
    [],
  ],
  ["the application says so", [task(widget(), none)], ["SkipDryRunOnMissingResource=true"], [], []],
  [
    "whether it has the kind is not known",
    [task(widget(), again("Timeout", "no answer"))],
    [],
    ["example.com/Widget"],
    [],
  ],
  [
    "what has no name at all, even with its kind on the way",
    [task(definition, undefined), task(widget({}, ""), stop("ManifestInvalid", "Widget has no metadata.name"))],
    [],
    [],
    ["Widget has no metadata.name"],
  ],
  [
    "what has half a name and is not a hook",
    [task(widget({}, ""), undefined)],
    [],
    [],
    ["Widget has only generateName, which is for hooks alone"],
  ],
])("before anything is sent it is known of all waves: %s", (_, tasks, options, unseen, want) => {
  const failures = new Map(unseen.map((kind) => [kind, again("Timeout", "no answer")]));
  const targets = tasks.map(({ target }) => target!);
  expect(
    preflight({ targets, destination, unseen: failures }, tasks, options).map(({ result }) => result.message),
  ).toEqual(want);
});

test("what a project refuses is told before what the cluster does not have", () => {
  const refusing = {
    ...destination,
    refuse: (object: KubeObject) => `${gvkOf(object).kind} is not permitted`,
  } as Destination;
  const one = task(widget(), none);
  const [wrong] = preflight({ targets: [one.target!], destination: refusing, unseen: new Map() }, [one], []);
  expect(wrong?.result).toEqual({ reason: "NotPermitted", message: "Widget is not permitted" });
});
