import { setTimeout as sleep } from "node:timers/promises";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsGitopsUpdateReleaseRepo } from "../../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import type { FileChange, GitHost, PullRequest } from "../git/git-host.ts";
import { openGitHost } from "../git/open-git-host.ts";
import { editValues } from "./edit-values.ts";

type Params = Schemas["TaskParamsGitopsUpdateReleaseRepo"];

const POLL_MS = 5_000;

/** Commits changed values of a release repository to a new branch and opens a pull request for it. A second attempt finds what the first one made. */
export const gitopsUpdateReleaseRepo: TaskKindHandler<Params> = {
  validate: validateTaskParamsGitopsUpdateReleaseRepo,

  lacks: async () => undefined,

  async run(params, context) {
    const { provider, baseBranch: base, pullRequest = true, allowEmpty = false, waitForMergeSeconds = 0 } = params;
    const both = params.files.findIndex((file) => (file.set === undefined) === (file.content === undefined));
    if (both >= 0) return failed("ParamsInvalid", `/params/files/${both}: give exactly one of \`set\` and \`content\``);
    const opened = openGitHost(context, provider);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const host = opened.value;
    const branch = pullRequest ? (params.branch ?? `outpost/${context.task.id}`) : base;
    const title = params.title || "Update the release";
    const at = await host.head(base);
    if (at.kind !== "done") return failed(at.reason, at.message);
    if (at.value === undefined) return failed("BranchNotFound", `${provider.repository} has no branch ${base}`);
    const begun = pullRequest ? await host.head(branch) : at;
    if (begun.kind !== "done") return failed(begun.reason, begun.message);
    const changes = await edit(host, params.files, begun.value === undefined ? base : branch);
    if (changes.kind !== "done") return failed(changes.reason, changes.message);
    const changed = changes.value.map(({ path }) => path);
    let commit = begun.value;
    if (changed.length > 0 || (allowEmpty && commit === undefined)) {
      await context.write("system", `${changed.length} files change: ${changed.join(", ") || "none"}`);
      const made = await host.commit({ base, branch, message: params.message || title, files: changes.value });
      if (made.kind !== "done") return failed(made.reason, made.message);
      commit = made.value;
    }
    if (commit === undefined || (!pullRequest && changed.length === 0)) {
      await context.write("system", "nothing differs from the branch: no commit is made");
      return { outcome: "succeeded", outputs: { commit: at.value, branch: base, changed: [] } };
    }
    const outputs = { commit, branch, changed };
    if (!pullRequest) return { outcome: "succeeded", outputs };
    const pull = await pullFor(host, { base, branch, title, body: params.body ?? "" });
    if (pull.kind !== "done") return failed(pull.reason, pull.message, outputs);
    const shown = { ...outputs, pullRequest: pull.value.number, url: pull.value.url };
    await context.write("stdout", `pull request ${pull.value.number}: ${pull.value.url}`);
    if (waitForMergeSeconds === 0) return { outcome: "succeeded", outputs: shown };
    const merged = await waitForMerge(context, host, pull.value, waitForMergeSeconds);
    if (merged.kind !== "done") return failed(merged.reason, merged.message, shown);
    return { outcome: "succeeded", outputs: { ...shown, commit: merged.value.mergeCommit ?? commit } };
  },
};

async function edit(host: GitHost, files: Params["files"], branch: string): Promise<Outcome<FileChange[]>> {
  const changes: FileChange[] = [];
  for (const { path, set, content } of files) {
    const before = await host.file(path, branch);
    if (before.kind !== "done") return before;
    if (before.value === undefined && content === undefined)
      return stop("FileNotFound", `${branch} has no file ${path}; \`content\` makes one`);
    const after = content === undefined ? editValues(path, before.value!, set!) : done(content);
    if (after.kind !== "done") return after;
    if (after.value !== before.value) changes.push({ path, content: after.value, exists: before.value !== undefined });
  }
  return done(changes);
}

async function pullFor(
  host: GitHost,
  asked: { base: string; branch: string; title: string; body: string },
): Promise<Outcome<PullRequest>> {
  const found = await host.findPull(asked.branch, asked.base);
  if (found.kind !== "done") return found;
  return found.value ? done(found.value) : host.openPull(asked);
}

async function waitForMerge(
  context: TaskContext,
  host: GitHost,
  first: PullRequest,
  seconds: number,
): Promise<Outcome<PullRequest>> {
  const ends = Date.now() + seconds * 1_000;
  let said = "";
  for (let pull = first; ; ) {
    if (pull.state === "merged") return done(pull);
    if (pull.state === "closed")
      return stop("PullRequestClosed", `pull request ${pull.number} was closed without a merge`);
    const says = `waiting for the merge of pull request ${pull.number}${pull.blocked ? `: ${pull.blocked.why}` : ""}`;
    if (says !== said) await context.write("system", says);
    said = says;
    if (Date.now() >= ends || context.signal.aborted)
      return stop(
        "NotMerged",
        `pull request ${pull.number} was not merged within ${seconds} s; it stays open: ${pull.url}`,
      );
    await sleep(Math.min(POLL_MS, Math.max(1, ends - Date.now())), undefined, { signal: context.signal }).catch(
      () => undefined,
    );
    const next = await host.pull(pull.number);
    if (next.kind === "stop") return next;
    if (next.kind === "done") pull = next.value;
  }
}
