import type { KubeObject } from "../../object.ts";
import { type Checks, firstOf, number, observed, waiting, when } from "../rules.ts";
import { type HealthCheck, health } from "../types.ts";

interface Workload {
  name: string;
  /** Where its pause and its partition are written. */
  rolling: (object: KubeObject) => { paused?: boolean; partition?: number };
  /** The count that is missing while it is paused. */
  paused: string;
  /** The partition is reached: the rest is for the user to release. */
  held: (status: Record<string, number>, partition: number) => boolean;
  good: (status: Record<string, number>) => boolean;
  bad: (status: Record<string, number>) => boolean;
  badly: string;
}

/** Kruise's workloads roll out in partitions, and stop at each until a person continues. */
const workload =
  ({ name, rolling, paused, held, good, bad, badly }: Workload): HealthCheck =>
  (object) => {
    const { metadata, status } = object;
    if (!status || !observed(object)) return undefined;
    const { paused: stopped, partition } = rolling(object);
    if (stopped === true || status[paused] === undefined) return health("Suspended", `${name} is paused`);
    if (partition !== 0 && number(metadata.generation) > 1)
      return held(status, partition ?? 0) ? health("Suspended", `${name} needs manual intervention`) : undefined;
    if (good(status)) return health("Healthy", `All ${name} workloads are ready and updated`);
    return bad(status) ? health("Degraded", badly) : undefined;
  };

const initial = waiting("Waiting for initialization");
const rollingUpdate = ({ spec }: KubeObject) => spec?.updateStrategy?.rollingUpdate ?? {};
const allAvailable = (status: Record<string, number>) => status.updatedAvailableReplicas === status.replicas;
const replicas = {
  paused: "updatedAvailableReplicas",
  good: allAvailable,
  bad: () => true,
  badly: "Some replicas are not ready or available",
};

const broadcastJob = firstOf(
  when(
    ({ status }) => status?.phase === "completed" && status.desired === status.succeeded,
    "Healthy",
    "BroadcastJob is completed successfully",
  ),
  when(({ status }) => status?.phase === "failed" && status.failed !== 0, "Degraded", "BroadcastJob failed"),
  when(
    ({ spec, status }) => status?.phase === "paused" && spec?.paused === true,
    "Suspended",
    "BroadcastJob is Paused",
  ),
  waiting("BroadcastJob is still running"),
);

const cronJob = firstOf(
  when(
    ({ spec, status }) => !status?.lastScheduleTime && spec?.paused === true,
    "Suspended",
    "AdvancedCronJob is Paused",
  ),
  when(({ status }) => status?.active?.length > 0, "Progressing", "AdvancedCronJobs has active jobs"),
  when(({ status }) => !status?.lastScheduleTime, "Degraded", "AdvancedCronJobs has not run successfully"),
  when(() => true, "Healthy", "AdvancedCronJobs has run successfully"),
);

const step = (states: readonly string[], words: readonly string[]) => (object: KubeObject) =>
  observed(object) &&
  states.includes(object.status?.canaryStatus?.currentStepState) &&
  words.includes(object.status.phase);

const rollout = firstOf(
  when(step(["StepPaused"], ["Progressing"]), "Suspended", "Rollout is Paused need manual intervention"),
  when(step(["Completed"], ["Healthy"]), "Healthy", "Rollout is Completed"),
  when(step(["StepPaused"], ["Terminating", "Disabled"]), "Degraded", "Rollout is Disabled or Terminating"),
  waiting("Rollout is still progressing"),
);

const gameServer: HealthCheck = ({ status }) => {
  if (!status) return undefined;
  const { currentState: now, desiredState: wanted } = status;
  if (now !== wanted) return health("Progressing", `State change: ${now ?? "Unknown"} → ${wanted ?? "Unknown"}`);
  const list: { type?: string; status?: string }[] = status.podStatus?.conditions ?? [];
  if (list.some((c) => c.type === "KruisePodReady" && c.status !== "True"))
    return health("Degraded", "Pod is not ready: KruisePodReady");
  return now === "Ready" ? health("Healthy", "GameServer is Ready") : undefined;
};

const gameServerSet: HealthCheck = (object) => {
  const { status } = object;
  if (!status || !observed(object)) return undefined;
  const { paused, partition = 0 } = rollingUpdate(object);
  const all = number(status.replicas);
  if (paused === true) return health("Suspended", "GameServerSet is paused");
  if (partition !== 0 && number(status.updatedReplicas) >= all - partition)
    return health("Suspended", `Partition=${partition}, waiting for manual intervention`);
  if (number(status.updatedReadyReplicas) === all)
    return health("Healthy", "All GameServerSet replicas are updated and ready");
  if (number(status.readyReplicas) < all)
    return health("Progressing", `ReadyReplicas ${number(status.readyReplicas)}/${all}, still progressing`);
  return undefined;
};

export const kruise: Checks = {
  "apps.kruise.io/CloneSet": firstOf(
    workload({
      ...replicas,
      name: "Cloneset",
      rolling: ({ spec }) => spec?.updateStrategy ?? {},
      held: (status) => status.updatedReplicas! >= status.expectedUpdatedReplicas!,
    }),
    initial,
  ),
  "apps.kruise.io/StatefulSet": firstOf(
    workload({
      ...replicas,
      name: "Statefulset",
      rolling: rollingUpdate,
      held: (status, partition) => status.updatedReplicas! > status.replicas! - partition,
    }),
    initial,
  ),
  "apps.kruise.io/DaemonSet": firstOf(
    workload({
      name: "Daemonset",
      // Unlike the others it holds nothing back where no partition is written.
      rolling: (object) => ({ partition: 0, ...rollingUpdate(object) }),
      paused: "updatedNumberScheduled",
      held: (status, partition) => status.updatedNumberScheduled! > status.desiredNumberScheduled! - partition,
      good: (s) =>
        s.updatedNumberScheduled === s.desiredNumberScheduled && s.numberAvailable === s.desiredNumberScheduled,
      bad: (s) =>
        s.updatedNumberScheduled === s.desiredNumberScheduled && s.numberUnavailable === s.desiredNumberScheduled,
      badly: "Some pods are not ready or available",
    }),
    initial,
  ),
  "apps.kruise.io/BroadcastJob": broadcastJob,
  "apps.kruise.io/AdvancedCronJob": cronJob,
  "rollouts.kruise.io/Rollout": rollout,
  "game.kruise.io/GameServer": firstOf(gameServer, () => health("Unknown", "Waiting for GameServer to be ready")),
  "game.kruise.io/GameServerSet": firstOf(gameServerSet, waiting("Waiting for GameServerSet initialization")),
};
