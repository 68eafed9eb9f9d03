import { delimiter, join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsGitClone } from "../../../../openapi/contract/validators.js";
import { run } from "../../../base/process/run.ts";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { cloneGit } from "../../task/git.ts";

/** Clones a repository over http(s) or ssh and checks a revision out: a branch, a tag or a commit. */
export const gitClone: TaskKindHandler<Schemas["TaskParamsGitClone"]> = {
  validate: validateTaskParamsGitClone,

  async lacks(env) {
    const path = env.PATH || ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
    const ran = await run("git", {
      args: ["--version"],
      cwd: "/",
      env: { PATH: path },
      deadlineMs: 10_000,
      maxBytes: 4_096,
    });
    return ran.kind === "done" && ran.value.code === 0 ? undefined : "git is not installed";
  },

  async run(params, context) {
    const cloned = await cloneGit(params, join(context.workspace.work, "repository"), context);
    return cloned.kind === "done"
      ? { outcome: "succeeded", outputs: { ...cloned.value } }
      : failed(cloned.reason, cloned.message);
  },
};
