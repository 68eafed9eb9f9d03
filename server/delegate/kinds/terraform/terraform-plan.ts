import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsTerraformPlan } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { makePlan } from "./plan.ts";
import { savePlan } from "./saved.ts";
import { lacksTerraform, Terraform } from "./terraform.ts";

/** Plans, and keeps the plan with its configuration so that exactly it can be applied. */
export const terraformPlan: TaskKindHandler<Schemas["TaskParamsTerraformPlan"]> = {
  validate: validateTaskParamsTerraformPlan,
  lacks: lacksTerraform,

  async run(params, context) {
    const source = await context.source(params.source);
    if (source.kind !== "done") return failed(source.reason, source.message);
    const opened = await Terraform.open(source.value, params, context);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const terraform = opened.value;
    const failure = await terraform.init(params);
    if (failure) return failed(failure.reason, failure.message);
    if (!(await terraform.backend()))
      await context.progress(
        "the configuration has no backend that outlives the task: this plan can be looked at, but not applied",
      );
    const { policy, workspace } = params;
    const planned = await makePlan(terraform, { ...params, keepJson: true, policies: policy ? [policy] : [] }, context);
    if (planned.kind !== "done") return failed(planned.reason, planned.message);
    const about = { ...(workspace ? { workspace } : {}), ...(policy ? { policy } : {}) };
    const unsaved = await savePlan(source.value, terraform.folder, planned.value.file, about, context);
    if (unsaved) return failed(unsaved.reason, unsaved.message);
    return { outcome: "succeeded", outputs: { ...planned.value.counts, hasChanges: planned.value.hasChanges } };
  },
};
