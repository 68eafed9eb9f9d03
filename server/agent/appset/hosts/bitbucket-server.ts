import { done, type Outcome } from "../../../base/outcome.ts";
import type { Free } from "../types.ts";
import { type Ask, ask as askOne, askPages, HTTP } from "../world/http.ts";
import { type Branch, branchesFrom, type Host, idOf, type Repository } from "../world/scm.ts";
import { exists } from "./github.ts";

interface Paged {
  values?: Free[];
  isLastPage?: boolean;
  nextPageStart?: number | null;
}

const named = (...parts: string[]) => parts.map((part) => encodeURIComponent(String(part))).join("/");

/** `api` with or without `/rest`. */
function root({ api }: Free, project: string, ...rest: string[]): string {
  const url = String(api).replace(/(?<!\/)\/+$/, "");
  return `${url.endsWith("/rest") ? url : `${url}/rest`}/api/1.0/projects/${named(project)}/repos${rest.map((part) => `/${named(part)}`).join("")}`;
}

const withoutCheck = (ask: Ask): Ask => ({ ...ask, headers: { ...ask.headers, "x-atlassian-token": "no-check" } });

const pages = (url: string, ask: Ask) =>
  askPages<Paged, Free>(`${url}?limit=100`, withoutCheck(ask), ({ body }) => {
    const { values, isLastPage, nextPageStart } = body ?? {};
    if (isLastPage === true) return { items: values };
    // A page that is not the last, and does not say which one follows, is half an answer.
    return Number.isInteger(nextPageStart)
      ? { items: values, next: `${url}?limit=100&start=${nextPageStart}` }
      : { items: undefined };
  });

const cloneOf = ({ links }: Free, name: string): string =>
  ((links?.clone ?? []) as Free[]).find((one) => one.name === name)?.href ?? "";
const branchOf = ({ displayId, latestCommit }: Free) => ({ name: displayId, sha: latestCommit });
const inside = (settings: Free, { organization, repository, slug }: Repository) =>
  root(settings, organization, slug ?? repository);

/** Bitbucket Server and Data Center: https://developer.atlassian.com/server/bitbucket/rest */
export const bitbucketServer: Host = {
  async pulls(settings, ask) {
    const pulls = await pages(`${root(settings, settings.project, settings.repo)}/pull-requests`, ask);
    if (pulls.kind !== "done") return pulls;
    return done(
      pulls.value.map(({ id, title, fromRef, toRef, author }) => ({
        number: id,
        title: title ?? "",
        branch: fromRef?.displayId ?? "",
        target: toRef?.displayId ?? "",
        sha: fromRef?.latestCommit ?? "",
        // It has none on pull requests.
        labels: [],
        author: author?.user?.name ?? "",
      })),
    );
  },

  async repositories(settings, ask) {
    const repos = await pages(root(settings, settings.project), ask);
    if (repos.kind !== "done") return repos;
    return done(
      repos.value.map((repo) => ({
        organization: repo.project?.key ?? settings.project,
        repository: repo.name,
        slug: repo.slug,
        id: idOf(repo.id),
        url: { ssh: cloneOf(repo, "ssh"), https: cloneOf(repo, "http") },
        // Not part of the list: it is read with the branches.
        defaultBranch: "",
        labels: [],
      })),
    );
  },

  async branches(settings, repository, all, ask): Promise<Outcome<Branch[]>> {
    const base = `${inside(settings, repository)}/branches`;
    // An empty repository says 204, one whose default branch is gone 404: both are skipped, whatever other branches there are.
    const chosen = await askOne<Free | undefined>(`${base}/default`, withoutCheck(ask));
    if (chosen.kind !== "done") return chosen.reason === HTTP.notFound ? done([]) : chosen;
    if (!chosen.value.body) return done([]);
    if (!all) return branchesFrom([chosen.value.body], branchOf);
    const branches = await pages(base, ask);
    return branches.kind === "done" ? branchesFrom(branches.value, branchOf) : branches;
  },

  hasPath: (settings, { repository, branch: { name }, path }, ask) => {
    const query = new URLSearchParams({ at: `refs/heads/${name}`, type: "true" });
    return exists(
      `${inside(settings, repository)}/browse/${named(...path.split("/").filter(Boolean))}?${query}`,
      withoutCheck(ask),
    );
  },
};
