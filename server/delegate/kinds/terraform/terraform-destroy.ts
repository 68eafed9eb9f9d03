import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsTerraformDestroy } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { applyPlan, refuseLostState } from "./apply.ts";
import { makePlan } from "./plan.ts";
import { lacksTerraform, Terraform } from "./terraform.ts";

/** Destroys everything that a configuration manages, by a plan that its policy is asked about first. */
export const terraformDestroy: TaskKindHandler<Schemas["TaskParamsTerraformDestroy"]> = {
  validate: validateTaskParamsTerraformDestroy,
  lacks: lacksTerraform,

  async run(params, context) {
    const source = await context.source(params.source);
    if (source.kind !== "done") return failed(source.reason, source.message);
    const opened = await Terraform.open(source.value, params, context);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const terraform = opened.value;
    const failure = (await terraform.init(params)) ?? (await refuseLostState(terraform));
    if (failure) return failed(failure.reason, failure.message);
    const policies = params.policy ? [params.policy] : [];
    const planned = await makePlan(terraform, { ...params, destroy: true, keepJson: true, policies }, context);
    if (planned.kind !== "done") return failed(planned.reason, planned.message);
    const refused = await applyPlan(terraform, planned.value.file, params);
    return refused
      ? failed(refused.reason, refused.message)
      : { outcome: "succeeded", outputs: { delete: planned.value.counts.delete } };
  },
};
