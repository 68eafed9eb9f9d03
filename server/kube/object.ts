/** A Kubernetes object as JSON; only what every kind has is typed. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  // biome-ignore lint/suspicious/noExplicitAny: the rest of an object is the business of its kind.
  [field: string]: any;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[];
  managedFields?: ManagedFields[];
  [field: string]: unknown;
}

export interface ManagedFields {
  manager?: string;
  operation?: string;
  subresource?: string;
  fieldsV1?: FieldSet;
  [field: string]: unknown;
}

/** `fieldsV1`: keys are `f:name`, `k:{…}`, `v:…`, `.`; an empty object is a leaf. */
export interface FieldSet {
  [path: string]: FieldSet;
}

export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

export function gvkOf(object: Pick<KubeObject, "apiVersion" | "kind">): GroupVersionKind {
  const slash = object.apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: object.apiVersion, kind: object.kind }
    : { group: object.apiVersion.slice(0, slash), version: object.apiVersion.slice(slash + 1), kind: object.kind };
}

/** Identity of an object inside one cluster, whatever version it is written in: `group/Kind/namespace/name`. */
export function keyOf(object: KubeObject): string {
  return objectKey(gvkOf(object).group, object.kind, object.metadata.namespace ?? "", object.metadata.name);
}

export const objectKey = (group: string, kind: string, namespace: string, name: string): string =>
  `${group}/${kind}/${namespace}/${name}`;

/** How an object is named in messages: `apps/Deployment guestbook/ui`. */
export function describe(object: KubeObject): string {
  const { group, kind } = gvkOf(object);
  const { namespace, name } = object.metadata;
  return `${group ? `${group}/` : ""}${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}
