import type { Schemas } from "../../../../openapi/client.ts";
import type { Health } from "../../../kube/health/health.ts";
import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import { isNamedAfter, NAMED } from "../../controller/part.ts";
import { imagesOf } from "../../controller/summary.ts";
import { defined } from "../spec.ts";

export type Node = Schemas["ResourceNode"];

/** One object as a line of the tree. */
export function nodeOf(object: KubeObject, health: Health | undefined, more: Partial<Node> = {}): Node {
  const { group, version, kind } = gvkOf(object);
  const { namespace, name, uid, creationTimestamp } = object.metadata;
  const [images, info] = [imagesOf(object), infoOf(object)];
  return defined({
    group: group || undefined,
    version,
    kind,
    namespace,
    name,
    uid,
    ...more,
    health: health?.status,
    message: health?.message,
    images: images.length ? images : undefined,
    info: info.length ? info : undefined,
    createdAt: creationTimestamp ?? undefined,
  }) as Node;
}

type Info = NonNullable<Node["info"]>;
const info = (name: string, value: unknown): Info =>
  value === undefined || value === null || value === "" ? [] : [{ name, value: String(value) }];
const ready = (has: unknown, wants: unknown): Info => info("ready", `${has ?? 0}/${wants ?? 0}`);

const INFO: Record<string, (object: KubeObject) => Info> = {
  "/Pod": podInfo,
  "apps/Deployment": ({ spec, status }) => ready(status?.readyReplicas, spec?.replicas ?? 1),
  "apps/StatefulSet": ({ spec, status }) => ready(status?.readyReplicas, spec?.replicas ?? 1),
  "apps/DaemonSet": ({ status }) => ready(status?.numberReady, status?.desiredNumberScheduled),
  "apps/ReplicaSet": ({ spec, status, metadata }) => [
    ...ready(status?.readyReplicas, spec?.replicas ?? 1),
    ...info("revision", metadata.annotations?.["deployment.kubernetes.io/revision"]),
  ],
  "apps/ControllerRevision": ({ revision }) => info("revision", revision),
  "batch/Job": ({ spec, status }) => [
    ...info("completions", `${status?.succeeded ?? 0}/${spec?.completions ?? 1}`),
    ...info("failed", status?.failed),
  ],
  "batch/CronJob": ({ spec, status }) => [
    ...info("schedule", spec?.schedule),
    ...(spec?.suspend ? info("suspended", "yes") : []),
    ...info("last", status?.lastScheduleTime),
  ],
  "/PersistentVolumeClaim": ({ status }) => [...info("status", status?.phase), ...info("capacity", status?.capacity?.storage)],
  "/Service": ({ spec, status }) => [
    ...info("type", spec?.type),
    ...info("address", status?.loadBalancer?.ingress?.[0]?.hostname ?? status?.loadBalancer?.ingress?.[0]?.ip),
  ],
  "networking.k8s.io/Ingress": ({ spec }) =>
    info(
      "hosts",
      (Array.isArray(spec?.rules) ? spec.rules : [])
        .map((rule: { host?: string }) => rule?.host)
        .filter(Boolean)
        .join(","),
    ),
};

/** What a person wants to see at once. */
export function infoOf(object: KubeObject): Info {
  try {
    return INFO[`${gvkOf(object).group}/${object.kind}`]?.(object) ?? [];
  } catch {
    // A status of another shape than its kind promises tells nothing.
    return [];
  }
}

function podInfo({ spec, status, metadata }: KubeObject): Info {
  const containers = (status?.containerStatuses ?? []) as {
    ready?: boolean;
    restartCount?: number;
    state?: Record<string, { reason?: string }>;
  }[];
  const restarts = containers.reduce((sum, one) => sum + (one.restartCount ?? 0), 0);
  const why = containers.map(({ state }) => state?.waiting?.reason ?? state?.terminated?.reason).find(Boolean);
  return [
    ...info("status", metadata.deletionTimestamp ? "Terminating" : (why ?? status?.reason ?? status?.phase)),
    ...ready(containers.filter((one) => one.ready).length, spec?.containers?.length),
    ...(restarts ? info("restarts", restarts) : []),
    ...info("node", spec?.nodeName),
  ];
}

const NAMING = new Set(Object.values(NAMED));

/** The objects that came of those of an application, parents first, each with the uids of what it came of. */
export function descendants(roots: readonly KubeObject[], others: readonly KubeObject[]): { object: KubeObject; parents: string[] }[] {
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
  const named = others.filter((object) => NAMED[`${gvkOf(object).group}/${object.kind}`] && !known.has(object.metadata.uid));
  const found = new Map<KubeObject, string[]>();
  let level: readonly KubeObject[] = roots;
  while (level.length) {
    const next: KubeObject[] = [];
    for (const parent of level) {
      const { uid } = parent.metadata;
      const names = NAMING.has(`${gvkOf(parent).group}/${parent.kind}`);
      const children = [...((uid && byParent.get(uid)) || []), ...(names ? named.filter((object) => isNamedAfter(object, parent)) : [])];
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

// What comes of these kinds is known; of kinds that others define, anything may come.
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

/** The kinds in which to look for what came of these, and of that in turn; "any" when it may be any. */
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
