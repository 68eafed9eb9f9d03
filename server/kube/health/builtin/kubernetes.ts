import type { KubeObject } from "../../object.ts";
import { type Checks, firstOf, waiting, when } from "../rules.ts";
import { conditionsOf, type HealthCheck, health } from "../types.ts";

// RFC 3339 in UTC, so that the order of the texts is the order of the times.
const failedLast = ({ status }: KubeObject) => status.lastSuccessfulTime < status.lastScheduleTime;
const everScheduled = ({ status }: KubeObject) => status.lastScheduleTime !== undefined;

/** A CronJob has no word for failure: only its last run tells, and only when no other is under way. */
const cronJob = firstOf(
  when(({ spec }) => spec?.suspend === true, "Healthy", "CronJob is Suspended"),
  when(({ status }) => !status, "Progressing", "Waiting for CronJob"),
  when((object) => !everScheduled(object), "Healthy", "CronJob has not been scheduled yet"),
  when(
    ({ status }) => status.lastSuccessfulTime === undefined,
    "Healthy",
    "The CronJob never completed successfully. It may not be healthy",
  ),
  when(
    ({ status }) => status.active?.length > 0,
    "Healthy",
    "The job is running. Its last execution may not have been successful",
  ),
  when(failedLast, "Degraded", "CronJob has not completed its last execution successfully"),
  when(() => true, "Healthy", "CronJob has completed its last execution successfully"),
);

/** The first condition that says something decides, in its own words: that the names were accepted says nothing of a schema. */
const definition: HealthCheck = (object) => {
  const list = conditionsOf(object);
  if (list.length === 0) return health("Progressing", "Status conditions not found");
  for (const { type, status, reason, message = "" } of list) {
    if (type === "Terminating" && status === "True") return health("Progressing", `CRD is terminating: ${message}`);
    if (type === "NamesAccepted" && status === "False")
      return health("Degraded", `CRD names have not been accepted: ${message}`);
    if (type === "NonStructuralSchema" && status === "True")
      return health("Degraded", `Schema violations found: ${message}`);
    // The API server says so for some milliseconds after each creation.
    if (type === "Established" && status !== "True" && reason === "Installing")
      return health("Progressing", "CRD is being installed");
  }
  const established = list.some(({ type, status }) => type === "Established" && status === "True");
  return established ? health("Healthy", "CRD is healthy") : health("Degraded", "CRD is not established");
};

/** Too few pods are a budget's everyday life: they do not make it bad. */
const disruptionBudget: HealthCheck = (object) => {
  const list = conditionsOf(object);
  const told = list.find((c) => c.status === "False" && c.reason !== "InsufficientPods") ?? list.at(-1);
  if (!told) return health("Progressing", "Waiting for status");
  const bad = told.status === "False" && told.reason !== "InsufficientPods";
  return health(bad ? "Degraded" : "Healthy", `PodDisruptionBudget has ${told.reason ?? "no reason"}`);
};

const snapshot = firstOf(
  when(({ status }) => status?.readyToUse, "Healthy", "Ready to use"),
  when(
    ({ status }) => status?.error,
    "Degraded",
    ({ status }) => status.error.message,
  ),
  waiting("Waiting for status"),
);

export const kubernetes: Checks = {
  "batch/CronJob": cronJob,
  "apiextensions.k8s.io/CustomResourceDefinition": definition,
  "policy/PodDisruptionBudget": disruptionBudget,
  "snapshot.storage.k8s.io/VolumeSnapshot": snapshot,
  "snapshot.storage.k8s.io/VolumeSnapshotContent": snapshot,
};
