import type { Schemas } from "../../openapi/client.ts";
import { lineDiff } from "../../server/base/lang/line-diff.ts";
import type { Resource } from "../../server/kube/path.ts";

const kind = (group: string, name: string, plural: string, namespaced = true): Resource => ({
  group,
  version: "v1",
  kind: name,
  plural,
  namespaced,
});
export const DEPLOYMENT = kind("apps", "Deployment", "deployments");
export const REPLICA_SET = kind("apps", "ReplicaSet", "replicasets");
export const POD = kind("", "Pod", "pods");

/** The lines that a person sees as changed. */
export const changed = (items: Schemas["Diff"]["items"]) =>
  items.flatMap(({ live = "", desired = "" }) =>
    lineDiff(live, desired).flatMap(({ sign, text }) => (sign === " " ? [] : [`${sign} ${text}`])),
  );
