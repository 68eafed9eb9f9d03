import type { Call, Forge, Reply } from "./forge.ts";

/** What one asks who looks for repositories, branches and open pull requests: the lists of both hosts, a page of two at a time. */
export async function browse(
  kind: "github" | "gitlab",
  forge: Forge,
  call: Call,
): Promise<(Reply & { link?: string }) | undefined> {
  if (call.method !== "GET") return undefined;
  return kind === "github" ? github(forge, call) : gitlab(forge, call);
}

const PAGE = 2;

function page(items: unknown[], { path, query }: Call): Reply & { link?: string } {
  const at = Number(query.get("page") ?? 1);
  const next = new URLSearchParams(query);
  next.set("page", String(at + 1));
  const more = items.length > at * PAGE;
  return {
    status: 200,
    json: items.slice((at - 1) * PAGE, at * PAGE),
    ...(more ? { link: `<${path}?${next}>; rel="next"` } : {}),
  };
}

export async function branches({ repository }: Forge): Promise<{ name: string; sha: string }[]> {
  const listed = await repository.git("for-each-ref", "--format=%(refname:strip=2) %(objectname)", "refs/heads");
  return listed.split("\n").map((line) => ({ name: line.split(" ")[0]!, sha: line.split(" ")[1]! }));
}

async function github(forge: Forge, call: Call): Promise<(Reply & { link?: string }) | undefined> {
  const path = decodeURIComponent(call.path.replace(/^\/api\/v3/, ""));
  const [owner, name] = forge.name.split("/") as [string, string];
  const at = path.startsWith(`/repos/${forge.name}/`) ? path.slice(`/repos/${forge.name}`.length) : "";
  if (path === `/orgs/${owner}/repos`) {
    const urls = { ssh_url: `git@forge:${forge.name}.git`, clone_url: forge.cloneUrl };
    return page(
      [{ id: 7, name, owner: { login: owner }, ...urls, default_branch: "main", topics: ["gitops", "web"] }],
      call,
    );
  }
  if (at === "/branches")
    return page(
      (await branches(forge)).map(({ name: one, sha }) => ({ name: one, commit: { sha } })),
      call,
    );
  const branch = /^\/branches\/(.+)$/.exec(at)?.[1];
  if (branch) {
    const sha = await forge.repository.tip(`refs/heads/${branch}`);
    return sha ? { status: 200, json: { name: branch, commit: { sha } } } : undefined;
  }
  if (at.startsWith("/contents/") && call.path.startsWith("/api/v3"))
    return has(forge, `${call.query.get("ref")}:${at.slice(10)}`);
  if (at !== "/pulls" || call.query.has("head")) return undefined;
  const shown = forge.pulls
    .filter(({ state }) => state === "open")
    .map(async (pull) => ({
      number: pull.number,
      title: pull.title,
      head: { ref: pull.branch, sha: await forge.repository.tip(`refs/heads/${pull.branch}`) },
      base: { ref: pull.base },
      labels: (pull.labels ?? []).map((label) => ({ name: label })),
      user: { login: "octo" },
    }));
  return page(await Promise.all(shown), call);
}

export async function has(forge: Forge, object: string): Promise<Reply | undefined> {
  return forge.repository.git("cat-file", "-e", object).then(
    () => ({ status: 200, json: {} }),
    () => undefined,
  );
}

async function gitlab(forge: Forge, call: Call): Promise<(Reply & { link?: string }) | undefined> {
  const [owner, name] = forge.name.split("/") as [string, string];
  const root = "/api/v4";
  if (call.path === `${root}/groups/${owner}/projects`) {
    const urls = { ssh_url_to_repo: `git@forge:${forge.name}.git`, http_url_to_repo: forge.cloneUrl };
    return page(
      [
        {
          id: 7,
          path: name,
          namespace: { full_path: owner },
          ...urls,
          default_branch: "main",
          topics: ["gitops", "web"],
        },
      ],
      call,
    );
  }
  const project = [`${root}/projects/7`, `${root}/projects/${encodeURIComponent(forge.name)}`].find((one) =>
    call.path.startsWith(`${one}/`),
  );
  if (!project) return undefined;
  const at = decodeURIComponent(call.path.slice(project.length));
  if (at === "/repository/branches")
    return page(
      (await branches(forge)).map((one) => ({ name: one.name, commit: { id: one.sha } })),
      call,
    );
  const branch = /^\/repository\/branches\/(.+)$/.exec(at)?.[1];
  if (branch) {
    const id = await forge.repository.tip(`refs/heads/${branch}`);
    return id ? { status: 200, json: { name: branch, commit: { id } } } : undefined;
  }
  if (at === "/repository/tree") {
    const folder = call.query.get("path") ?? "";
    const listed = await forge.repository
      .git("ls-tree", "--name-only", `${call.query.get("ref")}:${folder}`)
      .catch(() => undefined);
    return listed === undefined
      ? undefined
      : page(
          listed.split("\n").map((one) => ({ name: one, path: `${folder}/${one}` })),
          call,
        );
  }
  if (at !== "/merge_requests" || call.query.has("source_branch")) return undefined;
  const wanted = (call.query.get("labels") ?? "").split(",").filter(Boolean);
  const state = call.query.get("state");
  const shown = forge.pulls
    .filter(
      (pull) =>
        (!state || state === "all" || (state === "opened") === (pull.state === "open")) &&
        wanted.every((label) => pull.labels?.includes(label)),
    )
    .map(async (pull) => ({
      iid: pull.number,
      title: pull.title,
      source_branch: pull.branch,
      target_branch: pull.base,
      sha: await forge.repository.tip(`refs/heads/${pull.branch}`),
      labels: pull.labels ?? [],
      author: { username: "octo" },
    }));
  return page(await Promise.all(shown), call);
}
