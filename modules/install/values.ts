/** What is known when an installation is drawn. */
export interface InstallValues {
  kind: "agent" | "delegate";
  id: string;
  account: string;
  org?: string;
  project?: string;
  /** Namespace in the cluster. */
  namespace: string;
  /** Agents: `cluster` manages every namespace, `namespaced` only its own. */
  mode?: "cluster" | "namespaced";
  /** Agents: what keeps applications equal to Git; with `argocd` the layout means nothing. */
  engine?: "outpost" | "argocd";
  /** Agents: four Deployments, or one. */
  layout?: "split" | "all";
  /** Agents: controllers that share the applications, in the layout `split`, and what stays together. */
  shards?: number;
  shardBy?: "application" | "cluster";
  /** Agents: the only hosts that application sets may ask; none allows all. */
  scmProviders?: readonly string[];
  /** Address of the service, as the worker reaches it. */
  endpoint: string;
  /** Enrolment token. Without one the text says where it goes. */
  token?: string;
  /** Delegates: where the token is already, instead of `token`. */
  existingSecret?: string;
  image?: string;
  redisImage?: string;
  httpsProxy?: string;
  noProxy?: string;
  imagePullSecret?: string;
  /** PEM. */
  caCertificate?: string;
  /** Delegates. */
  description?: string;
  tags?: readonly string[];
  replicas?: number;
  /** `none`, `namespace-admin`, `cluster-viewer`, `cluster-admin` or a ClusterRole's name. */
  permissions?: string;
  initScript?: string;
}

/** The image that charts and manifests use unless another is named. */
export const DEFAULT_IMAGE = "ghcr.io/outpost-gitops/outpost:0.1.0";

/** Name of a delegate's objects, as the chart names them. */
export const delegateName = (id: string): string => `outpost-delegate-${id}`.slice(0, 63).replace(/-+$/, "");

/** The chart's word for the permissions: a level, or a role of the user's own. */
export function permissionsOf(given = "none"): { level: string; clusterRole?: string } {
  const levels = ["none", "namespace-admin", "cluster-viewer", "cluster-admin"];
  return levels.includes(given) ? { level: given } : { level: "custom", clusterRole: given };
}
