/**
 * The API rights of each program: the chart's Roles grant exactly these, and a test compares them with the requests that the programs make. Only
 * the controller may do more: whatever the applications it is given contain.
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

export const RBAC: Record<"link" | "controller" | "repo-server", Rights> = {
  // Talks to the service, so it has nothing that would make it another account: no subresource, no Pod, no Secret of another namespace.
  link: {
    own: [
      // `patch` sets annotations: a refresh, an operation, an action.
      {
        apiGroups: ["argoproj.io"],
        resources: ["applications"],
        verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
      },
      {
        apiGroups: ["argoproj.io"],
        resources: ["applicationsets", "appprojects"],
        verbs: ["get", "list", "watch", "create", "update", "delete"],
      },
      // Repositories, credentials and clusters, and its own identity.
      { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "create", "update", "delete"] },
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["outpost-agent-identity"], verbs: ["patch"] },
      // Certificates, keys, known hosts, and hints for the controller. They are shared, so they are never deleted.
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "update"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
    ],
    managed: [
      // The cluster's identity is the UID of this namespace.
      { apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] },
      // Whether an application in another namespace still uses a project that is to be deleted.
      { apiGroups: ["argoproj.io"], resources: ["applications"], verbs: ["list"] },
    ],
  },
  controller: {
    own: [
      // Sets make, change and delete applications.
      { apiGroups: ["argoproj.io"], resources: ["applications"], verbs: ["get", "list", "watch", "create", "patch", "update", "delete"] },
      { apiGroups: ["argoproj.io"], resources: ["applicationsets"], verbs: ["get", "list", "watch", "patch"] },
      { apiGroups: ["argoproj.io"], resources: ["applicationsets/status"], verbs: ["patch"] },
      { apiGroups: ["argoproj.io"], resources: ["appprojects"], verbs: ["list", "watch"] },
      // Repositories, credentials and clusters; known hosts and certificates.
      { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["list", "watch"] },
      // What Kubernetes says of an Application, for `app events`.
      { apiGroups: [""], resources: ["events"], verbs: ["list"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
    ],
    managed: [
      // `get` for definitions that were just made; `update` only for objects with sync option Replace=true.
      { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch", "create", "patch", "update", "delete"] },
      // For projects that name the account which writes for their applications, and for charts that read as an account.
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"] },
    ],
  },
  // Fetches and renders: a chart that breaks out of helm finds no credential.
  "repo-server": { own: [], managed: [] },
};

/** What the controller may do in other namespaces that may hold Applications. */
export const APPLICATIONS_ELSEWHERE: Rule[] = [
  { apiGroups: ["argoproj.io"], resources: ["applications"], verbs: ["get", "list", "watch", "create", "patch", "update", "delete"] },
  { apiGroups: ["argoproj.io"], resources: ["applicationsets"], verbs: ["list", "watch", "patch"] },
  { apiGroups: ["argoproj.io"], resources: ["applicationsets/status"], verbs: ["patch"] },
];
