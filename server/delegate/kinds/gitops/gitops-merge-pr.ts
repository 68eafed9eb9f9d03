import { setTimeout as sleep } from "node:timers/promises";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsGitopsMergePR } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import type { PullRequest } from "../git/git-host.ts";
import { openGitHost } from "../git/open-git-host.ts";

const POLL_MS = 2_000;
/** A host works out by itself, within moments, whether a new pull request conflicts. */
const SETTLE_MS = 15_000;

/** Merges a pull request, if its host allows it. One that is merged already counts as done. */
export const gitopsMergePR: TaskKindHandler<Schemas["TaskParamsGitopsMergePR"]> = {
  validate: validateTaskParamsGitopsMergePR,

  lacks: async () => undefined,

  async run({ provider, number, strategy = "merge", deleteBranch = false, message, waitSeconds = 0 }, context) {
    const opened = openGitHost(context, provider);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const host = opened.value;
    const patience = Math.max(waitSeconds * 1_000, SETTLE_MS);
    const started = Date.now();
    let said = "";
    let pull: PullRequest;
    for (;;) {
      const got = await host.pull(number);
      if (got.kind !== "done") return failed(got.reason, got.message);
      pull = got.value;
      if (pull.state !== "open" || !pull.blocked) break;
      const late = Date.now() - started >= patience;
      if (!pull.blocked.wait || late || context.signal.aborted)
        return failed("NotMergeable", `pull request ${number} cannot be merged: ${pull.blocked.why}`, {
          branch: pull.branch,
        });
      if (pull.blocked.why !== said) await context.write("system", `waiting: ${pull.blocked.why}`);
      said = pull.blocked.why;
      await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => undefined);
    }
    if (pull.state === "closed")
      return failed("PullRequestClosed", `pull request ${number} was closed without a merge`);
    if (pull.state === "open") {
      const merged = await host.merge(pull, { strategy, message });
      if (merged.kind !== "done") return failed(merged.reason, merged.message, { branch: pull.branch });
      const after = await host.pull(number);
      if (after.kind !== "done") return failed(after.reason, after.message);
      // A host may name another ref once it is merged.
      pull = { ...after.value, branch: pull.branch };
    } else await context.write("system", `pull request ${number} was merged already`);
    if (deleteBranch) {
      const gone = await host.deleteBranch(pull.branch);
      if (gone.kind !== "done")
        await context.write("system", `the branch ${pull.branch} was not deleted: ${gone.message}`);
    }
    await context.write(
      "stdout",
      `pull request ${number} is merged into ${pull.base}${pull.mergeCommit ? ` as ${pull.mergeCommit}` : ""}`,
    );
    return { outcome: "succeeded", outputs: { commit: pull.mergeCommit ?? pull.head, branch: pull.branch } };
  },
};
