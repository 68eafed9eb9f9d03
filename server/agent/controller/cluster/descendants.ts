import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import { isNamedAfter, NAMED } from "./resource-membership.ts";

const NAMING = new Set(Object.values(NAMED));

/** The descendants of an application's objects, parents first, each with the uids of its parents. */
export function descendants(
  roots: readonly KubeObject[],
  others: readonly KubeObject[],
): { object: KubeObject; parents: string[] }[] {
  const known = new Set(roots.map(({ metadata }) => metadata.uid));
  const byParent = new Map<string, KubeObject[]>();
  for (const object of others) {
    if (known.has(object.metadata.uid)) continue;
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      // One may have thousands, and each list is filled in place.
      const children = byParent.get(uid);
      if (children) children.push(object);
      else byParent.set(uid, [object]);
    }
  }
  const named = others.filter(
    (object) => NAMED[`${gvkOf(object).group}/${object.kind}`] && !known.has(object.metadata.uid),
  );
  const found = new Map<KubeObject, string[]>();
  let level: readonly KubeObject[] = roots;
  while (level.length) {
    const next: KubeObject[] = [];
    for (const parent of level) {
      const { uid } = parent.metadata;
      const names = NAMING.has(`${gvkOf(parent).group}/${parent.kind}`);
      const children = [
        ...((uid && byParent.get(uid)) || []),
        ...(names ? named.filter((object) => isNamedAfter(object, parent)) : []),
      ];
      for (const child of new Set(children)) {
        const parents = found.get(child);
        if (parents) parents.push(uid!);
        else {
          found.set(child, [uid!]);
          next.push(child);
        }
      }
    }
    level = next;
  }
  return [...found].map(([object, parents]) => ({ object, parents }));
}

// The children of these kinds are known; a custom kind may have children of any kind.
const CHILDREN: Readonly<Record<string, readonly string[]>> = {
  "apps/Deployment": ["apps/ReplicaSet"],
  "apps/ReplicaSet": ["/Pod"],
  "apps/StatefulSet": ["/Pod", "apps/ControllerRevision", "/PersistentVolumeClaim"],
  "apps/DaemonSet": ["/Pod", "apps/ControllerRevision"],
  "batch/CronJob": ["batch/Job"],
  "batch/Job": ["/Pod"],
  "/ReplicationController": ["/Pod"],
  "/Service": ["discovery.k8s.io/EndpointSlice", "/Endpoints"],
  "argoproj.io/Application": [],
  "argoproj.io/ApplicationSet": [],
  "argoproj.io/AppProject": [],
};
const BUILT_IN =
  /^((|apps|batch|autoscaling|policy)|(networking|rbac\.authorization|apiextensions|admissionregistration|storage|scheduling|discovery|node|coordination|certificates|flowcontrol\.apiserver|apiregistration|resource)\.k8s\.io)$/;

/** The kinds of the children of these kinds, and of their children; "any" when it may be any kind. */
export function kindsBelow(kinds: Iterable<string>): Set<string> | "any" {
  const found = new Set<string>();
  const open = [...kinds];
  for (let kind = open.pop(); kind !== undefined; kind = open.pop()) {
    const below = CHILDREN[kind];
    if (!below && !BUILT_IN.test(kind.slice(0, kind.indexOf("/")))) return "any";
    for (const one of below ?? []) {
      if (found.has(one)) continue;
      found.add(one);
      open.push(one);
    }
  }
  return found;
}
