import type { KubeObject } from "../object.ts";
import { type Action, set, timestamp, write } from "./types.ts";
import { ownedBy } from "./workloads.ts";

const isPaused = ({ spec, status }: KubeObject): boolean =>
  status?.pauseConditions ? status.pauseConditions.length > 0 : spec?.paused === true;
/** A rollout without a status has promoted nothing yet, in the ecosystem's eyes everything. */
const isPromoted = ({ status }: KubeObject): boolean => status?.currentPodHash === status?.stableRS;
const isAborted = ({ status }: KubeObject): boolean => status?.abort === true;
const steps = ({ spec }: KubeObject): unknown[] | undefined => spec?.strategy?.canary?.steps;

/** Rollouts before 0.10 observed a hash instead of a generation, and know no full promotion. */
function isOld({ metadata, status }: KubeObject): boolean {
  const seen = status?.observedGeneration === "" ? Number.NaN : Number(status?.observedGeneration);
  return Number.isNaN(seen) || seen > (metadata.generation ?? 0);
}
const cannotPromote = (object: KubeObject): boolean =>
  !object.status || isPromoted(object) || (isOld(object) && object.spec?.strategy?.blueGreen !== undefined);

const rollout: Action[] = [
  {
    name: "restart",
    run: (object, { now }) => write(object, ["spec", "restartAt"], timestamp(now)),
  },
  {
    name: "resume",
    disabled: (object) => !isPaused(object),
    run: (object) => {
      if (object.status?.pauseConditions?.length > 0) delete object.status.pauseConditions;
      if (object.spec?.paused) object.spec.paused = false;
    },
  },
  {
    name: "abort",
    disabled: (object) => isPromoted(object) || isAborted(object),
    run: set([["status", "abort"], true]),
  },
  {
    name: "retry",
    disabled: (object) => isPromoted(object) || !isAborted(object),
    run: set([["status", "abort"], undefined]),
  },
  {
    name: "promote-full",
    disabled: cannotPromote,
    run: (object) => {
      if (!object.status) return;
      if (!isOld(object)) {
        object.status.promoteFull = true;
        return;
      }
      delete object.status.abort;
      const all = steps(object);
      if (all) object.status.currentStepIndex = all.length;
    },
  },
  {
    name: "skip-current-step",
    disabled: (object) => steps(object) === undefined || object.status?.currentStepIndex === steps(object)!.length,
    run: (object) => {
      const { status } = object;
      if (!status || !(status.currentStepIndex < (steps(object)?.length ?? 0))) return;
      if (status.pauseConditions?.length > 0) delete status.pauseConditions;
      status.currentStepIndex += 1;
    },
  },
  {
    name: "pause",
    disabled: (object) => isPromoted(object) || isAborted(object) || object.spec?.paused === true,
    run: set([["spec", "paused"], true]),
  },
];

const minute = (now: Date): string => timestamp(now).replace(/\D/g, "").slice(0, 12);
const INSTANCE = "workflows.argoproj.io/controller-instanceid";

function workflow(object: KubeObject, now: Date, metadata: object, spec: unknown): KubeObject {
  const name = `${object.metadata.name}-${minute(now)}`;
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: { ...metadata, name, namespace: object.metadata.namespace, ownerReferences: [ownedBy(object)] },
    spec,
  };
}

const fromSchedule: Action = {
  name: "create-workflow",
  run: (object, { now }) => {
    const { workflowMetadata = {}, workflowSpec } = object.spec ?? {};
    const instance = object.metadata.labels?.[INSTANCE];
    const labels = {
      ...workflowMetadata.labels,
      "workflows.argoproj.io/cron-workflow": object.metadata.name,
      ...(instance === undefined ? {} : { [INSTANCE]: instance }),
    };
    const annotations = { ...workflowMetadata.annotations, "workflows.argoproj.io/scheduled-time": timestamp(now) };
    const { finalizers } = workflowMetadata;
    return [workflow(object, now, { labels, annotations, ...(finalizers ? { finalizers } : {}) }, workflowSpec)];
  },
};

const fromTemplate: Action = {
  name: "create-workflow",
  run: (object, { now }) => {
    const { name } = object.metadata;
    const labels = { "workflows.argoproj.io/workflow-template": name };
    return [workflow(object, now, { labels }, { workflowTemplateRef: { name } })];
  },
};

const FINISHED = ["Successful", "Failed", "Error", "Inconclusive"];

export const argo: Record<string, Action[]> = {
  "argoproj.io/Rollout": rollout,
  "argoproj.io/AnalysisRun": [
    {
      name: "terminate",
      disabled: ({ spec, status }) => spec?.terminate === true || FINISHED.includes(status?.phase),
      run: set([["spec", "terminate"], true]),
    },
  ],
  "argoproj.io/Application": [
    {
      name: "toggle-auto-sync",
      run: (object) => {
        const { automated } = object.spec?.syncPolicy ?? {};
        const on = automated !== undefined && automated !== null && automated.enabled !== false;
        write(object, ["spec", "syncPolicy", "automated", "enabled"], !on);
      },
    },
  ],
  "argoproj.io/CronWorkflow": [fromSchedule],
  "argoproj.io/WorkflowTemplate": [fromTemplate],
};
