import type { KubeObject } from "../../kube/object.ts";
import { prunable } from "./tasks.ts";

const object = (kind: string, more: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "a", ...more },
});

test.each<[string, KubeObject, boolean]>([
  ["an object that Git describes no more", object("ConfigMap"), true],
  ["a definition, with which all of its kind would go", object("CustomResourceDefinition"), false],
  ["a hook", object("Job", { annotations: { "argocd.argoproj.io/hook": "Sync" } }), false],
  ["what another object made", object("Pod", { ownerReferences: [{ controller: true }] as never }), false],
])("%s is pruned, or left: %s", (_, live, want) => {
  expect(prunable(new Map([["key", live]]), [], () => true)).toEqual(want ? [live] : []);
  expect(prunable(new Map([["key", live]]), [], () => false)).toEqual([]);
});
