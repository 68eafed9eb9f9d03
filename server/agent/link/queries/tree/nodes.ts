import type { Schemas } from "../../../../../openapi/client.ts";
import type { Health } from "../../../../kube/health/health.ts";
import { gvkOf, type KubeObject } from "../../../../kube/object.ts";
import { imagesOf } from "../../../controller/status/summary.ts";
import { defined } from "../../deliveries/spec.ts";

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
  "/PersistentVolumeClaim": ({ status }) => [
    ...info("status", status?.phase),
    ...info("capacity", status?.capacity?.storage),
  ],
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
