import { gvkOf, type KubeObject } from "../../kube/object.ts";
import { apiService, horizontalPodAutoscaler, ingress, persistentVolumeClaim, service, workflow } from "./other.ts";
import { pod } from "./pod.ts";
import { HEALTH_ORDER, type Health, type HealthCheck, type HealthStatus, health } from "./types.ts";
import { daemonSet, deployment, job, replicaSet, statefulSet } from "./workloads.ts";

export type { Health, HealthStatus } from "./types.ts";

/** The kinds that tell their health; every other kind has none and does not count. */
const CHECKS: Record<string, HealthCheck> = {
  "apps/Deployment": deployment,
  "apps/StatefulSet": statefulSet,
  "apps/DaemonSet": daemonSet,
  "apps/ReplicaSet": replicaSet,
  "batch/Job": job,
  "/Pod": pod,
  "/PersistentVolumeClaim": persistentVolumeClaim,
  "/Service": service,
  "networking.k8s.io/Ingress": ingress,
  "extensions/Ingress": ingress,
  "autoscaling/HorizontalPodAutoscaler": horizontalPodAutoscaler,
  "apiregistration.k8s.io/APIService": apiService,
  "argoproj.io/Workflow": workflow,
};

const HOOK_FINALIZER = "argocd.argoproj.io/hook-finalizer";

/** The health of one live object, or undefined when its kind has no check. */
export function healthOf(object: KubeObject): Health | undefined {
  if (object.metadata.deletionTimestamp && !object.metadata.finalizers?.includes(HOOK_FINALIZER))
    return health("Progressing", "Pending deletion");
  return CHECKS[`${gvkOf(object).group}/${object.kind}`]?.(object);
}

/**
 * The health of an application: the worst of its objects. One that is missing does not make it worse, because its absence
 * already shows as OutOfSync; all of them missing does.
 */
export function aggregateHealth(parts: readonly { health?: Health; missing: boolean }[]): HealthStatus {
  if (parts.length > 0 && parts.every((part) => part.missing)) return "Missing";
  let worst: HealthStatus = "Healthy";
  for (const { health: one, missing } of parts) {
    if (missing || !one) continue;
    if (HEALTH_ORDER.indexOf(one.status) > HEALTH_ORDER.indexOf(worst)) worst = one.status;
  }
  return worst;
}
