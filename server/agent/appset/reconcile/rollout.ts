import { canonical } from "../../../base/json/canonical.ts";
import type { ApplicationSetSpec, ApplicationStep, Free, Generated, RolloutStep } from "../types.ts";
import type { LiveApplication } from "./application.ts";

/**
 * A progressive sync. Each application goes
 *
 *   Waiting → Pending      its step's turn has come and there is room in it: it is asked to sync
 *   Pending → Progressing  the sync has begun, whatever its result: a failed one is repeated only by the application's own `retry`
 *   Progressing → Healthy  it is healthy and synced
 *   any → Waiting          it gets another revision or specification; one that is synced already continues as if it had been asked
 *
 * and a step's turn comes when all applications of the steps before it are Healthy.
 */
export interface Rollout {
  steps: ApplicationStep[];
  /** Applications to ask for a sync now. */
  sync: string[];
  /** The first step that is not done, from 1; nothing when all is. */
  running?: number;
}

export const isRolling = ({ strategy }: ApplicationSetSpec): boolean =>
  strategy?.type === "RollingSync" && (strategy.rollingSync?.steps?.length ?? 0) > 0;

/** Whether the last step is deleted first; written by hand, so in any case of letters. */
export const isReverse = ({ strategy }: ApplicationSetSpec): boolean =>
  String(strategy?.deletionOrder).toLowerCase() === "reverse";

/** Turns an application's own automation off, as Argo CD does: the rollout decides when it syncs. */
export function held(generated: Generated): Generated {
  const policy = generated.spec.syncPolicy as Free | undefined;
  if (!policy?.automated) return generated;
  const syncPolicy = { ...policy, automated: { ...policy.automated, enabled: false } };
  return { ...generated, spec: { ...generated.spec, syncPolicy } };
}

/** The step of an application, from 1; the last one that names it counts, and none is 0. */
export function stepOf(labels: Record<string, string> = {}, steps: readonly RolloutStep[]): number {
  return (
    steps.findLastIndex(({ matchExpressions = [] }) =>
      matchExpressions.every(({ key, operator, values = [] }) => {
        const fits = Object.hasOwn(labels, key) && values.includes(labels[key]!);
        return operator === "In" ? fits : !fits;
      }),
    ) + 1
  );
}

interface Candidate {
  name: string;
  labels?: Record<string, string>;
  live?: LiveApplication;
  /** Its specification was changed just now. */
  changed?: boolean;
}

/** One look at a rollout: where each application is now, and who is next. */
export function rollOut(
  spec: ApplicationSetSpec,
  applications: Candidate[],
  before: readonly ApplicationStep[],
  now: string,
): Rollout {
  const steps = spec.strategy?.rollingSync?.steps ?? [];
  const known = new Map(before.map((one) => [one.application, one]));
  const lives = new Map(applications.map(({ name, live }) => [name, live]));
  const states = applications.map((one) => look(one, stepOf(one.labels, steps), known.get(one.name), now));
  const sync: string[] = [];
  for (let step = 1; step <= steps.length; step++) {
    const here = states.filter((one) => one.step === String(step));
    let busy = here.filter((one) => one.status === "Pending" || one.status === "Progressing").length;
    const room = roomOf(steps[step - 1]!.maxUpdate, here.length);
    for (const one of here) {
      if (one.status === "Waiting" && busy < room) {
        const at = askedAt(lives.get(one.application), now);
        set(
          one,
          "Pending",
          "Application moved to Pending status, watching for the Application resource to start Progressing",
          at,
        );
        busy++;
      }
      // Asked again until it has begun: a request may have been lost.
      if (one.status === "Pending") sync.push(one.application);
    }
    if (here.some((one) => one.status !== "Healthy")) return { steps: states, sync, running: step };
  }
  return { steps: states, sync };
}

function look(
  { name, live, changed }: Candidate,
  step: number,
  before: ApplicationStep | undefined,
  now: string,
): ApplicationStep {
  const one: ApplicationStep = before
    ? { ...before, targetRevisions: before.targetRevisions ?? [] }
    : {
        application: name,
        status: "Waiting",
        message: "No Application status found, defaulting status to Waiting",
        step: "",
        targetRevisions: [],
        lastTransitionTime: now,
      };
  one.step = step === 0 ? "-1" : String(step);
  const { sync, health, operationState, conditions } = live?.status ?? {};
  const single = sync?.revision ? [sync.revision] : [];
  const revisions = sync?.revisions?.length ? sync.revisions : single;
  const moved =
    revisions.length > 0 && one.targetRevisions.length > 0 && revisions.join() !== one.targetRevisions.join();
  const { startedAt, phase } = operationState ?? {};
  const broken = conditions?.some(({ type }) => type === "InvalidSpecError" || type === "UnknownError") === true;
  // A change is reported once. The last comparison reports it again, unless another one is on its way.
  const stale =
    !isAbout(live) && (one.status === "Healthy" || (one.status === "Progressing" && phase !== "Running" && !broken));
  if (revisions.length) one.targetRevisions = revisions;
  if ((moved || changed || stale) && one.status !== "Waiting")
    set(one, "Waiting", "Application has pending changes, setting status to Waiting", now);

  const synced = !changed && isAbout(live) && sync?.status === "Synced" && phase !== "Running";
  if (one.status === "Waiting" && synced) {
    set(one, "Progressing", "Application resource has synced, updating status to Progressing", now);
  } else if (one.status === "Pending") {
    if (startedAt && Date.parse(startedAt) >= Date.parse(one.lastTransitionTime ?? now)) {
      const otherwise = isOver(phase) ? "completed a sync" : "became Progressing";
      const how = phase === "Succeeded" ? "completed a sync successfully" : otherwise;
      set(one, "Progressing", `Application resource ${how}, updating status from Pending to Progressing`, now);
    } else if (broken)
      set(one, "Progressing", "Application resource has error and cannot sync, updating status to Progressing", now);
  }
  if (one.status === "Progressing" && synced && health?.status === "Healthy")
    set(one, "Healthy", "Application resource became Healthy, updating status from Progressing to Healthy", now);
  return one;
}

const isOver = (phase: string | undefined): boolean => phase === "Failed" || phase === "Error";

/** When a sync that is asked for now can begin at the earliest: no two of an application begin in the same second. */
function askedAt(live: LiveApplication | undefined, now: string): string {
  const next = Date.parse(live?.status?.operationState?.startedAt ?? "") + 1_000;
  return next > Date.parse(now) ? new Date(next).toISOString().replace(/\.\d+/, "") : now;
}

/** Whether the status is of the specification as it is now: after a change it is not, for a moment. */
function isAbout(live: LiveApplication | undefined): boolean {
  const compared = live?.status?.sync?.comparedTo;
  if (!live || !compared) return true;
  const { source, sources, destination } = live.spec;
  const of = (all: Free) =>
    canonical({ sources: all.sources?.length ? all.sources : [all.source], destination: all.destination });
  return of(compared) === of({ source, sources, destination });
}

function set(one: ApplicationStep, status: ApplicationStep["status"], message: string, now: string): void {
  one.status = status;
  one.message = message;
  one.lastTransitionTime = now;
}

/** How many of a step may change at once: a percentage is rounded down, and above 0 % it is at least one. */
export function roomOf(maxUpdate: number | string | undefined, all: number): number {
  if (maxUpdate === undefined || maxUpdate === null) return all;
  if (typeof maxUpdate === "number") return maxUpdate;
  const percent = Number.parseInt(maxUpdate, 10);
  if (!maxUpdate.endsWith("%")) return percent;
  return percent === 0 ? 0 : Math.max(1, Math.floor((all * percent) / 100));
}

// As of an automatic sync of an application that says nothing.
const RETRIES = 5;

/** The request for a sync that a rollout writes into an application. */
export function operationOf(wanted: Generated): Free {
  const policy = (wanted.spec.syncPolicy ?? {}) as Free;
  return {
    initiatedBy: { username: "applicationset-controller", automated: true },
    info: [{ name: "Reason", value: "ApplicationSet RollingSync triggered a sync of this Application resource" }],
    sync: {
      ...(policy.automated?.prune ? { prune: true } : {}),
      ...(policy.syncOptions ? { syncOptions: policy.syncOptions } : {}),
    },
    retry: policy.retry ?? { limit: RETRIES },
  };
}
