import { done, type Outcome } from "../../../base/outcome.ts";
import type { Free } from "../types.ts";
import { askAll, ask as askOne, HTTP } from "../world/http.ts";
import { type Branch, branchesFrom, type Host, idOf } from "../world/scm.ts";

export const GITLAB_API = "https://gitlab.com/";

const root = ({ api }: Free): string => {
  const url = String(api || GITLAB_API).replace(/(?<!\/)\/+$/, "");
  return url.endsWith("/api/v4") ? url : `${url}/api/v4`;
};
const project = (settings: Free, id: string | bigint) => `${root(settings)}/projects/${encodeURIComponent(String(id))}`;

const branchOf = ({ name, commit }: Free) => ({ name, sha: commit?.id });

export const gitlab: Host = {
  async pulls(settings, ask) {
    const { labels = [], pullRequestState } = settings;
    const query = new URLSearchParams({ per_page: "100" });
    if (labels.length) query.set("labels", labels.join(","));
    if (pullRequestState) query.set("state", pullRequestState);
    const pulls = await askAll<Free>(`${project(settings, String(settings.project))}/merge_requests?${query}`, ask);
    if (pulls.kind !== "done") return pulls;
    return done(
      pulls.value.map((pull) => ({
        number: pull.iid,
        title: pull.title ?? "",
        branch: pull.source_branch,
        target: pull.target_branch,
        sha: pull.sha ?? "",
        labels: pull.labels ?? [],
        author: pull.author?.username ?? "",
      })),
    );
  },

  async repositories(settings, ask) {
    const { group, includeSubgroups, includeSharedProjects, topic } = settings;
    // Archived projects are listed unless one asks for others: `includeArchivedRepos` has nothing to add, and archived=true would list them alone.
    const query = new URLSearchParams({
      per_page: "100",
      include_subgroups: String(includeSubgroups === true),
      with_shared: String(includeSharedProjects !== false),
    });
    if (topic) query.set("topic", topic);
    const repos = await askAll<Free>(`${root(settings)}/groups/${encodeURIComponent(group)}/projects?${query}`, ask);
    if (repos.kind !== "done") return repos;
    return done(
      repos.value.map((repo) => ({
        organization: repo.namespace?.full_path ?? group,
        repository: repo.path,
        id: idOf(repo.id),
        url: { ssh: repo.ssh_url_to_repo, https: repo.http_url_to_repo },
        defaultBranch: repo.default_branch ?? "",
        labels: repo.topics ?? repo.tag_list ?? [],
      })),
    );
  },

  async branches(settings, { id, defaultBranch }, all, ask): Promise<Outcome<Branch[]>> {
    const base = `${project(settings, id)}/repository/branches`;
    if (all) {
      const branches = await askAll<Free>(`${base}?per_page=100`, ask);
      if (branches.kind === "done") return branchesFrom(branches.value, branchOf);
      return branches.reason === HTTP.notFound ? done([]) : branches;
    }
    if (!defaultBranch) return done([]);
    const branch = await askOne<Free>(`${base}/${encodeURIComponent(defaultBranch)}`, ask);
    if (branch.kind === "done") return branchesFrom([branch.value.body], branchOf);
    return branch.reason === HTTP.notFound ? done([]) : branch;
  },

  async hasPath(settings, { repository: { id }, branch: { name: branch }, path }, ask) {
    const parts = path.split("/").filter(Boolean);
    if (parts.length === 0) return done(true);
    const query = new URLSearchParams({ path: parts.slice(0, -1).join("/"), ref: branch, per_page: "100" });
    const listed = await askAll<Free>(`${project(settings, id)}/repository/tree?${query}`, ask);
    if (listed.kind === "done") return done(listed.value.some(({ name }) => name === parts.at(-1)));
    return listed.reason === HTTP.notFound ? done(false) : listed;
  },
};
