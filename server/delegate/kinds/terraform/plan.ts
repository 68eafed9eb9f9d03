import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { TaskContext } from "../../kind.ts";
import { putTaskFile } from "../../task/task-files.ts";
import { type Counts, changesOf, countOf, violations } from "./policy.ts";
import { redactPlan } from "./redact.ts";
import type { Terraform } from "./terraform.ts";

export interface PlanOptions {
  destroy?: boolean;
  targets?: readonly string[];
  variables?: Record<string, unknown>;
  lockTimeoutSeconds?: number;
  parallelism?: number;
  /** Keep its JSON form, redacted, as the artefact `plan.json`. */
  keepJson: boolean;
  policies: readonly Schemas["PlanPolicy"][];
}

export interface Planned {
  /** The plan in Terraform's own form. */
  file: string;
  counts: Counts;
  hasChanges: boolean;
}

/** Plans into a file, and holds what the plan would do against the policies. */
export async function makePlan(
  terraform: Terraform,
  options: PlanOptions,
  context: TaskContext,
): Promise<Outcome<Planned>> {
  const { destroy, targets = [], variables, lockTimeoutSeconds = 60, parallelism = 10 } = options;
  const file = join(context.workspace.dir, "plan");
  const failure = await terraform.speak(
    "PlanFailed",
    "plan",
    "-json",
    "-input=false",
    `-out=${file}`,
    `-lock-timeout=${lockTimeoutSeconds}s`,
    `-parallelism=${parallelism}`,
    ...(destroy ? ["-destroy"] : []),
    ...targets.map((target) => `-target=${target}`),
    ...(await terraform.variables(variables)),
  );
  return failure ?? judge(terraform, file, options, context);
}

/** What a plan's file would do, if its policies allow it. */
export async function judge(
  terraform: Terraform,
  file: string,
  { keepJson, policies }: Pick<PlanOptions, "keepJson" | "policies">,
  context: TaskContext,
): Promise<Outcome<Planned>> {
  const shown = await terraform.json<Parameters<typeof changesOf>[0] & { applyable?: boolean }>("show", "-json", file);
  if (shown.kind !== "done") return shown;
  if (keepJson) {
    const { dir } = context.workspace;
    await putTaskFile(dir, join(dir, "plan.json"), context.masked(JSON.stringify(redactPlan(shown.value), null, 1)));
    const kept = await context.keep("plan.json", { folder: dir, path: "plan.json" });
    if (kept.kind !== "done") return kept;
  }
  const changes = changesOf(shown.value);
  const counts = countOf(changes);
  const wrong = policies.flatMap((policy) => violations(changes, policy));
  if (wrong.length) return stop("PolicyDenied", `nothing was changed: ${wrong.join("; ")}`);
  return done({ file, counts, hasChanges: shown.value.applyable ?? changes.length > 0 });
}
