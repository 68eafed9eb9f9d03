import { done, type Outcome } from "../../base/outcome.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";

// The built-in kinds without a namespace, by group: what an API server's discovery says of them.
const CLUSTER_WIDE: Record<string, string[]> = {
  "": ["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
  "admissionregistration.k8s.io": [
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
  ],
  "apiextensions.k8s.io": ["CustomResourceDefinition"],
  "apiregistration.k8s.io": ["APIService"],
  "authentication.k8s.io": ["SelfSubjectReview", "TokenReview"],
  "authorization.k8s.io": ["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
  "certificates.k8s.io": ["CertificateSigningRequest", "ClusterTrustBundle"],
  "flowcontrol.apiserver.k8s.io": ["FlowSchema", "PriorityLevelConfiguration"],
  "networking.k8s.io": ["IPAddress", "IngressClass", "ServiceCIDR"],
  "node.k8s.io": ["RuntimeClass"],
  policy: ["PodSecurityPolicy"],
  "rbac.authorization.k8s.io": ["ClusterRole", "ClusterRoleBinding"],
  "resource.k8s.io": ["DeviceClass", "DeviceTaintRule", "ResourceSlice"],
  "scheduling.k8s.io": ["PriorityClass"],
  "storage.k8s.io": ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
  "storagemigration.k8s.io": ["StorageVersionMigration"],
};

export type Find = (group: string, version: string, kind: string) => Promise<Outcome<Resource>>;

/**
 * Where kinds live, without a cluster to ask: the built-in ones by heart, custom ones as their definitions among the objects say, and
 * any other in a namespace, as the ecosystem takes unknown kinds.
 */
export function findOffline(objects: readonly KubeObject[]): Find {
  const defined = new Map<string, boolean>();
  for (const { apiVersion, kind, spec } of objects)
    if (kind === "CustomResourceDefinition" && apiVersion?.startsWith("apiextensions.k8s.io/"))
      defined.set(`${spec?.group}/${spec?.names?.kind}`, spec?.scope === "Cluster");
  return async (group, version, kind) => {
    const own = Object.hasOwn(CLUSTER_WIDE, group) && CLUSTER_WIDE[group]!.includes(kind);
    const clusterWide = own || defined.get(`${group}/${kind}`) === true;
    return done({ group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: !clusterWide });
  };
}
