import { healthOf } from "../../../kube/health/health.ts";
import { conditionsOf } from "../../../kube/health/types.ts";
import { gvkOf, type KubeObject } from "../../../kube/object.ts";

/**
 * How far a live object is.
 *
 *   ready    nothing more is to be waited for
 *   waiting  it is on its way; `why` says to what
 *   failed   it will not become ready by itself
 */
export interface Readiness {
  state: "ready" | "waiting" | "failed";
  why: string;
}

const ready = (why = ""): Readiness => ({ state: "ready", why });
const waiting = (why: string): Readiness => ({ state: "waiting", why });
const failed = (why: string): Readiness => ({ state: "failed", why });

const CHECKS: Record<string, (object: KubeObject) => Readiness> = {
  "apps/Deployment": byHealth,
  "apps/StatefulSet": byHealth,
  "apps/DaemonSet": byHealth,
  "apps/ReplicaSet": byHealth,
  "batch/Job": byHealth,
  "/Pod": pod,
  "/PersistentVolumeClaim": claim,
  "/Namespace": ({ status = {} }) =>
    status.phase === "Active" ? ready() : waiting(`it is ${status.phase ?? "being made"}`),
  "apiextensions.k8s.io/CustomResourceDefinition": definition,
  "apiregistration.k8s.io/APIService": (object) => byCondition(object, "Available"),
};

export function readiness(object: KubeObject): Readiness {
  if (object.metadata.deletionTimestamp) return waiting("it is being deleted");
  return (CHECKS[`${gvkOf(object).group}/${object.kind}`] ?? generic)(object);
}

/** Kinds that start Pods, which say more about why than they themselves. */
export const startsPods = (object: KubeObject): boolean =>
  ["apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job", "/Pod"].includes(
    `${gvkOf(object).group}/${object.kind}`,
  );

function byHealth(object: KubeObject): Readiness {
  const { status, message = "" } = healthOf(object) ?? { status: "Healthy" };
  if (status === "Healthy" || status === "Suspended") return ready(message);
  if (status === "Degraded") return failed(message || "it has failed");
  return waiting(message || "it runs");
}

function pod(object: KubeObject): Readiness {
  const { status = {} } = object;
  if (status.phase === "Succeeded") return ready();
  if (status.phase === "Failed") return failed(healthOf(object)?.message || "it has failed");
  const condition = conditionsOf(object).find((c) => c.type === "Ready");
  return condition?.status === "True"
    ? ready()
    : waiting(condition?.message || `it is ${status.phase ?? "not scheduled yet"}`);
}

function claim({ status = {} }: KubeObject): Readiness {
  if (status.phase === "Bound") return ready();
  return status.phase === "Lost" ? failed("its volume is lost") : waiting("it is not bound to a volume");
}

function definition(object: KubeObject): Readiness {
  const refused = conditionsOf(object).find((c) => c.type === "NamesAccepted" && c.status === "False");
  return refused ? failed(refused.message ?? "its names are not accepted") : byCondition(object, "Established");
}

function byCondition(object: KubeObject, type: string): Readiness {
  const condition = conditionsOf(object).find((c) => c.type === type);
  if (condition?.status === "True") return ready();
  return waiting(condition?.message || `it is not ${type} yet`);
}

/** What most controllers keep to: `Ready`, `Reconciling`, `Stalled`, and the generation that they have seen. */
function generic(object: KubeObject): Readiness {
  const { metadata, status } = object;
  const seen = status?.observedGeneration;
  if (typeof seen === "number" && metadata.generation !== undefined && seen < metadata.generation)
    return waiting("its controller has not seen the change yet");
  const conditions = conditionsOf(object);
  const stalled = conditions.find((c) => c.type === "Stalled" && c.status === "True");
  if (stalled) return failed(stalled.message || stalled.reason || "it is stalled");
  const busy = conditions.find((c) => c.type === "Reconciling" && c.status === "True");
  if (busy) return waiting(busy.message || "it is being reconciled");
  return conditions.some((c) => c.type === "Ready") ? byCondition(object, "Ready") : ready();
}
