import type { KubeObject } from "../../object.ts";
import { type Checks, conditions, firstOf, inOrder, phases, waiting, when } from "../rules.ts";
import { conditionsOf, HEALTH_ORDER, type Health, type HealthCheck, type HealthStatus, health } from "../types.ts";

/** Like Lua's: a hash of hexadecimal digits is no number, `12` and `1e3` are. */
function toNumber(value: unknown): number | undefined {
  const parsed = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof parsed === "number" && !Number.isNaN(parsed) ? parsed : undefined;
}

/** Rollouts before 0.10 observed a hash of the specification, which cannot be compared: those count as observed. */
function isObserved({ metadata, spec, status }: KubeObject): boolean {
  if (!status) return false;
  const [seen, wanted] = [toNumber(status.observedGeneration), metadata.generation ?? 0];
  if (seen !== undefined && seen < wanted) return false;
  if (!spec?.workloadRef || !metadata.annotations) return true;
  return (
    toNumber(metadata.annotations["rollout.argoproj.io/workload-generation"]) ===
    toNumber(status.workloadObservedGeneration)
  );
}

const PHASES: Record<string, HealthStatus> = {
  ...Object.fromEntries(HEALTH_ORDER.map((word) => [word, word])),
  Paused: "Suspended",
};
const notObserved = when(
  (object) => !isObserved(object),
  "Progressing",
  "Waiting for rollout spec update to be observed",
);

const failed: HealthCheck = (object) => {
  const bad = conditionsOf(object).find(
    ({ type, reason }) =>
      type === "InvalidSpec" ||
      (type === "Progressing" && (reason === "RolloutAborted" || reason === "ProgressDeadlineExceeded")),
  );
  return bad && health("Degraded", bad.message);
};

const isPaused = ({ spec, status }: KubeObject) => status.pauseConditions?.length > 0 || spec?.paused === true;

/** What rollouts before 1.0 leave to be concluded; newer ones say their phase and are believed. */
const concluded: HealthCheck = ({ spec = {}, status }): Health => {
  const [wanted, all, updated, available] = [
    spec.replicas ?? 1,
    status.replicas ?? 0,
    status.updatedReplicas ?? 0,
    status.availableReplicas ?? 0,
  ];
  const wait = (what: string) => health("Progressing", what);
  if (status.currentPodHash === undefined)
    return wait("Waiting for rollout to finish: status has not been reconciled.");
  if (updated < wanted) return wait("Waiting for roll out to finish: More replicas need to be updated");
  if (available < updated) return wait("Waiting for roll out to finish: updated replicas are still becoming available");
  const stable = status.stableRS ?? (status.canary ? status.canary.stableRS : "");
  const { blueGreen, canary } = spec.strategy ?? {};
  if (blueGreen) {
    if (status.blueGreen?.activeSelector !== status.currentPodHash) return wait("active service cutover pending");
    if (stable !== "" && stable !== status.currentPodHash) return wait("waiting for analysis to complete");
  } else if (canary) {
    if (all > updated) return wait("Waiting for roll out to finish: old replicas are pending termination");
    if (stable === "" || stable !== status.currentPodHash) return wait("Waiting for rollout to finish steps");
  }
  return health("Healthy");
};

const ownPhase: HealthCheck = ({ status }) => {
  if (status.phase === undefined) return undefined;
  const verdict = PHASES[status.phase];
  return verdict ? health(verdict, status.message) : health("Unknown", "Lua returned an invalid health status");
};
const rollout = firstOf(notObserved, ownPhase, failed, when(isPaused, "Suspended", "Rollout is paused"), concluded);

/** Spot's copy: without conditions it does not count, and without an error it is healthy. */
const spotDeployment: HealthCheck = (object) => {
  if (!object.status?.conditions) return undefined;
  for (const { type, status, reason, message } of conditionsOf(object)) {
    const gaveUp = type === "Progressing" && (reason === "RolloutAborted" || reason === "ProgressDeadlineExceeded");
    if (type === "InvalidSpec" || gaveUp) return health("Degraded", message);
    if (type === "Paused" && status === "True") return health("Suspended", "Rollout is paused");
  }
  return object.status.phase === "Progressing"
    ? health("Progressing", "Waiting for rollout to finish steps")
    : health("Healthy");
};

const said =
  (otherwise: string) =>
  ({ status }: KubeObject): string =>
    status.message ?? otherwise;

/** With a status of no known phase they count for nothing: one that is about to begin must not make its application Unknown. */
const begun =
  (what: string, said: HealthCheck): HealthCheck =>
  (object) =>
    object.status
      ? said(object)
      : health("Progressing", `Waiting for ${what} to finish: status has not been reconciled.`);

const analysisRun = firstOf(
  phases("status.phase", { Progressing: ["Pending", "Running"] }, "Analysis run is running"),
  phases("status.phase", { Healthy: ["Successful"] }, said("Analysis run completed successfully")),
  phases("status.phase", { Degraded: ["Failed"] }, said("Analysis run failed")),
  phases("status.phase", { Degraded: ["Error"] }, said("Analysis run had an error")),
  phases("status.phase", { Unknown: ["Inconclusive"] }, said("Analysis run was inconclusive")),
);

const experiment = firstOf(
  phases("status.phase", { Progressing: ["Pending"] }, "Experiment is pending"),
  phases("status.phase", { Progressing: ["Running"] }, "Experiment is running"),
  phases("status.phase", { Healthy: ["Successful"] }, "Experiment is successful"),
  phases("status.phase", { Degraded: ["Failed"] }, "Experiment has failed"),
  phases("status.phase", { Degraded: ["Error"] }, "Experiment had an error"),
);

export const argo: Checks = {
  "argoproj.io/Rollout": rollout,
  "spot.io/SpotDeployment": spotDeployment,
  "argoproj.io/AnalysisRun": begun("analysis run", analysisRun),
  "argoproj.io/Experiment": begun("experiment", experiment),
  "argoproj.io/ApplicationSet": firstOf(
    inOrder(
      ["ErrorOccurred", "True", "Degraded"],
      ["ResourcesUpToDate", "False", "Degraded"],
      ["RolloutProgressing", "True", "Progressing"],
      ["ResourcesUpToDate", "True", "Healthy"],
    ),
    waiting("Waiting for the status to be reported"),
  ),
  "argoproj.io/CronWorkflow": firstOf(
    conditions(
      ["SpecError", "True", "Degraded"],
      ["SubmissionError", "True", "Degraded"],
      ["Completed", "True", "Healthy"],
    ),
    when(() => true, "Healthy", "CronWorkflow is healthy."),
  ),
  "argoproj.io/EventBus": firstOf(
    conditions(
      ["Deployed", "False", "Degraded", (c) => c.message ?? c.reason],
      ["Deployed", "True", "Healthy", (c) => c.message ?? c.reason],
    ),
    waiting("Waiting for initialization"),
  ),
};
