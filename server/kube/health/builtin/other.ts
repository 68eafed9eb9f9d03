import { readJson } from "../../../base/json/nesting.ts";
import { type Condition, conditionsOf, type HealthCheck, health } from "../types.ts";

export const persistentVolumeClaim: HealthCheck = ({ status = {} }) => {
  const known = { Bound: "Healthy", Pending: "Progressing", Lost: "Degraded" } as const;
  return health(known[status.phase as keyof typeof known] ?? "Unknown");
};

export const service: HealthCheck = ({ spec = {}, status = {} }) =>
  health(spec.type === "LoadBalancer" && !status.loadBalancer?.ingress?.length ? "Progressing" : "Healthy");

export const ingress: HealthCheck = ({ status = {} }) =>
  health(status.loadBalancer?.ingress?.length ? "Healthy" : "Progressing");

export const apiService: HealthCheck = (object) => {
  const available = conditionsOf(object).find((c) => c.type === "Available");
  if (!available) return health("Progressing", "Waiting to be processed");
  return health(
    available.status === "True" ? "Healthy" : "Progressing",
    `${available.reason ?? ""}: ${available.message ?? ""}`,
  );
};

const HPA_BROKEN: Record<string, Set<string>> = {
  AbleToScale: new Set(["FailedGetScale", "FailedUpdateScale"]),
  ScalingActive: new Set([
    "FailedGetResourceMetric",
    "FailedGetObjectMetric",
    "FailedGetPodsMetric",
    "FailedGetExternalMetric",
    "FailedComputeMetricsReplicas",
    "InvalidSelector",
  ]),
};

export const horizontalPodAutoscaler: HealthCheck = (object) => {
  if (object.apiVersion === "autoscaling/v1") {
    const text = object.metadata.annotations?.["autoscaling.alpha.kubernetes.io/conditions"];
    if (text === undefined) return health("Progressing", "Waiting to Autoscale");
    try {
      return autoscaling((readJson(text) as Condition[] | null) ?? []);
    } catch {
      return health("Unknown", "failed to convert conditions annotation to typed: it is not JSON");
    }
  }
  return autoscaling(conditionsOf(object));
};

function autoscaling(conditions: Condition[]) {
  const broken = conditions.find((c) => HPA_BROKEN[c.type ?? ""]?.has(c.reason ?? ""));
  if (broken) return health("Degraded", broken.message);
  const good = conditions.find((c) => (c.type === "AbleToScale" || c.type === "ScalingLimited") && c.status === "True");
  return good ? health("Healthy", good.message) : health("Progressing", "Waiting to Autoscale");
}

export const workflow: HealthCheck = ({ status = {} }) => {
  switch (status.phase ?? "") {
    case "":
    case "Pending":
    case "Running":
      return health("Progressing", status.message);
    case "Succeeded":
      return health("Healthy", status.message);
    case "Failed":
    case "Error":
      return health("Degraded", status.message);
  }
  return health("Unknown", status.message);
};
