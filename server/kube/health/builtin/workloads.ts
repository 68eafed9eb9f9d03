import { conditionsOf, type HealthCheck, health } from "../types.ts";

const number = (value: unknown): number => (typeof value === "number" ? value : 0);

export const deployment: HealthCheck = ({ metadata, spec = {}, status = {} }) => {
  if (spec.paused) return health("Suspended", "Deployment is paused");
  if (number(metadata.generation) > number(status.observedGeneration)) {
    return health(
      "Progressing",
      "Waiting for rollout to finish: observed deployment generation less than desired generation",
    );
  }
  const progressing = (status.conditions ?? []).find((c: { type?: string }) => c.type === "Progressing");
  if (progressing?.reason === "ProgressDeadlineExceeded") {
    return health("Degraded", `Deployment "${metadata.name}" exceeded its progress deadline`);
  }
  const [wanted, all, updated, available] = [
    spec.replicas,
    number(status.replicas),
    number(status.updatedReplicas),
    number(status.availableReplicas),
  ];
  if (wanted !== undefined && updated < wanted) {
    return health(
      "Progressing",
      `Waiting for rollout to finish: ${updated} out of ${wanted} new replicas have been updated...`,
    );
  }
  if (all > updated)
    return health(
      "Progressing",
      `Waiting for rollout to finish: ${all - updated} old replicas are pending termination...`,
    );
  if (available < updated)
    return health(
      "Progressing",
      `Waiting for rollout to finish: ${available} of ${updated} updated replicas are available...`,
    );
  return health("Healthy");
};

export const statefulSet: HealthCheck = ({ metadata, spec = {}, status = {} }) => {
  if (!status.observedGeneration || number(metadata.generation) > status.observedGeneration) {
    return health("Progressing", "Waiting for statefulset spec update to be observed...");
  }
  const [ready, updated] = [number(status.readyReplicas), number(status.updatedReplicas)];
  if (spec.replicas !== undefined && ready < spec.replicas)
    return health("Progressing", `Waiting for ${spec.replicas - ready} pods to be ready...`);
  const strategy = spec.updateStrategy ?? {};
  if (strategy.type === "RollingUpdate" && strategy.rollingUpdate) {
    const { partition } = strategy.rollingUpdate;
    if (spec.replicas !== undefined && partition !== undefined && updated < spec.replicas - partition) {
      return health(
        "Progressing",
        `Waiting for partitioned roll out to finish: ${updated} out of ${spec.replicas - partition} new pods have been updated...`,
      );
    }
    return health("Healthy", `partitioned roll out complete: ${updated} new pods have been updated...`);
  }
  if (strategy.type === "OnDelete") return health("Healthy", `statefulset has ${ready} ready pods`);
  const { updateRevision = "", currentRevision = "" } = status;
  if (updateRevision !== currentRevision) {
    return health(
      "Progressing",
      `waiting for statefulset rolling update to complete ${updated} pods at revision ${updateRevision}...`,
    );
  }
  return health(
    "Healthy",
    `statefulset rolling update complete ${number(status.currentReplicas)} pods at revision ${currentRevision}...`,
  );
};

export const daemonSet: HealthCheck = ({ metadata, spec = {}, status = {} }) => {
  if (number(metadata.generation) > number(status.observedGeneration)) {
    return health(
      "Progressing",
      "Waiting for rollout to finish: observed daemon set generation less than desired generation",
    );
  }
  const [desired, updated, available] = [
    number(status.desiredNumberScheduled),
    number(status.updatedNumberScheduled),
    number(status.numberAvailable),
  ];
  if (spec.updateStrategy?.type === "OnDelete")
    return health("Healthy", `daemon set ${updated} out of ${desired} new pods have been updated`);
  if (updated < desired) {
    return health(
      "Progressing",
      `Waiting for daemon set "${metadata.name}" rollout to finish: ${updated} out of ${desired} new pods have been updated...`,
    );
  }
  if (available < desired) {
    return health(
      "Progressing",
      `Waiting for daemon set "${metadata.name}" rollout to finish: ${available} of ${desired} updated pods are available...`,
    );
  }
  return health("Healthy");
};

export const replicaSet: HealthCheck = (object) => {
  const { metadata, spec = {}, status = {} } = object;
  if (number(metadata.generation) > number(status.observedGeneration)) {
    return health(
      "Progressing",
      "Waiting for rollout to finish: observed replica set generation less than desired generation",
    );
  }
  const failure = conditionsOf(object).find((c) => c.type === "ReplicaFailure");
  if (failure?.status === "True") return health("Degraded", failure.message);
  if (spec.replicas !== undefined && number(status.availableReplicas) < spec.replicas) {
    return health(
      "Progressing",
      `Waiting for rollout to finish: ${number(status.availableReplicas)} out of ${spec.replicas} new replicas are available...`,
    );
  }
  return health("Healthy");
};

export const job: HealthCheck = (object) => {
  let failed: string | undefined;
  let suspended = false;
  let complete: string | undefined;
  for (const condition of conditionsOf(object)) {
    if (condition.status === "False") continue;
    if (condition.type === "Failed") failed = condition.message ?? "";
    else if (condition.type === "Complete") complete = condition.message ?? "";
    else if (condition.type === "Suspended" && condition.status === "True") suspended = true;
  }
  if (failed !== undefined) return health("Degraded", failed);
  if (suspended) return health("Suspended");
  return complete === undefined ? health("Progressing") : health("Healthy", complete);
};
