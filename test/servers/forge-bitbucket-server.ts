import type { Call, Forge, Reply } from "./forge.ts";
import { branches, has } from "./forge-browse.ts";

const PAGE = 2;

/** Bitbucket Server, as https://developer.atlassian.com/server/bitbucket/rest has it: pages begin at a number that the page before tells. */
export async function bitbucketServerRoutes(forge: Forge, call: Call): Promise<Reply | undefined> {
  const path = decodeURIComponent(call.path);
  const [key, slug] = forge.name.split("/") as [string, string];
  const repos = `/rest/api/1.0/projects/${key}/repos`;
  const at = path.startsWith(`${repos}/${slug}/`) ? path.slice(`${repos}/${slug}`.length) : undefined;
  const page = (values: unknown[]): Reply => {
    const start = Number(call.query.get("start") ?? 0);
    const isLastPage = start + PAGE >= values.length;
    const more = { isLastPage, nextPageStart: isLastPage ? null : start + PAGE };
    return {
      status: 200,
      json: { size: PAGE, limit: PAGE, start, values: values.slice(start, start + PAGE), ...more },
    };
  };
  if (path === repos) {
    const clone = [
      { name: "ssh", href: `ssh://git@bitbucket:7999/${forge.name}.git` },
      { name: "http", href: forge.cloneUrl },
    ];
    const one = { id: 7, slug, name: "Release App", project: { key }, links: { clone } };
    return page([one, { ...one, id: 8, slug: "empty", name: "empty" }]);
  }
  if (path === `${repos}/empty/branches/default`) return { status: 204 };
  if (at === "/branches") return page((await branches(forge)).map(branch));
  if (at === "/branches/default")
    return { status: 200, json: branch({ name: "main", sha: (await forge.repository.tip("refs/heads/main"))! }) };
  const file = /^\/browse\/(.+)$/.exec(at ?? "")?.[1];
  if (file) return has(forge, `${call.query.get("at")}:${file}`);
  if (at !== "/pull-requests")
    return {
      status: 404,
      json: { errors: [{ message: "Repository does not exist.", exceptionName: "NoSuchRepositoryException" }] },
    };
  const shown = forge.pulls
    .filter(({ state }) => state === "open")
    .map(async (pull) => ({
      id: pull.number,
      title: pull.title,
      state: "OPEN",
      fromRef: {
        id: `refs/heads/${pull.branch}`,
        displayId: pull.branch,
        latestCommit: await forge.repository.tip(`refs/heads/${pull.branch}`),
      },
      toRef: { id: `refs/heads/${pull.base}`, displayId: pull.base },
      author: { user: { name: "octo", slug: "octo" }, role: "AUTHOR" },
    }));
  return page(await Promise.all(shown));
}

const branch = ({ name, sha }: { name: string; sha: string }) => ({
  id: `refs/heads/${name}`,
  displayId: name,
  type: "BRANCH",
  latestCommit: sha,
  isDefault: name === "main",
});
