import { hasForms, type WithForms } from "../with-forms.ts";
import { applicationFaults } from "./argo/application.ts";
import { setFaults } from "./argo/application-set.ts";
import { clusterFaults } from "./argo/cluster.ts";
import { projectFaults } from "./argo/project.ts";
import { type Fault, type Json, objectIn } from "./fault.ts";
import { labelFaults, ownLabelFaults } from "./labels.ts";
import { pipelineFaults, stepParamFaults } from "./pipelines/check.ts";
import type { PipelineSpec } from "./pipelines/graph.ts";

const FORMS: Readonly<Record<WithForms, (spec: Json) => Fault[]>> = {
  applications: applicationFaults,
  applicationsets: setFaults,
  appprojects: projectFaults,
  clusters: clusterFaults,
  pipelines: (spec) => (isPipeline(spec) ? [...pipelineFaults(spec), ...stepParamFaults(spec)] : []),
};

const isPipeline = (spec: unknown): spec is PipelineSpec => Array.isArray((spec as Json).steps);

/** The labels that every noun has; of some they become those of an object in the cluster. */
export function ownLabelsFaults(spec: Json): Fault[] {
  const labels = objectIn(spec, "labels");
  return [...ownLabelFaults(labels, "/labels"), ...labelFaults(labels, "/labels")];
}

/** Enough to mend at once. */
const MOST = 20;

/**
 * The rules for texts of a spec that a schema cannot express. The service asks before it stores, Terraform's provider when it validates: what is
 * missing or not known yet is no fault here.
 */
export function formFaults(collection: string, spec: Json): Fault[] {
  const rules = hasForms(collection) ? FORMS[collection](spec) : [];
  return [...ownLabelsFaults(spec), ...rules].slice(0, MOST);
}

export type { Fault } from "./fault.ts";
// A program that reads these rules only when it needs them finds the parameters of tasks here too: pipelines have both.
export { paramFaults } from "./tasks/params.ts";
