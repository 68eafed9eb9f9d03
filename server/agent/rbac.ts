/**
 * The API rights of each program, exactly: the chart's Roles must grant these and nothing beyond, except that the controller may do whatever the
 * applications it is given contain.
 */
export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  /** Only these objects. */
  resourceNames?: string[];
}

export interface Rights {
  /** In the agent's own namespace. */
  own: Rule[];
  /** In the whole cluster, or in each managed namespace. */
  managed: Rule[];
}

export const RBAC: Record<"controller" | "repo-server", Rights> = {
  controller: {
    own: [
      // Sets make, change and delete applications.
      { apiGroups: ["argoproj.io"], resources: ["applications"], verbs: ["get", "list", "watch", "create", "patch", "update", "delete"] },
      { apiGroups: ["argoproj.io"], resources: ["applicationsets"], verbs: ["list", "watch", "patch"] },
      { apiGroups: ["argoproj.io"], resources: ["applicationsets/status"], verbs: ["patch"] },
      { apiGroups: ["argoproj.io"], resources: ["appprojects"], verbs: ["list", "watch"] },
      // Repositories, credentials and clusters; known hosts and certificates.
      { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["list", "watch"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
    ],
    managed: [
      // `get` for definitions that were just made; `update` only for objects with sync option Replace=true.
      { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch", "create", "patch", "update", "delete"] },
      // For projects that name the account which writes for their applications.
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"] },
    ],
  },
  // Fetches and renders; a chart that finds its way out of helm finds no credential.
  "repo-server": { own: [], managed: [] },
};
