/** Kinds of Kubernetes itself: group, kind, and the short names that kubectl knows. */
const KNOWN = `
 Pod po|Service svc|ConfigMap cm|Secret|ServiceAccount sa|Namespace ns|Node no|Event ev|Endpoints ep|LimitRange limits
 |PersistentVolumeClaim pvc|PersistentVolume pv|ResourceQuota quota|ReplicationController rc
apps Deployment deploy|StatefulSet sts|DaemonSet ds|ReplicaSet rs|ControllerRevision
batch Job|CronJob cj
autoscaling HorizontalPodAutoscaler hpa
policy PodDisruptionBudget pdb
networking.k8s.io Ingress ing|IngressClass|NetworkPolicy netpol
rbac.authorization.k8s.io Role|RoleBinding|ClusterRole|ClusterRoleBinding
storage.k8s.io StorageClass sc
scheduling.k8s.io PriorityClass pc
discovery.k8s.io EndpointSlice
coordination.k8s.io Lease
apiextensions.k8s.io CustomResourceDefinition crd
argoproj.io Application|ApplicationSet|AppProject|Rollout`;

export interface ResourceKindName {
  group: string;
  kind: string;
}

const BY_NAME = new Map<string, ResourceKindName>();
for (const line of KNOWN.split("\n").filter(Boolean)) {
  const [group = "", ...rest] = line.split(" ");
  for (const entry of rest.join(" ").split("|").filter(Boolean)) {
    const [kind = "", short] = entry.split(" ");
    const small = kind.toLowerCase();
    for (const name of [small, plural(small), short]) if (name) BY_NAME.set(name, { group, kind });
  }
}

function plural(word: string): string {
  if (/(s|ss)$/.test(word)) return `${word}es`;
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}

/** The kind that a person means by `deploy`, `deployment`, `Deployment` or `deployments`; undefined where only the cluster knows. */
export const knownKind = (word: string): ResourceKindName | undefined => BY_NAME.get(word.toLowerCase());
