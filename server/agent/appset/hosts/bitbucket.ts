import { done, type Outcome } from "../../../base/outcome.ts";
import type { Free } from "../types.ts";
import { type Ask, ask as askOne, askPages } from "../world/http.ts";
import { type Branch, branchesFrom, type Host, type Repository } from "../world/scm.ts";
import { exists } from "./github.ts";

export const BITBUCKET_API = "https://api.bitbucket.org/2.0";

const named = (...parts: string[]) => parts.map((part) => encodeURIComponent(String(part))).join("/");
const root = ({ api, owner }: Free, repository: string) =>
  `${String(api).replace(/(?<!\/)\/+$/, "")}/repositories/${repository ? named(owner, repository) : named(owner)}`;
const pages = (url: string, ask: Ask) =>
  askPages<{ values?: Free[]; next?: string }, Free>(url, ask, ({ body }) => ({
    items: body?.values,
    next: body?.next || undefined,
  }));
const cloneOf = ({ links }: Free, name: string): string =>
  ((links?.clone ?? []) as Free[]).find((one) => one.name === name)?.href ?? "";
const branchOf = ({ name, target }: Free) => ({ name, sha: target?.hash });

/** Bitbucket Cloud: https://developer.atlassian.com/cloud/bitbucket/rest */
export const bitbucket: Host = {
  async pulls(settings, ask) {
    // It has no labels, and 50 is the most on a page.
    const pulls = await pages(`${root(settings, settings.repo)}/pullrequests?state=OPEN&pagelen=50`, ask);
    if (pulls.kind !== "done") return pulls;
    return done(
      pulls.value.map(({ id, title, source, destination, author }) => ({
        number: id,
        title: title ?? "",
        branch: source?.branch?.name ?? "",
        target: destination?.branch?.name ?? "",
        sha: source?.commit?.hash ?? "",
        labels: [],
        author: author?.nickname ?? "",
      })),
    );
  },

  async repositories(settings, ask) {
    const repos = await pages(`${root(settings, "")}?role=member&pagelen=100`, ask);
    if (repos.kind !== "done") return repos;
    return done(
      repos.value.map(
        (repo): Repository => ({
          organization: settings.owner,
          repository: repo.slug,
          id: repo.uuid ?? "",
          url: { ssh: cloneOf(repo, "ssh"), https: cloneOf(repo, "https") },
          defaultBranch: repo.mainbranch?.name ?? "",
          labels: [],
        }),
      ),
    );
  },

  async branches(settings, { repository, defaultBranch }, all, ask): Promise<Outcome<Branch[]>> {
    if (!defaultBranch) return done([]);
    const base = `${root(settings, repository)}/refs/branches`;
    if (all) {
      const branches = await pages(`${base}?pagelen=100`, ask);
      return branches.kind === "done" ? branchesFrom(branches.value, branchOf) : branches;
    }
    const branch = await askOne<Free>(`${base}/${named(defaultBranch)}`, ask);
    // The list has just named it: where it is not found, the application of a repository that is there would go.
    return branch.kind === "done" ? branchesFrom([branch.value.body], branchOf) : branch;
  },

  hasPath: (settings, { repository: { repository }, branch: { sha }, path }, ask) =>
    exists(`${root(settings, repository)}/src/${named(sha, ...path.split("/").filter(Boolean))}?format=meta`, ask),
};
