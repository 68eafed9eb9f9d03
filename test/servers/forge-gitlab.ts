import type { Call, Forge, Pull, Reply } from "./forge.ts";

/** GitLab's REST API, version 4: branches, files, commits, merge requests. */
export async function gitlabRoutes(forge: Forge, { method, path, query, body }: Call): Promise<Reply | undefined> {
  const { repository, pulls, name } = forge;
  const prefix = `/api/v4/projects/${encodeURIComponent(name)}`;
  if (path !== prefix && !path.startsWith(`${prefix}/`)) return undefined;
  const at = decodeURIComponent(path.slice(prefix.length));
  if (at === "") return { status: 200, json: { http_url_to_repo: forge.cloneUrl, default_branch: "main" } };
  const branch = /^\/repository\/branches\/(.+)$/.exec(at)?.[1];
  if (branch !== undefined && method === "DELETE") {
    await repository.deleteBranch(branch);
    return { status: 204 };
  }
  if (branch !== undefined) {
    const id = await repository.tip(`refs/heads/${branch}`);
    return id ? { status: 200, json: { name: branch, commit: { id } } } : undefined;
  }
  const file = /^\/repository\/files\/(.+)$/.exec(at)?.[1];
  if (file !== undefined) {
    const text = await repository.git("show", `${query.get("ref")}:${file}`).catch(() => undefined);
    return text === undefined
      ? undefined
      : { status: 200, json: { content: Buffer.from(`${text}\n`).toString("base64") } };
  }
  if (at === "/repository/commits" && method === "POST") {
    const tip = await repository.tip(`refs/heads/${body.branch}`);
    if (!tip)
      await repository.git(
        "update-ref",
        `refs/heads/${body.branch}`,
        (await repository.tip(`refs/heads/${body.start_branch}`))!,
      );
    for (const { action, file_path } of body.actions) {
      const exists = await repository.git("cat-file", "-e", `${body.branch}:${file_path}`).then(
        () => true,
        () => false,
      );
      if ((action === "create") === exists)
        return {
          status: 400,
          json: { message: exists ? "A file with this name already exists" : "A file with this name doesn't exist" },
        };
    }
    const files = Object.fromEntries(
      body.actions.map((a: { file_path: string; content: string }) => [a.file_path, a.content]),
    );
    return { status: 201, json: { id: await repository.commit(files, body.commit_message, { branch: body.branch }) } };
  }
  if (at === "/merge_requests" && method === "POST") {
    pulls.push({
      number: pulls.length + 1,
      title: body.title,
      branch: body.source_branch,
      base: body.target_branch,
      state: "open",
    });
    return { status: 201, json: await shown(forge, pulls.at(-1)!) };
  }
  if (at === "/merge_requests") {
    const wanted = (p: Pull) =>
      p.state === "open" && p.branch === query.get("source_branch") && p.base === query.get("target_branch");
    return { status: 200, json: await Promise.all(pulls.filter(wanted).map((p) => shown(forge, p))) };
  }
  const [, number, merge] = /^\/merge_requests\/(\d+)(\/merge)?$/.exec(at) ?? [];
  const pull = pulls.find((p) => p.number === Number(number));
  if (!pull) return undefined;
  if (!merge) return { status: 200, json: await shown(forge, pull) };
  if (body.sha !== (await repository.tip(`refs/heads/${pull.branch}`)))
    return { status: 409, json: { message: "SHA does not match HEAD of source branch" } };
  const merged = pull.blocked
    ? undefined
    : await forge.merge(pull, body.merge_commit_message ?? "merge", body.squash === true);
  if (!merged) return { status: 405, json: { message: "405 Method Not Allowed" } };
  Object.assign(pull, { state: "merged", mergeCommit: merged });
  return { status: 200, json: await shown(forge, pull) };
}

async function shown({ repository, origin, name }: Forge, pull: Pull) {
  return {
    iid: pull.number,
    web_url: `${origin}/${name}/-/merge_requests/${pull.number}`,
    state: pull.state === "open" ? "opened" : pull.state,
    source_branch: pull.branch,
    target_branch: pull.base,
    sha: (await repository.tip(`refs/heads/${pull.branch}`)) ?? "",
    merge_commit_sha: pull.mergeCommit ?? null,
    detailed_merge_status: pull.blocked ?? "mergeable",
  };
}
