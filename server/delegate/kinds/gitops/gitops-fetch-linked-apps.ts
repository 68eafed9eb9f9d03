import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsGitopsFetchLinkedApps } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { findApplications } from "./find-applications.ts";

/** Finds the applications that a change concerns, for the steps that follow. */
export const gitopsFetchLinkedApps: TaskKindHandler<Schemas["TaskParamsGitopsFetchLinkedApps"]> = {
  validate: validateTaskParamsGitopsFetchLinkedApps,

  lacks: async () => undefined,

  async run({ filter = {}, failOnNone = true }, context) {
    const found = await findApplications(context, filter);
    if (found.kind !== "done") return failed(found.reason, found.message);
    const applications = found.value.map(({ id, org, project, spec, status }) => ({
      id,
      ...(org ? { org } : {}),
      ...(project ? { project } : {}),
      agent: spec.agent,
      sync: status.sync?.status ?? "Unknown",
      health: status.health?.status ?? "Unknown",
    }));
    for (const { id, sync, health } of applications) await context.write("stdout", `${id}: ${sync}, ${health}`);
    const outputs = { applications, ids: applications.map(({ id }) => id) };
    if (applications.length === 0 && failOnNone)
      return failed("NoApplications", "no application of the task's scope fits the filter", outputs);
    return { outcome: "succeeded", outputs };
  },
};
