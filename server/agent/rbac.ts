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

/** Whether Argo CD's own controller runs in the namespace: for the link, which lists no workloads, only under its usual name. */
const ARGO_CD: Rule = {
  apiGroups: ["apps"],
  resources: ["statefulsets", "deployments"],
  resourceNames: ["argocd-application-controller"],
  verbs: ["get"],
};
/** The same whatever it is called there: it is known by its labels. */
const ANY_ARGO_CD: Rule = { apiGroups: ["apps"], resources: ["statefulsets", "deployments"], verbs: ["get", "list"] };

export const RBAC: Record<"link" | "controller" | "reader" | "repo-server", Rights> = {
  // Talks to the service, so it has nothing that would make it another account: no subresource, no Pod, no Secret of another namespace.
  link: {
    own: [
      // `patch` sets annotations: a refresh, an operation, an action. A set that moves away keeps its applications by one, too.
      {
        apiGroups: ["argoproj.io"],
        resources: ["applications", "applicationsets"],
        verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
      },
      {
        apiGroups: ["argoproj.io"],
        resources: ["appprojects"],
        verbs: ["get", "list", "watch", "create", "update", "delete"],
      },
      // Repositories, credentials and clusters, and its own identity.
      { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "create", "update", "delete"] },
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["outpost-agent-identity"], verbs: ["patch"] },
      // Certificates, keys, known hosts, and hints for the controller. They are shared, so they are never deleted.
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "update"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
      ARGO_CD,
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
      {
        apiGroups: ["argoproj.io"],
        resources: ["applications"],
        verbs: ["get", "list", "watch", "create", "patch", "update", "delete"],
      },
      { apiGroups: ["argoproj.io"], resources: ["applicationsets"], verbs: ["get", "list", "watch", "patch"] },
      { apiGroups: ["argoproj.io"], resources: ["applicationsets/status"], verbs: ["patch"] },
      { apiGroups: ["argoproj.io"], resources: ["appprojects"], verbs: ["list", "watch"] },
      // Repositories, credentials and clusters; known hosts and certificates.
      { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["list", "watch"] },
      // What Kubernetes says of an Application, for `app events`, and what the controller adds to it.
      { apiGroups: [""], resources: ["events"], verbs: ["list", "create"] },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
      ANY_ARGO_CD,
    ],
    managed: [
      // `get` for definitions that were just made; `update` only for objects with sync option Replace=true.
      { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch", "create", "patch", "update", "delete"] },
      // For projects that name the account which writes for their applications, and for charts that read as an account.
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"] },
    ],
  },
  // Beside Argo CD: answers questions, and only reads. Kubernetes's own role `view` comes to this: workloads, logs and events, and what operators add to
  // it for their kinds, but no Secret.
  reader: {
    own: [
      // Where the credentials of other clusters are; of repositories only to know that they are there.
      { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "list"] },
      {
        apiGroups: ["argoproj.io"],
        resources: ["applications", "applicationsets", "appprojects"],
        verbs: ["get", "list"],
      },
    ],
    managed: [
      { apiGroups: ["argoproj.io"], resources: ["applications", "applicationsets"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["namespaces", "persistentvolumes"], verbs: ["get", "list"] },
      { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: ["get", "list"] },
      {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
        verbs: ["get", "list"],
      },
      { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["get", "list"] },
      { apiGroups: ["networking.k8s.io"], resources: ["ingressclasses"], verbs: ["get", "list"] },
      { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: ["get", "list"] },
      {
        apiGroups: ["admissionregistration.k8s.io"],
        resources: ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
        verbs: ["get", "list"],
      },
    ],
  },
  // Fetches and renders: a chart that breaks out of helm finds no credential.
  "repo-server": { own: [], managed: [] },
};

/** What the controller may do in other namespaces that may hold Applications. */
export const APPLICATIONS_ELSEWHERE: Rule[] = [
  {
    apiGroups: ["argoproj.io"],
    resources: ["applications"],
    verbs: ["get", "list", "watch", "create", "patch", "update", "delete"],
  },
  { apiGroups: ["argoproj.io"], resources: ["applicationsets"], verbs: ["list", "watch", "patch"] },
  { apiGroups: ["argoproj.io"], resources: ["applicationsets/status"], verbs: ["patch"] },
];

/** What the link may do in other namespaces that may hold Applications: show them, act on them, and keep those that were taken over. */
export const LINK_ELSEWHERE: Rule[] = [
  {
    apiGroups: ["argoproj.io"],
    resources: ["applications", "applicationsets"],
    verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
  },
];
