import { done, type Outcome } from "../../../base/outcome.ts";
import { type CallHost, type GitHost, type GitHostAnswer, openOrClosed, type PullRequest } from "./git-host.ts";

const each = (path: string) => path.split("/").map(encodeURIComponent).join("/");

/** GitHub's REST API. */
export function github(call: CallHost, repository: string): GitHost {
  const repo = `/repos/${each(repository)}`;
  const head = async (branch: string): Promise<Outcome<string | undefined>> => {
    const got = await call("GET", `${repo}/git/ref/heads/${each(branch)}`, undefined, [200, 404]);
    return got.kind === "done" ? done(got.value.json?.object?.sha) : got;
  };
  return {
    head,
    async file(path, branch) {
      const got = await call(
        "GET",
        `${repo}/contents/${each(path)}?ref=${encodeURIComponent(branch)}`,
        undefined,
        [200, 404],
      );
      if (got.kind !== "done") return got;
      return done(
        got.value.status === 404 ? undefined : Buffer.from(got.value.json?.content ?? "", "base64").toString("utf8"),
      );
    },
    async commit({ base, branch, message, files }) {
      const existing = await head(branch);
      if (existing.kind !== "done") return existing;
      const from = existing.value === undefined ? await head(base) : existing;
      if (from.kind !== "done") return from;
      const parent = await call("GET", `${repo}/git/commits/${from.value}`);
      if (parent.kind !== "done") return parent;
      const tree = await call("POST", `${repo}/git/trees`, {
        base_tree: parent.value.json.tree.sha,
        tree: files.map(({ path, content }) => ({ path, mode: "100644", type: "blob", content })),
      });
      if (tree.kind !== "done") return tree;
      const made = await call("POST", `${repo}/git/commits`, {
        message,
        tree: tree.value.json.sha,
        parents: [from.value],
      });
      if (made.kind !== "done") return made;
      const { sha } = made.value.json as { sha: string };
      const moved =
        existing.value === undefined
          ? await call("POST", `${repo}/git/refs`, { ref: `refs/heads/${branch}`, sha })
          : await call("PATCH", `${repo}/git/refs/heads/${each(branch)}`, { sha, force: false });
      return moved.kind === "done" ? done(sha) : moved;
    },
    async openPull({ base, branch, title, body }) {
      return one(await call("POST", `${repo}/pulls`, { base, head: branch, title, body }));
    },
    async findPull(branch, base) {
      const owner = repository.split("/")[0]!;
      const search = new URLSearchParams({ state: "open", head: `${owner}:${branch}`, base });
      const got = await call("GET", `${repo}/pulls?${search}`);
      if (got.kind !== "done") return got;
      const [first] = got.value.json as unknown[];
      return done(first ? pullOf(first) : undefined);
    },
    async pull(number) {
      return one(await call("GET", `${repo}/pulls/${number}`));
    },
    async merge({ number, head: sha }, { strategy, message }) {
      const got = await call("PUT", `${repo}/pulls/${number}/merge`, {
        merge_method: strategy,
        sha,
        ...(message ? { commit_message: message } : {}),
      });
      return got.kind === "done" ? done(undefined) : got;
    },
    async deleteBranch(branch) {
      const got = await call("DELETE", `${repo}/git/refs/heads/${each(branch)}`, undefined, [204, 404, 422]);
      return got.kind === "done" ? done(undefined) : got;
    },
    async clone() {
      const got = await call("GET", repo);
      return got.kind === "done" ? done({ url: got.value.json.clone_url, username: "x-access-token" }) : got;
    },
  };
}

const one = (got: Outcome<GitHostAnswer>): Outcome<PullRequest> =>
  got.kind === "done" ? done(pullOf(got.value.json)) : got;

function pullOf(json: GitHostAnswer["json"]): PullRequest {
  return {
    number: json.number,
    url: json.html_url,
    state: json.merged || json.merged_at ? "merged" : openOrClosed(json.state === "open"),
    branch: json.head.ref,
    base: json.base.ref,
    head: json.head.sha,
    mergeCommit: json.merged || json.merged_at ? (json.merge_commit_sha ?? undefined) : undefined,
    blocked: blocked(json),
  };
}

/** `mergeable_state`: clean and has_hooks can be merged; unstable too, its failing checks are not required ones. */
function blocked({ draft, mergeable, mergeable_state }: GitHostAnswer["json"]): PullRequest["blocked"] {
  if (draft) return { why: "it is a draft", wait: true };
  if (mergeable === false || mergeable_state === "dirty") return { why: "it conflicts with its base", wait: false };
  if (mergeable === null || mergeable_state === "unknown")
    return { why: "GitHub is still working out whether it can be merged", wait: true };
  if (mergeable_state === "blocked") return { why: "required checks or reviews are missing", wait: true };
  if (mergeable_state === "behind") return { why: "its branch is behind its base, and must not be", wait: false };
  return undefined;
}
