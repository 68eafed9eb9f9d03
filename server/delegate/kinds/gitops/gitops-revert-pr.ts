import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsGitopsRevertPR } from "../../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { cloneGit, makeGit } from "../../task/git.ts";
import { gitClone } from "../git/git-clone.ts";
import type { GitHost } from "../git/git-host.ts";
import { openGitHost } from "../git/open-git-host.ts";

type Params = Schemas["TaskParamsGitopsRevertPR"];

/**
 * Opens a pull request that undoes a merged one, or a commit. No host offers this to programs alike, so git itself makes the commit: that
 * of a merge against its first parent.
 */
export const gitopsRevertPR: TaskKindHandler<Params> = {
  validate: validateTaskParamsGitopsRevertPR,

  lacks: gitClone.lacks,

  async run(params, context) {
    const { provider, number, title } = params;
    if ((number === undefined) === (params.commit === undefined))
      return failed("ParamsInvalid", "/params: give exactly one of `number` and `commit`");
    const opened = openGitHost(context, provider);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const host = opened.value;
    const target = await targetOf(host, params);
    if (target.kind !== "done") return failed(target.reason, target.message);
    const { commit, base } = target.value;
    const branch = `revert/${commit.slice(0, 12)}-${context.task.id.slice(-8)}`;
    const begun = await host.head(branch);
    if (begun.kind !== "done") return failed(begun.reason, begun.message);
    let made = begun.value;
    if (made === undefined) {
      const pushed = await revert(context, host, { commit, base, branch, token: provider.token });
      if (pushed.kind !== "done") return failed(pushed.reason, pushed.message);
      made = pushed.value;
    } else await context.write("system", `the branch ${branch} is there from an earlier attempt`);
    const found = await host.findPull(branch, base);
    if (found.kind !== "done") return failed(found.reason, found.message);
    const what = number === undefined ? commit.slice(0, 12) : `#${number}`;
    const pull = found.value
      ? done(found.value)
      : await host.openPull({ base, branch, title: title || `Revert ${what}`, body: `Undoes ${what} (${commit}).` });
    const outputs = { commit: made, branch };
    if (pull.kind !== "done") return failed(pull.reason, pull.message, outputs);
    await context.write("stdout", `pull request ${pull.value.number}: ${pull.value.url}`);
    return { outcome: "succeeded", outputs: { ...outputs, pullRequest: pull.value.number, url: pull.value.url } };
  },
};

async function targetOf(
  host: GitHost,
  { number, commit, baseBranch }: Params,
): Promise<Outcome<{ commit: string; base: string }>> {
  if (number === undefined) {
    if (!baseBranch)
      return stop("ParamsInvalid", "/params/baseBranch: with `commit`, name the branch that it is to be undone on");
    return done({ commit: commit!, base: baseBranch });
  }
  const pull = await host.pull(number);
  if (pull.kind !== "done") return pull;
  if (pull.value.state !== "merged")
    return stop("NotMerged", `pull request ${number} is ${pull.value.state}; only a merged one can be undone`);
  if (!pull.value.mergeCommit)
    return stop("NoMergeCommit", `the host does not say which commit merged ${number}; give \`commit\``);
  return done({ commit: pull.value.mergeCommit, base: baseBranch ?? pull.value.base });
}

async function revert(
  context: TaskContext,
  host: GitHost,
  { commit, base, branch, token }: { commit: string; base: string; branch: string; token: string },
): Promise<Outcome<string>> {
  const at = await host.clone();
  if (at.kind !== "done") return at;
  const { url, username } = at.value;
  const cwd = join(context.workspace.work, "repository");
  const cloned = await cloneGit({ url, revision: base, username, password: token }, cwd, context);
  if (cloned.kind !== "done") return cloned;
  const git = await makeGit(context, cwd, { url, username, password: token });
  if (git.kind !== "done") return git;
  const { run, ask, why } = git.value;
  const parents = (await ask("rev-list", "--parents", "-n", "1", "--end-of-options", commit)).split(" ").length - 1;
  // The host may have named it: what it gave is a name to look up, and only the commit's id is an argument.
  const id = await ask("rev-parse", "--verify", "--quiet", "--end-of-options", `${commit}^{commit}`);
  if (parents < 0 || !id) return stop("RevisionNotFound", `${url} has no commit ${commit}`);
  const who = ["-c", "user.name=Outpost", "-c", "user.email=outpost@localhost"];
  const reverted = await run(...who, "revert", "--no-edit", ...(parents > 1 ? ["--mainline", "1"] : []), id);
  if (reverted !== 0)
    return stop(
      "RevertConflict",
      `${commit} cannot be undone on ${base} without conflicts, as later commits change the same lines: ${why()}`,
    );
  const made = await ask("rev-parse", "HEAD");
  if ((await run("push", "--quiet", "--", url, `HEAD:refs/heads/${branch}`)) !== 0)
    return stop("PushFailed", `git could not push ${branch}: ${why()}`);
  return done(made);
}
