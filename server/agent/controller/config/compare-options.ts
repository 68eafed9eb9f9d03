import { gvkOf, type KubeObject } from "../../../kube/object.ts";

/** What counts when two forms of one object are compared, for all applications. */
export interface CompareOptions {
  /** Whether to ignore rules that the cluster aggregates from other roles. */
  ignoreAggregatedRoles: boolean;
  /** The kinds whose `status` in Git is ignored. */
  ignoreStatus: "all" | "crd" | "none";
}

export const USUAL_OPTIONS: CompareOptions = { ignoreAggregatedRoles: false, ignoreStatus: "all" };

/** `resource.compareoptions` of `argocd-cm`; a text is its error. */
export function readCompareOptions(said: unknown): CompareOptions | string {
  if (said === undefined || said === null) return USUAL_OPTIONS;
  if (typeof said !== "object" || Array.isArray(said)) return "it is not a map";
  const { ignoreAggregatedRoles = false, ignoreResourceStatusField: status = "all" } = said as Record<string, unknown>;
  if (typeof ignoreAggregatedRoles !== "boolean") return "ignoreAggregatedRoles is neither true nor false";
  if (status === "all" || status === "crd" || status === "none") return { ignoreAggregatedRoles, ignoreStatus: status };
  // Older words for none.
  if (status === "off" || status === "false" || status === false)
    return { ignoreAggregatedRoles, ignoreStatus: "none" };
  return "ignoreResourceStatusField is none of all, crd, none";
}

/** Whether a status in Git is wanted like the rest. */
export const wantsStatus = (object: KubeObject, { ignoreStatus }: CompareOptions): boolean =>
  ignoreStatus === "none" || (ignoreStatus === "crd" && object.kind !== "CustomResourceDefinition");

/** Pointers to fields that the cluster fills in. */
export const filledIn = (object: KubeObject, { ignoreAggregatedRoles }: CompareOptions): string[] => {
  const gathered =
    object.kind === "ClusterRole" &&
    gvkOf(object).group === "rbac.authorization.k8s.io" &&
    object.aggregationRule != null;
  return ignoreAggregatedRoles && gathered ? ["/rules"] : [];
};
