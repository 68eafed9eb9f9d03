import type { Call, Forge, Reply } from "./forge.ts";
import { branches, has } from "./forge-browse.ts";

const PAGE = 2;

/** Bitbucket Cloud, as https://developer.atlassian.com/cloud/bitbucket/rest has it: a page says by its whole address where the next one is. */
export async function bitbucketRoutes(forge: Forge, call: Call): Promise<Reply | undefined> {
  const path = decodeURIComponent(call.path);
  const [owner, name] = forge.name.split("/") as [string, string];
  const at = path.startsWith(`/2.0/repositories/${forge.name}/`)
    ? path.slice(`/2.0/repositories/${forge.name}`.length)
    : undefined;
  const page = (values: unknown[]): Reply => {
    const n = Number(call.query.get("page") ?? 1);
    const next = new URLSearchParams(call.query);
    next.set("page", String(n + 1));
    const more = values.length > n * PAGE ? { next: `${forge.self}${call.path}?${next}` } : {};
    return {
      status: 200,
      json: { pagelen: PAGE, page: n, size: values.length, values: values.slice((n - 1) * PAGE, n * PAGE), ...more },
    };
  };
  if (path === `/2.0/repositories/${owner}`) {
    if (call.query.get("role") !== "member") return { status: 400, json: { type: "error" } };
    const clone = [
      { name: "https", href: forge.cloneUrl },
      { name: "ssh", href: `git@bitbucket.org:${forge.name}.git` },
    ];
    const one = {
      type: "repository",
      full_name: forge.name,
      slug: name,
      name: "Release",
      uuid: "{7-a}",
      mainbranch: { name: "main" },
    };
    const empty = { ...one, slug: "empty", full_name: `${owner}/empty`, uuid: "{8-b}", mainbranch: null };
    return page([
      { ...one, links: { clone } },
      { ...empty, links: { clone } },
    ]);
  }
  if (at === "/refs/branches") return page((await branches(forge)).map(branch));
  const wanted = /^\/refs\/branches\/(.+)$/.exec(at ?? "")?.[1];
  if (wanted) {
    const sha = await forge.repository.tip(`refs/heads/${wanted}`);
    return sha ? { status: 200, json: branch({ name: wanted, sha }) } : undefined;
  }
  const [, sha, file] = /^\/src\/([0-9a-f]{40})\/(.+)$/.exec(at ?? "") ?? [];
  if (sha) return call.query.get("format") === "meta" ? has(forge, `${sha}:${file}`) : undefined;
  if (at !== "/pullrequests" || call.query.get("state") !== "OPEN" || Number(call.query.get("pagelen")) > 50)
    return undefined;
  const open = forge.pulls.filter(({ state }) => state === "open");
  const shown = open.map(async (pull) => ({
    id: pull.number,
    title: pull.title,
    state: "OPEN",
    source: {
      branch: { name: pull.branch },
      commit: { hash: await forge.repository.tip(`refs/heads/${pull.branch}`) },
    },
    destination: { branch: { name: pull.base } },
    author: { display_name: "Octo Cat", nickname: "octo" },
  }));
  return page(await Promise.all(shown));
}

const branch = ({ name, sha }: { name: string; sha: string }) => ({
  type: "branch",
  name,
  target: { type: "commit", hash: sha },
});
