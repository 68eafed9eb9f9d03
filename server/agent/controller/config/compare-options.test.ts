import type { KubeObject } from "../../../kube/object.ts";
import { filledIn, readCompareOptions, USUAL_OPTIONS, wantsStatus } from "./compare-options.ts";

test.each<[string, unknown, unknown]>([
  ["nothing said", undefined, USUAL_OPTIONS],
  ["an empty map", {}, USUAL_OPTIONS],
  ["roles", { ignoreAggregatedRoles: true }, { ignoreAggregatedRoles: true, ignoreStatus: "all" }],
  ["of definitions alone", { ignoreResourceStatusField: "crd" }, { ignoreAggregatedRoles: false, ignoreStatus: "crd" }],
  ["of none", { ignoreResourceStatusField: "none" }, { ignoreAggregatedRoles: false, ignoreStatus: "none" }],
  [
    "off, as it was called",
    { ignoreResourceStatusField: "off" },
    { ignoreAggregatedRoles: false, ignoreStatus: "none" },
  ],
  ["another option", { ignoreDifferencesOnResourceUpdates: true }, USUAL_OPTIONS],
  ["an unknown word", { ignoreResourceStatusField: "some" }, "ignoreResourceStatusField is none of all, crd, none"],
  ["a list", [], "it is not a map"],
  ["roles as a word", { ignoreAggregatedRoles: "yes" }, "ignoreAggregatedRoles is neither true nor false"],
])("what counts in a comparison: %s", (_name, said, want) => {
  expect(readCompareOptions(said)).toEqual(want);
});

const object = (apiVersion: string, kind: string, more: object = {}) =>
  ({ apiVersion, kind, metadata: { name: "a" }, ...more }) as KubeObject;
const CRD = object("apiextensions.k8s.io/v1", "CustomResourceDefinition");
test.each<[string, "all" | "crd" | "none", boolean, boolean]>([
  ["of all kinds ignored", "all", false, false],
  ["of definitions ignored", "crd", false, true],
  ["of no kind ignored", "none", true, true],
])("a status in Git is wanted: %s", (_name, ignoreStatus, definition, other) => {
  const options = { ...USUAL_OPTIONS, ignoreStatus };
  expect([wantsStatus(CRD, options), wantsStatus(object("x.io/v1", "Widget"), options)]).toEqual([definition, other]);
});

test.each<[string, KubeObject, boolean, string[]]>([
  ["a gathered role", object("rbac.authorization.k8s.io/v1", "ClusterRole", { aggregationRule: {} }), true, ["/rules"]],
  ["where that is not said", object("rbac.authorization.k8s.io/v1", "ClusterRole", { aggregationRule: {} }), false, []],
  ["a role of its own rules", object("rbac.authorization.k8s.io/v1", "ClusterRole"), true, []],
  ["another kind", object("x.io/v1", "ClusterRole", { aggregationRule: {} }), true, []],
])("rules that the cluster fills in: %s", (_name, given, ignoreAggregatedRoles, want) => {
  expect(filledIn(given, { ...USUAL_OPTIONS, ignoreAggregatedRoles })).toEqual(want);
});
