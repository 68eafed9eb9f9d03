import { done, type Outcome } from "../../../base/outcome.ts";
import { type Ask, askAll, ask as askOne, HTTP } from "../http.ts";
import type { Branch, Host, Repository } from "../scm.ts";
import type { Free } from "../types.ts";
import { exists } from "./github.ts";

const root = ({ api }: Free): string => `${String(api).replace(/(?<!\/)\/+$/, "")}/api/v1`;
const named = (...parts: string[]) => parts.map(encodeURIComponent).join("/");
const repo = (settings: Free, { organization, repository }: Repository) => `${root(settings)}/repos/${named(organization, repository)}`;

export const gitea: Host = {
  async pulls(settings, ask) {
    const { owner, repo: name, labels = [] } = settings;
    const pulls = await askAll<Free>(`${root(settings)}/repos/${named(owner, name)}/pulls?state=open&limit=50`, ask);
    if (pulls.kind !== "done") return pulls;
    const all = pulls.value.map((pull) => ({
      number: pull.number,
      title: pull.title ?? "",
      branch: pull.head?.ref ?? "",
      target: pull.base?.ref ?? "",
      sha: pull.head?.sha ?? "",
      labels: ((pull.labels ?? []) as Free[]).map((label) => label.name),
      author: pull.user?.login ?? "",
    }));
    return done(all.filter((pull) => (labels as string[]).every((label) => pull.labels.includes(label))));
  },

  async repositories(settings, ask) {
    const repos = await askAll<Free>(`${root(settings)}/orgs/${named(settings.owner)}/repos?limit=50`, ask);
    if (repos.kind !== "done") return repos;
    const all: Repository[] = [];
    for (const one of repos.value) {
      if (settings.excludeArchivedRepos === true && one.archived) continue;
      const found = { organization: settings.owner as string, repository: one.name as string };
      const topics = await topicsOf(settings, found, ask);
      if (topics.kind !== "done") return topics;
      all.push({
        ...found,
        id: String(one.id),
        url: { ssh: one.ssh_url, https: one.clone_url },
        defaultBranch: one.empty ? "" : one.default_branch,
        labels: topics.value,
      });
    }
    return done(all);
  },

  async branches(settings, repository, all, ask): Promise<Outcome<Branch[]>> {
    if (!repository.defaultBranch) return done([]);
    const base = `${repo(settings, repository)}/branches`;
    if (all) {
      const branches = await askAll<Free>(`${base}?limit=50`, ask);
      return branches.kind === "done" ? done(branches.value.map(({ name, commit }) => ({ name, sha: commit.id }))) : branches;
    }
    const branch = await askOne<Free>(`${base}/${named(repository.defaultBranch)}`, ask);
    if (branch.kind === "done") return done([{ name: branch.value.body.name, sha: branch.value.body.commit.id }]);
    return branch.reason === HTTP.notFound ? done([]) : branch;
  },

  hasPath: (settings, repository, { name: branch }, path, ask) =>
    exists(`${repo(settings, repository)}/contents/${named(...path.split("/").filter(Boolean))}?ref=${encodeURIComponent(branch)}`, ask),
};

async function topicsOf(
  settings: Free,
  { organization, repository }: Pick<Repository, "organization" | "repository">,
  ask: Ask,
): Promise<Outcome<string[]>> {
  const topics = await askOne<{ topics?: string[] }>(`${root(settings)}/repos/${named(organization, repository)}/topics`, ask);
  if (topics.kind === "done") return done(topics.value.body.topics ?? []);
  return topics.reason === HTTP.notFound ? done([]) : topics;
}
