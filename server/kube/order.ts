/** Kinds in the order in which they are made; all others come after. */
const KIND_ORDER = (
  "Namespace NetworkPolicy ResourceQuota LimitRange PodSecurityPolicy PodDisruptionBudget ServiceAccount Secret SecretList ConfigMap StorageClass " +
  "PersistentVolume PersistentVolumeClaim CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding ClusterRoleBindingList Role RoleList " +
  "RoleBinding RoleBindingList Service DaemonSet Pod ReplicationController ReplicaSet Deployment HorizontalPodAutoscaler StatefulSet Job CronJob " +
  "IngressClass Ingress APIService"
).split(" ");
const RANK = new Map(KIND_ORDER.map((kind, index) => [kind, index - KIND_ORDER.length]));

/** Where a kind stands among the others: lower ones are made first, and deleted last. */
export const rankOf = (kind: string): number => RANK.get(kind) ?? 0;
