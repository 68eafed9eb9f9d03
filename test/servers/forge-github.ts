import type { Call, Forge, Pull, Reply } from "./forge.ts";

/** Trees and commits that were made and no ref names yet. */
const trees = new WeakMap<Forge, Map<string, Record<string, string>>>();

/** GitHub's REST API: contents, git data, pull requests. */
export async function githubRoutes(forge: Forge, { method, path, query, body }: Call): Promise<Reply | undefined> {
  const { repository, pulls, name } = forge;
  const prefix = `/repos/${name}`;
  if (path !== prefix && !path.startsWith(`${prefix}/`)) return undefined;
  const at = decodeURIComponent(path.slice(prefix.length));
  if (at === "") return { status: 200, json: { clone_url: forge.cloneUrl, default_branch: "main" } };
  const ref = /^\/git\/refs?\/heads\/(.+)$/.exec(at)?.[1];
  if (ref !== undefined && method === "GET") {
    const sha = await repository.tip(`refs/heads/${ref}`);
    return sha ? { status: 200, json: { ref: `refs/heads/${ref}`, object: { sha, type: "commit" } } } : undefined;
  }
  if (ref !== undefined && method === "PATCH") return move(forge, ref, body.sha);
  if (ref !== undefined && method === "DELETE") {
    await repository.deleteBranch(ref);
    return { status: 204 };
  }
  if (at === "/git/refs") return move(forge, body.ref.replace("refs/heads/", ""), body.sha);
  const file = /^\/contents\/(.+)$/.exec(at)?.[1];
  if (file !== undefined) {
    const text = await repository.git("show", `${query.get("ref")}:${file}`).catch(() => undefined);
    return text === undefined
      ? undefined
      : { status: 200, json: { content: Buffer.from(`${text}\n`).toString("base64") } };
  }
  const commit = /^\/git\/commits\/(.+)$/.exec(at)?.[1];
  if (commit)
    return { status: 200, json: { sha: commit, tree: { sha: await repository.git("rev-parse", `${commit}^{tree}`) } } };
  if (at === "/git/trees") {
    const made = trees.get(forge) ?? new Map();
    trees.set(forge, made);
    const sha = `tree-${made.size}`;
    made.set(
      sha,
      Object.fromEntries(body.tree.map((entry: { path: string; content: string }) => [entry.path, entry.content])),
    );
    return { status: 201, json: { sha } };
  }
  if (at === "/git/commits") {
    // The real commit is made on a hidden branch; `move` then names it.
    await repository.git("update-ref", "refs/heads/forge-work", body.parents[0]);
    const sha = await repository.commit(trees.get(forge)!.get(body.tree)!, body.message, { branch: "forge-work" });
    return { status: 201, json: { sha } };
  }
  if (at === "/pulls" && method === "POST") {
    if (pulls.some((p) => p.branch === body.head && p.state === "open"))
      return {
        status: 422,
        json: { message: "Validation Failed", errors: [{ message: "A pull request already exists" }] },
      };
    pulls.push({ number: pulls.length + 1, title: body.title, branch: body.head, base: body.base, state: "open" });
    return { status: 201, json: await shown(forge, pulls.at(-1)!) };
  }
  if (at === "/pulls") {
    const found = pulls.filter(
      (p) => p.state === "open" && query.get("head") === `team:${p.branch}` && query.get("base") === p.base,
    );
    return { status: 200, json: await Promise.all(found.map((p) => shown(forge, p))) };
  }
  const [, number, merge] = /^\/pulls\/(\d+)(\/merge)?$/.exec(at) ?? [];
  const pull = pulls.find((p) => p.number === Number(number));
  if (!pull) return undefined;
  if (!merge) return { status: 200, json: await shown(forge, pull) };
  if (body.sha !== (await repository.tip(`refs/heads/${pull.branch}`)))
    return { status: 409, json: { message: "Head branch was modified. Review and try the merge again." } };
  const merged = await forge.merge(
    pull,
    body.commit_message ?? `Merge pull request #${number}`,
    body.merge_method === "squash",
  );
  if (!merged || pull.blocked) return { status: 405, json: { message: "Pull Request is not mergeable" } };
  Object.assign(pull, { state: "merged", mergeCommit: merged });
  return { status: 200, json: { sha: merged, merged: true } };
}

async function move({ repository }: Forge, branch: string, sha: string): Promise<Reply> {
  await repository.git("update-ref", `refs/heads/${branch}`, sha);
  return { status: 200, json: { ref: `refs/heads/${branch}`, object: { sha } } };
}

async function shown({ repository, origin, name }: Forge, pull: Pull) {
  return {
    number: pull.number,
    html_url: `${origin}/${name}/pull/${pull.number}`,
    state: pull.state === "open" ? "open" : "closed",
    merged: pull.state === "merged",
    merge_commit_sha: pull.mergeCommit ?? null,
    draft: false,
    mergeable: pull.blocked !== "dirty",
    mergeable_state: pull.blocked ?? "clean",
    head: { ref: pull.branch, sha: (await repository.tip(`refs/heads/${pull.branch}`)) ?? "" },
    base: { ref: pull.base },
  };
}
