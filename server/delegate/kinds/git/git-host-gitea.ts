import { done, type Outcome } from "../../../base/outcome.ts";
import { type CallHost, type GitHost, type GitHostAnswer, openOrClosed, type PullRequest } from "./git-host.ts";

const each = (path: string) => path.split("/").map(encodeURIComponent).join("/");

/** Gitea's REST API, version 1; Forgejo's is the same. */
export function gitea(call: CallHost, repository: string): GitHost {
  const repo = `/repos/${each(repository)}`;
  const contents = (path: string, branch: string) =>
    call("GET", `${repo}/contents/${each(path)}?ref=${encodeURIComponent(branch)}`, undefined, [200, 404]);
  const head = async (branch: string): Promise<Outcome<string | undefined>> => {
    const got = await call("GET", `${repo}/branches/${each(branch)}`, undefined, [200, 404]);
    return got.kind === "done" ? done(got.value.json?.commit?.id) : got;
  };
  return {
    head,
    async file(path, branch) {
      const got = await contents(path, branch);
      if (got.kind !== "done") return got;
      return done(
        got.value.status === 404 ? undefined : Buffer.from(got.value.json?.content ?? "", "base64").toString("utf8"),
      );
    },
    async commit({ base, branch, message, files }) {
      const existing = await head(branch);
      if (existing.kind !== "done") return existing;
      const at = existing.value === undefined ? base : branch;
      const changes: object[] = [];
      for (const { path, content } of files) {
        // A change of a file names what it replaces, so that a newer one is not lost.
        const before = await contents(path, at);
        if (before.kind !== "done") return before;
        const sha = before.value.status === 200 ? before.value.json.sha : undefined;
        const text = Buffer.from(content).toString("base64");
        changes.push({ operation: sha ? "update" : "create", path, content: text, ...(sha ? { sha } : {}) });
      }
      const target = existing.value === undefined ? { branch: base, new_branch: branch } : { branch };
      const got = await call("POST", `${repo}/contents`, { ...target, message, files: changes });
      return got.kind === "done" ? done(got.value.json.commit.sha) : got;
    },
    async openPull({ base, branch, title, body }) {
      return one(await call("POST", `${repo}/pulls`, { base, head: branch, title, body }));
    },
    async findPull(branch, base) {
      const got = await call("GET", `${repo}/pulls/${each(base)}/${each(branch)}`, undefined, [200, 404]);
      if (got.kind !== "done") return got;
      const found = got.value.status === 200 ? pullOf(got.value.json) : undefined;
      return done(found?.state === "open" ? found : undefined);
    },
    async pull(number) {
      return one(await call("GET", `${repo}/pulls/${number}`));
    },
    async merge({ number, head: sha }, { strategy, message }) {
      const asked = { Do: strategy, head_commit_id: sha, ...(message ? { MergeMessageField: message } : {}) };
      const got = await call("POST", `${repo}/pulls/${number}/merge`, asked);
      return got.kind === "done" ? done(undefined) : got;
    },
    async deleteBranch(branch) {
      const got = await call("DELETE", `${repo}/branches/${each(branch)}`, undefined, [204, 404]);
      return got.kind === "done" ? done(undefined) : got;
    },
    async clone() {
      const got = await call("GET", repo);
      return got.kind === "done" ? done({ url: got.value.json.clone_url, username: "outpost" }) : got;
    },
  };
}

const one = (got: Outcome<GitHostAnswer>): Outcome<PullRequest> =>
  got.kind === "done" ? done(pullOf(got.value.json)) : got;

function pullOf(json: GitHostAnswer["json"]): PullRequest {
  const { number, html_url, merged, state, head, base, merge_commit_sha, draft, mergeable } = json;
  return {
    number,
    url: html_url,
    state: merged ? "merged" : openOrClosed(state === "open"),
    // Once the branch is gone, `ref` is that of the pull request itself.
    branch: /^refs\//.test(head.ref) ? head.label : head.ref,
    base: base.ref,
    head: head.sha,
    mergeCommit: merged ? (merge_commit_sha ?? undefined) : undefined,
    // Gitea says `mergeable: false` for conflicts and, for a moment, while it looks for them.
    blocked: blocked(draft, mergeable),
  };
}

function blocked(draft: boolean, mergeable: boolean): PullRequest["blocked"] {
  if (draft) return { why: "it is a draft", wait: true };
  return mergeable ? undefined : { why: "it conflicts with its base, or Gitea is still looking", wait: true };
}
