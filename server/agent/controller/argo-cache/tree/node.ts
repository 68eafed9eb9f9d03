import type { Health } from "../../../../kube/health/health.ts";
import { gvkOf, type KubeObject } from "../../../../kube/object.ts";
import { imagesOf } from "../../status/summary.ts";
import { type Networking, networkingOf } from "./networking.ts";
import { type InfoItem, podInfo } from "./pod.ts";

export interface ResourceRef {
  group?: string;
  version?: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
}

/** One object in the tree, in the form that argocd-server reads. */
export interface ResourceNode extends ResourceRef {
  parentRefs?: ResourceRef[];
  info?: InfoItem[];
  networkingInfo?: Networking;
  resourceVersion?: string;
  images?: string[];
  health?: { status: string; message?: string };
  createdAt?: string;
}

const MANAGED_BY = "argocd.argoproj.io/managed-by-url";
const REVISIONS = ["deployment.kubernetes.io/revision", "rollout.argoproj.io/revision"];

export const refOf = ({
  group,
  version,
  kind,
  namespace,
  name,
  uid,
}: Partial<ResourceRef> & { kind: string; name: string }): ResourceRef => ({
  ...(group ? { group } : {}),
  ...(version ? { version } : {}),
  kind,
  ...(namespace ? { namespace } : {}),
  name,
  ...(uid ? { uid } : {}),
});

export function nodeOf(
  object: KubeObject,
  health: Health | undefined,
  parentRefs: readonly ResourceRef[],
  customLabels: readonly string[] = [],
): ResourceNode {
  const { namespace, name, uid, resourceVersion, creationTimestamp } = object.metadata;
  const info = infoOf(object, customLabels);
  const networkingInfo = networkingOf(object);
  // Argo CD shows images only for Pods: the images of a Deployment may not be the running ones.
  const images = gvkOf(object).group === "" && object.kind === "Pod" ? [...new Set(imagesOf(object))].sort() : [];
  return {
    ...refOf({ ...gvkOf(object), namespace, name, uid }),
    ...(parentRefs.length ? { parentRefs: [...parentRefs] } : {}),
    ...(info.length ? { info } : {}),
    ...(networkingInfo ? { networkingInfo } : {}),
    ...(resourceVersion ? { resourceVersion } : {}),
    ...(images.length ? { images } : {}),
    ...(health ? { health: { status: health.status, ...(health.message ? { message: health.message } : {}) } } : {}),
    ...(creationTimestamp ? { createdAt: creationTimestamp } : {}),
  };
}

/** An object that Git describes and the cluster does not have. */
export const missingNode = (object: KubeObject): ResourceNode => ({
  ...refOf({ ...gvkOf(object), namespace: object.metadata.namespace, name: object.metadata.name }),
  health: { status: "Missing" },
});

function infoOf(object: KubeObject, customLabels: readonly string[]): InfoItem[] {
  const { group } = gvkOf(object);
  const { annotations, labels } = object.metadata;
  const revision = revisionOf(object);
  const items = revision > 0 ? [{ name: "Revision", value: `Rev:${revision}` }] : [];
  for (const label of customLabels)
    if (labels?.[label] !== undefined) items.push({ name: label, value: labels[label] });
  if (group === "" && object.kind === "Pod") items.push(...podInfo(object));
  const managedBy = annotations?.[MANAGED_BY];
  if (group === "argoproj.io" && object.kind === "Application" && managedBy !== undefined)
    items.push({ name: "managed-by-url", value: managedBy });
  return items;
}

function revisionOf(object: KubeObject): number {
  const named = REVISIONS.map((name) => object.metadata.annotations?.[name]).find((value) => value !== undefined);
  const revision = named === undefined ? object.revision : Number(named);
  return Number.isSafeInteger(revision) ? revision : 0;
}
