import { ownLabelsFaults } from "../../../../openapi/rules/forms.ts";
import { pipelineFaults } from "../../../../openapi/rules/pipelines/check.ts";
import type { PipelineSpec } from "../../../../openapi/rules/pipelines/graph.ts";
import { paramFaults } from "./params.ts";

/** Something in a pipeline that could never work. */
export interface PipelineFault {
  pointer: string;
  detail: string;
}

/** Everything that is wrong with a pipeline and can be known before it runs. Terraform's provider checks all but references to secrets too. */
export function checkPipeline(spec: PipelineSpec): PipelineFault[] {
  const shared = [...ownLabelsFaults(spec), ...pipelineFaults(spec)].map(({ pointer, detail }) => ({
    pointer: `/spec${pointer}`,
    detail,
  }));
  const params = spec.steps.flatMap(({ task, approval }, i) =>
    task && !approval ? paramFaults(task.kind, task.params, `/spec/steps/${i}/task/params`) : [],
  );
  return [...shared, ...params];
}
