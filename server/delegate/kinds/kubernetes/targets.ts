import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import { rankOf } from "../../../kube/order.ts";
import type { Resource } from "../../../kube/path.ts";
import type { Cluster } from "./cluster.ts";

/** One object and where it is served. */
export interface TaskObject {
  object: KubeObject;
  /** Not known yet, when its definition is one of the other objects. */
  resource: Resource | undefined;
}

/**
 * The objects in the order in which they can be made, each with its kind as the cluster serves it and with a namespace where it needs one.
 * Before anything is changed it is certain that every kind is there, or comes with the same objects.
 */
export async function targetsOf(
  objects: readonly KubeObject[],
  namespace: string,
  cluster: Cluster,
): Promise<Outcome<TaskObject[]>> {
  const defined = new Set(objects.flatMap(definedKinds));
  const targets: TaskObject[] = [];
  const unknown: string[] = [];
  for (const object of [...objects].sort((a, b) => rankOf(a.kind) - rankOf(b.kind))) {
    const { group, version, kind } = gvkOf(object);
    const found = await cluster.client.discovery.find(group, version, kind);
    if (found.kind === "done") targets.push({ object: placed(object, found.value, namespace), resource: found.value });
    else if (found.reason !== KUBE.kindNotFound) return found;
    else if (defined.has(`${group}/${version}/${kind}`)) targets.push({ object, resource: undefined });
    else unknown.push(`${describe(object)}: ${found.message}${elsewhere(cluster, object)}`);
  }
  if (unknown.length) return stop(KUBE.kindNotFound, unknown.slice(0, 10).join("; "));
  const seen = new Set<string>();
  for (const { object } of targets) {
    const key = keyOf(object);
    if (object.metadata.name && seen.has(key))
      return stop("ObjectTwice", `${describe(object)} is there twice; one of the two would be lost`);
    seen.add(key);
  }
  return done(targets);
}

/** With the namespace that the task gives, where its kind needs one and it says none. */
export function placed(object: KubeObject, resource: Resource, namespace: string): KubeObject {
  const { namespace: own, ...metadata } = object.metadata;
  return { ...object, metadata: resource.namespaced ? { ...metadata, namespace: own || namespace } : metadata };
}

/** `group/version/Kind` of everything that a definition makes the cluster serve. */
export function definedKinds({ kind, spec }: KubeObject): string[] {
  if (kind !== "CustomResourceDefinition" || !Array.isArray(spec?.versions)) return [];
  return spec.versions.map((version: { name?: string }) => `${spec.group}/${version?.name}/${spec.names?.kind}`);
}

function elsewhere({ client }: Cluster, { apiVersion, kind }: KubeObject): string {
  const versions = client.discovery.named(kind).filter((version) => version !== apiVersion);
  return versions.length
    ? `; it serves ${kind} as ${versions.slice(0, 5).join(", ")}`
    : "; its CustomResourceDefinition may be missing";
}
