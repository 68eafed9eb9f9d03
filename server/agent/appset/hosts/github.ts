import { done, type Outcome } from "../../../base/outcome.ts";
import type { Free } from "../types.ts";
import { type Ask, askAll, ask as askOne, HTTP } from "../world/http.ts";
import { type Branch, branchesFrom, type Host, idOf } from "../world/scm.ts";

export const GITHUB_API = "https://api.github.com/";

/** GitHub, or an own one (`api` with or without /api/v3). */
function root({ api }: Free): string {
  const url = new URL(String(api || GITHUB_API));
  const path = url.pathname.replace(/(?<!\/)\/+$/, "");
  const own = !url.host.startsWith("api.") && !url.host.includes(".api.") && !path.endsWith("/api/v3");
  return `${url.origin}${path}${own ? "/api/v3" : ""}`;
}

const named = (...parts: string[]) => parts.map(encodeURIComponent).join("/");
const withVersion = (ask: Ask): Ask => ({ ...ask, headers: { ...ask.headers, accept: "application/vnd.github+json" } });

const branchOf = ({ name, commit }: Free) => ({ name, sha: commit?.sha });

export const github: Host = {
  async pulls(settings, ask) {
    const { owner, repo, labels = [] } = settings;
    const pulls = await askAll<Free>(
      `${root(settings)}/repos/${named(owner, repo)}/pulls?state=open&per_page=100`,
      withVersion(ask),
    );
    if (pulls.kind !== "done") return pulls;
    const all = pulls.value.map((pull) => ({
      number: pull.number,
      title: pull.title ?? "",
      branch: pull.head?.ref ?? "",
      target: pull.base?.ref ?? "",
      sha: pull.head?.sha ?? "",
      labels: ((pull.labels ?? []) as Free[]).map(({ name }) => name),
      author: pull.user?.login ?? "",
    }));
    return done(all.filter((pull) => (labels as string[]).every((label) => pull.labels.includes(label))));
  },

  async repositories(settings, ask) {
    const repos = await askAll<Free>(
      `${root(settings)}/orgs/${named(settings.organization)}/repos?per_page=100`,
      withVersion(ask),
    );
    if (repos.kind !== "done") return repos;
    const kept = repos.value.filter(({ archived }) => !(settings.excludeArchivedRepos === true && archived));
    return done(
      kept.map((repo) => ({
        organization: repo.owner?.login ?? settings.organization,
        repository: repo.name,
        id: idOf(repo.id),
        url: { ssh: repo.ssh_url, https: repo.clone_url },
        defaultBranch: repo.default_branch,
        labels: repo.topics ?? [],
      })),
    );
  },

  async branches(settings, repository, all, ask): Promise<Outcome<Branch[]>> {
    const base = `${root(settings)}/repos/${named(repository.organization, repository.repository)}/branches`;
    if (all) {
      const branches = await askAll<Free>(`${base}?per_page=100`, withVersion(ask));
      return branches.kind === "done" ? branchesFrom(branches.value, branchOf) : branches;
    }
    const branch = await askOne<Free>(`${base}/${named(repository.defaultBranch)}`, withVersion(ask));
    if (branch.kind === "done") return branchesFrom([branch.value.body], branchOf);
    return branch.reason === HTTP.notFound ? done([]) : branch;
  },

  hasPath: (settings, { repository, branch: { name: branch }, path }, ask) =>
    exists(
      `${root(settings)}/repos/${named(repository.organization, repository.repository)}/contents/${named(...path.split("/").filter(Boolean))}?ref=${encodeURIComponent(branch)}`,
      withVersion(ask),
    ),
};

/** Whether an address answers; only a plain 404 is a no. */
export async function exists(url: string, ask: Ask): Promise<Outcome<boolean>> {
  const answer = await askOne(url, ask);
  if (answer.kind === "done") return done(true);
  return answer.reason === HTTP.notFound ? done(false) : answer;
}
