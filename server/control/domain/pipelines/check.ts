import { pipelineFaults } from "../../../../openapi/rules/pipelines/check.ts";
import type { PipelineSpec } from "../../../../openapi/rules/pipelines/graph.ts";
import { escapePointer } from "../../../base/json/json.ts";
import { patternMatcher } from "../../../base/lang/pattern.ts";
import { paramFaults } from "./params.ts";

/** Something in a pipeline that could never work. */
export interface PipelineFault {
  pointer: string;
  detail: string;
}

/** Everything that is wrong with a pipeline and can be known before it runs. Terraform's provider checks the middle part too. */
export function checkPipeline(spec: PipelineSpec): PipelineFault[] {
  const shared = pipelineFaults(spec).map(({ pointer, detail }) => ({ pointer: `/spec${pointer}`, detail }));
  const params = spec.steps.flatMap(({ task, approval }, i) =>
    task && !approval ? paramFaults(task.kind, task.params, `/spec/steps/${i}/task/params`) : [],
  );
  return [...checkInputs(spec), ...shared, ...params];
}

function checkInputs({ inputs = {} }: PipelineSpec): PipelineFault[] {
  const fitsPattern = patternMatcher();
  return Object.entries(inputs).flatMap(([name, input]) => {
    if (input.pattern === undefined) return [];
    const at = `/spec/inputs/${escapePointer(name)}`;
    const fits = fitsPattern(input.pattern, input.default ?? "");
    if (fits === "invalid") return [{ pointer: `${at}/pattern`, detail: "This is no regular expression that JavaScript knows." }];
    if (input.default === undefined) return [];
    if (fits === "slow") return [{ pointer: `${at}/pattern`, detail: "Matching the default takes too long: avoid nested repetition." }];
    return fits ? [] : [{ pointer: `${at}/default`, detail: "The default does not fit `pattern`." }];
  });
}
