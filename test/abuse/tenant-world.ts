import { ALLOWED_SCOPES } from "../../server/agent/project/tenant.ts";
import { RESOURCES, type Resource } from "../../server/kube/path.ts";
import { project, value, type World } from "../journeys/engine-world.ts";

const RBAC = "rbac.authorization.k8s.io";
const BINDING: Resource = {
  group: RBAC,
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
};

/**
 * Namespaces of tenants `a` and `b`, and a project `limit` under which both may do everything, as an account that may do everything: so nothing
 * but the scopes keeps them apart.
 */
export async function shareEverything(w: World): Promise<void> {
  for (const name of ["team-a", "team-b"])
    value(await w.client.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  const binding = {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "all" },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "all", namespace: "kube-system" }],
  };
  value(await w.client.create(BINDING, binding));
  await project(w, "limit", {
    sourceRepos: ["*"],
    destinations: [{ server: "*", namespace: "*" }],
    clusterResourceWhitelist: [{ group: "*", kind: "*" }],
    destinationServiceAccounts: [{ server: "*", namespace: "*", defaultServiceAccount: "kube-system:all" }],
  });
  const annotations = { [ALLOWED_SCOPES]: "a,b" };
  value(await w.client.mergePatch(RESOURCES.appProject, w.namespace, "limit", { metadata: { annotations } }));
}
