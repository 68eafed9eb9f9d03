import { APPSET, type Free, type SetCondition, type SetStatus } from "../types.ts";
import type { LiveApplication } from "./application.ts";

type Said = Omit<SetCondition, "lastTransitionTime">;

/** Conditions with the time at which each of them changed last. */
export function withTimes(said: Said[], before: readonly SetCondition[] = [], now: string): SetCondition[] {
  return said.map((one) => {
    const old = before.find(({ type }) => type === one.type);
    return {
      ...one,
      lastTransitionTime: old?.status === one.status && old.lastTransitionTime ? old.lastTransitionTime : now,
    };
  });
}

const ALL_WELL = "All applications have been generated successfully";

export const succeeded = (): Said[] => [
  { type: "ErrorOccurred", status: "False", reason: APPSET.generated, message: ALL_WELL },
  {
    type: "ParametersGenerated",
    status: "True",
    reason: APPSET.parameters,
    message: "Successfully generated parameters for all Applications",
  },
  { type: "ResourcesUpToDate", status: "True", reason: APPSET.generated, message: ALL_WELL },
];

/** What failed; `generated` says whether the parameters were there. */
export const failed = (reason: string, message: string, generated: boolean): Said[] => [
  { type: "ErrorOccurred", status: "True", reason, message },
  { type: "ParametersGenerated", status: generated ? "True" : "False", reason, message },
  { type: "ResourcesUpToDate", status: "False", reason, message },
];

export const rolling = (step: number | undefined): Said =>
  step === undefined
    ? {
        type: "RolloutProgressing",
        status: "False",
        reason: APPSET.rolloutComplete,
        message: "ApplicationSet Rollout has completed",
      }
    : {
        type: "RolloutProgressing",
        status: "True",
        reason: APPSET.modified,
        message: `ApplicationSet is performing rollout of step ${step}`,
      };

/** How the set is, from its conditions. */
export function healthFrom(conditions: readonly SetCondition[]): NonNullable<SetStatus["health"]> {
  const is = (type: SetCondition["type"], status: string) =>
    conditions.find((one) => one.type === type && one.status === status);
  const bad = is("ErrorOccurred", "True");
  if (bad) return { status: "Degraded", message: bad.message };
  const busy = is("RolloutProgressing", "True");
  if (busy) return { status: "Progressing", message: busy.message };
  const good = is("ResourcesUpToDate", "True");
  return good
    ? { status: "Healthy", message: good.message }
    : { status: "Unknown", message: "Waiting for health status to be determined" };
}

// As many as a person looks at; etcd takes 1.5 MB of an object.
const MAX_RESOURCES = 5_000;

/** The set's applications and how they are. */
export function resourcesOf(applications: readonly LiveApplication[]): Free[] {
  return [...applications]
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .slice(0, MAX_RESOURCES)
    .map(({ metadata, status }) => ({
      group: "argoproj.io",
      version: "v1alpha1",
      kind: "Application",
      namespace: metadata.namespace,
      name: metadata.name,
      ...(status?.sync?.status ? { status: status.sync.status } : {}),
      ...(status?.health?.status
        ? {
            health: {
              status: status.health.status,
              ...(status.health.message ? { message: status.health.message } : {}),
            },
          }
        : {}),
    }));
}
