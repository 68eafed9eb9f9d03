import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsTerraformApply } from "../../../../openapi/contract/validators.js";
import { failed, type KindResult, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { applyPlan, outputsOf, refuseLostState } from "./apply.ts";
import { judge, makePlan, type Planned } from "./plan.ts";
import { takePlan } from "./saved.ts";
import { lacksTerraform, Terraform } from "./terraform.ts";

type Params = Schemas["TaskParamsTerraformApply"];

/** Applies the plan of another task, or plans and applies; its policy is asked before anything is changed. */
export const terraformApply: TaskKindHandler<Params> = {
  validate: validateTaskParamsTerraformApply,
  lacks: lacksTerraform,

  async run(params, context) {
    if ((params.plan === undefined) === (params.source === undefined))
      return failed("ParamsInvalid", "/params: give one of `plan` and `source`");
    return params.plan ? fromPlan(params, params.plan, context) : fromSource(params, context);
  },
};

async function fromPlan(params: Params, ref: Schemas["ArtifactRef"], context: TaskContext): Promise<KindResult> {
  if (params.variables || params.path !== undefined || params.workspace !== undefined)
    return failed("ParamsInvalid", "/params: variables, path and workspace are those of the plan; give none");
  const taken = await takePlan(ref, context);
  if (taken.kind !== "done") return failed(taken.reason, taken.message);
  const { source, file, path, workspace, policy } = taken.value;
  const base = { ...params, path, ...(workspace ? { workspace } : {}) };
  const opened = await Terraform.open(source, base, context);
  if (opened.kind !== "done") return failed(opened.reason, opened.message);
  const terraform = opened.value;
  const failure = (await terraform.init(base)) ?? (await refuseLostState(terraform));
  if (failure) return failed(failure.reason, failure.message);
  const policies = [policy, params.policy].filter((one) => one !== undefined);
  const planned = await judge(terraform, file, { keepJson: false, policies }, context);
  return planned.kind === "done" ? carryOut(terraform, planned.value, params) : failed(planned.reason, planned.message);
}

async function fromSource(params: Params, context: TaskContext): Promise<KindResult> {
  const source = await context.source(params.source);
  if (source.kind !== "done") return failed(source.reason, source.message);
  const opened = await Terraform.open(source.value, params, context);
  if (opened.kind !== "done") return failed(opened.reason, opened.message);
  const terraform = opened.value;
  const failure = (await terraform.init(params)) ?? (await refuseLostState(terraform));
  if (failure) return failed(failure.reason, failure.message);
  const planned = await makePlan(
    terraform,
    { ...params, keepJson: true, policies: params.policy ? [params.policy] : [] },
    context,
  );
  return planned.kind === "done" ? carryOut(terraform, planned.value, params) : failed(planned.reason, planned.message);
}

async function carryOut(terraform: Terraform, { file, counts }: Planned, params: Params): Promise<KindResult> {
  const failure = await applyPlan(terraform, file, params);
  if (failure) return failed(failure.reason, failure.message);
  const outputs = await outputsOf(terraform);
  if (outputs.kind !== "done")
    return failed(outputs.reason, `it was applied, but its outputs cannot be read: ${outputs.message}`, { ...counts });
  return { outcome: "succeeded", outputs: { ...counts, outputs: outputs.value } };
}
