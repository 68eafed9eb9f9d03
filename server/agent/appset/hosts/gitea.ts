import { done, type Outcome } from "../../../base/outcome.ts";
import type { Free } from "../types.ts";
import { type Ask, askAll, ask as askOne, askPages } from "../world/http.ts";
import { type Branch, branchesFrom, type Host, idOf, type Repository } from "../world/scm.ts";
import { exists } from "./github.ts";

const root = ({ api }: Free): string => `${String(api).replace(/(?<!\/)\/+$/, "")}/api/v1`;
const named = (...parts: string[]) => parts.map(encodeURIComponent).join("/");
const repo = (settings: Free, { organization, repository }: Repository) =>
  `${root(settings)}/repos/${named(organization, repository)}`;

const branchOf = ({ name, commit }: Free) => ({ name, sha: commit?.id });

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
      const labels = await labelsOf(settings, found, ask);
      if (labels.kind !== "done") return labels;
      all.push({
        ...found,
        id: idOf(one.id),
        // Its page, not the address with .git: what Argo CD gives.
        url: { ssh: one.ssh_url, https: one.html_url },
        defaultBranch: one.empty ? "" : one.default_branch,
        labels: labels.value,
      });
    }
    return done(all);
  },

  async branches(settings, repository, all, ask): Promise<Outcome<Branch[]>> {
    if (!repository.defaultBranch) return done([]);
    const base = `${repo(settings, repository)}/branches`;
    if (all) {
      const branches = await askAll<Free>(`${base}?limit=50`, ask);
      return branches.kind === "done" ? branchesFrom(branches.value, branchOf) : branches;
    }
    const branch = await askOne<Free>(`${base}/${named(repository.defaultBranch)}`, ask);
    // The list marks an empty repository. Here a 404 is no reason to drop its application.
    return branch.kind === "done" ? branchesFrom([branch.value.body], branchOf) : branch;
  },

  hasPath: (settings, { repository, branch: { name: branch }, path }, ask) =>
    exists(
      `${repo(settings, repository)}/contents/${named(...path.split("/").filter(Boolean))}?ref=${encodeURIComponent(branch)}`,
      ask,
    ),
};

/** Those that issues can have, as in Argo CD, and not its topics. They are counted, but a page does not link the next. */
async function labelsOf(
  settings: Free,
  { organization, repository }: Pick<Repository, "organization" | "repository">,
  ask: Ask,
): Promise<Outcome<string[]>> {
  const url = `${root(settings)}/repos/${named(organization, repository)}/labels?limit=50`;
  let [seen, page] = [0, 1];
  const labels = await askPages<Free[], Free>(url, ask, ({ body, headers }) => {
    seen += body?.length ?? 0;
    const more = body?.length > 0 && seen < Number(headers.get("x-total-count") ?? 0);
    return { items: body, next: more ? `${url}&page=${++page}` : undefined };
  });
  return labels.kind === "done" ? done(labels.value.map(({ name }) => name)) : labels;
}
