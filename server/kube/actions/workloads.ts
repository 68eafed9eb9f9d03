import type { KubeObject } from "../object.ts";
import { type Action, annotation, annotationOf, count, Refusal, set, timestamp, touch, write } from "./types.ts";

const RESTARTED = "kubectl.kubernetes.io/restartedAt";
/** A changed annotation of the template rolls all pods, as `kubectl rollout restart` does. */
const restart: Action = { name: "restart", run: touch(["spec", "template", "metadata", "annotations", RESTARTED]) };

const scale: Action = {
  name: "scale",
  parameters: ({ spec }) => [{ name: "replicas", default: String(spec?.replicas ?? "") }],
  run: (object, { parameters }) => {
    const replicas = count(parameters, "replicas");
    if (replicas instanceof Refusal) return replicas;
    return write(object, ["spec", "replicas"], replicas);
  },
};

const isPaused = ({ spec }: KubeObject): boolean => spec?.paused === true;
export const isSuspended = ({ spec }: KubeObject): boolean => spec?.suspend === true;
export const suspendRun = set([["spec", "suspend"], true]);
/** Objects that were never suspended are not changed. */
export const resumeRun: Action["run"] = (object) => {
  if (isSuspended(object)) object.spec.suspend = false;
  return undefined;
};
/** Of the two only the one that makes a difference is listed. */
export const suspendOrResume: Action[] = [
  { name: "suspend", offered: (object) => !isSuspended(object), run: suspendRun },
  { name: "resume", offered: isSuspended, run: resumeRun },
];

const ended = ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"];
const isOver = ({ status }: KubeObject): boolean =>
  (status?.conditions ?? []).some(
    (c: { type?: string; status?: string }) => ended.includes(c.type ?? "") && c.status === "True",
  );

/** The job controller takes this condition as the order to end the job's pods. */
const terminate: Action = {
  name: "terminate",
  offered: (object) => object.status !== undefined && !isOver(object),
  run: (object, { now }) => {
    if (!object.status || isOver(object)) return undefined;
    object.status.conditions = [
      ...(object.status.conditions ?? []),
      {
        lastTransitionTime: timestamp(now),
        message: "Job was terminated explicitly through Argo CD",
        reason: "ManuallyTerminated",
        status: "True",
        type: "FailureTarget",
      },
    ];
    return undefined;
  },
};

export const ownedBy = ({ apiVersion, kind, metadata }: KubeObject, controls = false) => ({
  apiVersion,
  ...(controls ? { blockOwnerDeletion: true, controller: true } : {}),
  kind,
  name: metadata.name,
  // Every object in a cluster has one; JSON omits undefined fields.
  uid: metadata.uid!,
});

/** A job as the schedule would make it, as `kubectl create job --from` does. */
const createJob: Action = {
  name: "create-job",
  run: (object, { now }) => {
    const { metadata = {}, spec } = object.spec?.jobTemplate ?? {};
    // A CronJob's name has at most 52 characters, a job's 63: seconds fit, a date does not.
    const name = `${object.metadata.name}-${Math.max(0, Math.floor(now.getTime() / 1_000))}`;
    const annotations = { ...metadata.annotations, "cronjob.kubernetes.io/instantiate": "manual" };
    return [
      {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: {
          ...metadata,
          name,
          namespace: object.metadata.namespace,
          annotations,
          ownerReferences: [ownedBy(object, true)],
        },
        spec,
      },
    ];
  },
};

const NEVER = /^(0+(\.0*)?(ns|us|µs|ms|s|m|h)?)+$/;
/** Without an interval nothing is refreshed, so that an order to do so would be ignored. */
const never = ({ spec }: KubeObject): boolean =>
  spec?.refreshInterval !== undefined && NEVER.test(String(spec.refreshInterval));
/** An object that refreshes on its own change does so when it is touched, whatever its interval. */
const refuses = (object: KubeObject): boolean => never(object) && object.spec?.refreshPolicy !== "OnChange";
const force = touch(annotation("force-sync"));
const ROLLING = "strimzi.io/manual-rolling-update";

export const workloads: Record<string, Action[]> = {
  "apps/Deployment": [
    restart,
    { name: "pause", disabled: isPaused, run: set([["spec", "paused"], true]) },
    { name: "resume", disabled: (object) => !isPaused(object), run: set([["spec", "paused"], undefined]) },
    scale,
  ],
  "apps/StatefulSet": [restart, scale],
  "apps/DaemonSet": [restart],
  "batch/CronJob": [createJob, ...suspendOrResume],
  "batch/Job": [
    ...suspendOrResume.map((action) => ({
      ...action,
      offered: (object: KubeObject) => !isOver(object) && action.offered!(object),
    })),
    terminate,
  ],
  "core.strimzi.io/StrimziPodSet": [
    {
      name: "rolling-update",
      disabled: (object) => annotationOf(object, ROLLING) === "true",
      run: set([annotation(ROLLING), "true"]),
    },
  ],
  "external-secrets.io/ExternalSecret": [{ name: "refresh", disabled: refuses, run: force }],
  "external-secrets.io/PushSecret": [{ name: "push", disabled: never, run: force }],
  "k8s.mariadb.com/MariaDB": suspendOrResume,
};
