import { done, type Outcome } from "../../../base/outcome.ts";
import { type CallHost, type GitHost, type GitHostAnswer, openOrClosed, type PullRequest } from "./git-host.ts";

/** GitLab's REST API, version 4. */
export function gitlab(call: CallHost, repository: string): GitHost {
  const project = `/projects/${encodeURIComponent(repository)}`;
  const head = async (branch: string): Promise<Outcome<string | undefined>> => {
    const got = await call(
      "GET",
      `${project}/repository/branches/${encodeURIComponent(branch)}`,
      undefined,
      [200, 404],
    );
    return got.kind === "done" ? done(got.value.json?.commit?.id) : got;
  };
  return {
    head,
    async file(path, branch) {
      const at = `${project}/repository/files/${encodeURIComponent(path)}?ref=${encodeURIComponent(branch)}`;
      const got = await call("GET", at, undefined, [200, 404]);
      if (got.kind !== "done") return got;
      return done(
        got.value.status === 404 ? undefined : Buffer.from(got.value.json?.content ?? "", "base64").toString("utf8"),
      );
    },
    async commit({ base, branch, message, files }) {
      const existing = await head(branch);
      if (existing.kind !== "done") return existing;
      const got = await call("POST", `${project}/repository/commits`, {
        branch,
        ...(existing.value === undefined ? { start_branch: base } : {}),
        commit_message: message,
        actions: files.map(({ path, content, exists }) => ({
          action: exists ? "update" : "create",
          file_path: path,
          content,
        })),
      });
      return got.kind === "done" ? done(got.value.json.id) : got;
    },
    async openPull({ base, branch, title, body }) {
      const asked = { source_branch: branch, target_branch: base, title, description: body };
      return one(await call("POST", `${project}/merge_requests`, asked));
    },
    async findPull(branch, base) {
      const search = new URLSearchParams({ state: "opened", source_branch: branch, target_branch: base });
      const got = await call("GET", `${project}/merge_requests?${search}`);
      if (got.kind !== "done") return got;
      const [first] = got.value.json as unknown[];
      return done(first ? pullOf(first) : undefined);
    },
    async pull(number) {
      return one(await call("GET", `${project}/merge_requests/${number}`));
    },
    async merge({ number, head: sha }, { strategy, message }) {
      if (strategy === "rebase") {
        const rebased = await call("PUT", `${project}/merge_requests/${number}/rebase`);
        if (rebased.kind !== "done") return rebased;
      }
      const got = await call("PUT", `${project}/merge_requests/${number}/merge`, {
        squash: strategy === "squash",
        // A rebase gives the branch a new head; GitLab then checks the approvals itself.
        ...(strategy === "rebase" ? {} : { sha }),
        ...(message ? { [strategy === "squash" ? "squash_commit_message" : "merge_commit_message"]: message } : {}),
      });
      return got.kind === "done" ? done(undefined) : got;
    },
    async deleteBranch(branch) {
      const got = await call(
        "DELETE",
        `${project}/repository/branches/${encodeURIComponent(branch)}`,
        undefined,
        [204, 404],
      );
      return got.kind === "done" ? done(undefined) : got;
    },
    async clone() {
      const got = await call("GET", project);
      return got.kind === "done" ? done({ url: got.value.json.http_url_to_repo, username: "oauth2" }) : got;
    },
  };
}

const one = (got: Outcome<GitHostAnswer>): Outcome<PullRequest> =>
  got.kind === "done" ? done(pullOf(got.value.json)) : got;

function pullOf(json: GitHostAnswer["json"]): PullRequest {
  const { iid, web_url, state, source_branch, target_branch, sha, merge_commit_sha, squash_commit_sha } = json;
  return {
    number: iid,
    url: web_url,
    state: state === "merged" ? "merged" : openOrClosed(state === "opened" || state === "locked"),
    branch: source_branch,
    base: target_branch,
    head: sha,
    // A fast-forward makes no commit of its own.
    mergeCommit: state === "merged" ? (merge_commit_sha ?? squash_commit_sha ?? sha) : undefined,
    blocked: blocked(json),
  };
}

const WAITS: Record<string, string> = {
  checking: "GitLab is still working out whether it can be merged",
  unchecked: "GitLab is still working out whether it can be merged",
  preparing: "GitLab is still preparing it",
  approvals_syncing: "GitLab is still counting approvals",
  ci_must_pass: "its pipeline has not passed",
  ci_still_running: "its pipeline is still running",
  not_approved: "approvals are missing",
  draft_status: "it is a draft",
  discussions_not_resolved: "discussions are not resolved",
  status_checks_must_pass: "status checks have not passed",
  locked_paths: "paths of it are locked",
  locked_lfs_files: "files of it are locked",
};

function blocked({
  detailed_merge_status: status,
  merge_status,
  draft,
}: GitHostAnswer["json"]): PullRequest["blocked"] {
  if (status === undefined) return draft ? { why: WAITS.draft_status!, wait: true } : old(merge_status);
  if (status === "mergeable") return undefined;
  if (WAITS[status]) return { why: WAITS[status], wait: true };
  return { why: status === "conflict" ? "it conflicts with its base" : `GitLab says ${status}`, wait: false };
}

/** Versions before 15.6 know two answers. */
const old = (status: string | undefined): PullRequest["blocked"] =>
  status === "cannot_be_merged" ? { why: "it conflicts with its base", wait: false } : undefined;
