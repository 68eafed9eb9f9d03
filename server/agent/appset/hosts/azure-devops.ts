import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Free } from "../types.ts";
import { type Ask, ask as askOne, askPages, HTTP } from "../world/http.ts";
import { type Branch, branchesFrom, type Host } from "../world/scm.ts";

export const AZURE_DEVOPS_API = "https://dev.azure.com";

// What a server of one's own has understood since 2019.
const VERSION = "5.1";
const PAGE = 100;
const HEADS = /^refs\/heads\//;
const NO_REPOSITORY = /^GitRepositoryNotFoundException$/;
const NO_ITEM = /^GitItemNotFoundException$/;

const named = (...parts: string[]) => parts.map((part) => encodeURIComponent(String(part))).join("/");
const address = ({ api, organization }: Free, project: string, path: string[], query: Record<string, string> = {}) =>
  `${String(api).replace(/(?<!\/)\/+$/, "")}/${named(organization, project)}/_apis/git/${named(...path)}?${new URLSearchParams({ ...query, "api-version": VERSION })}`;

/** `typeKey` is what Azure DevOps calls an error by. */
function code(said: string): string | undefined {
  const key = /"typeKey"\s*:\s*"([A-Za-z]{1,100})"/.exec(said);
  return key?.[1];
}

/** Azure DevOps, its Services and its Server: https://learn.microsoft.com/rest/api/azure/devops/git */
export const azureDevOps: Host = {
  async pulls(settings, ask) {
    const { project, repo, labels = [] } = settings;
    const at = (skip: number) =>
      address(settings, project, ["pullrequests"], {
        "searchCriteria.status": "active",
        $top: String(PAGE),
        $skip: String(skip),
      });
    let seen = 0;
    const pulls = await askPages<{ value?: Free[] }, Free>(at(0), { ...ask, code }, ({ body }) => {
      seen += body?.value?.length ?? 0;
      return { items: body?.value, next: body?.value?.length === PAGE ? at(seen) : undefined };
    });
    if (pulls.kind !== "done") return pulls;
    const all = pulls.value
      // A pull request whose commits are not known yet has none for now.
      .filter(({ repository, lastMergeSourceCommit }) => repository?.name === repo && lastMergeSourceCommit?.commitId)
      .map((pull) => ({
        number: pull.pullRequestId,
        title: pull.title ?? "",
        branch: String(pull.sourceRefName ?? "").replace(HEADS, ""),
        target: String(pull.targetRefName ?? "").replace(HEADS, ""),
        sha: pull.lastMergeSourceCommit.commitId,
        labels: ((pull.labels ?? []) as Free[]).map(({ name }) => name),
        author: String(pull.createdBy?.uniqueName ?? "").split("@")[0]!,
      }));
    return done(all.filter((pull) => (labels as string[]).every((label) => pull.labels.includes(label))));
  },

  async repositories(settings, ask) {
    const repos = await askPages<{ value?: Free[] }, Free>(
      address(settings, settings.teamProject, ["repositories"]),
      { ...ask, code },
      ({ body }) => ({ items: body?.value }),
    );
    if (repos.kind !== "done") return repos;
    return done(
      repos.value
        .filter(({ id, name, defaultBranch, remoteUrl }) => id && name && defaultBranch && remoteUrl)
        .map(({ id, name, defaultBranch, remoteUrl }) => ({
          organization: settings.organization,
          repository: name,
          id,
          // As Argo CD does, whatever the protocol.
          url: { ssh: remoteUrl, https: remoteUrl },
          defaultBranch: String(defaultBranch).replace(HEADS, ""),
          labels: [],
        })),
    );
  },

  async branches(settings, { repository, defaultBranch }, all, ask): Promise<Outcome<Branch[]>> {
    const path = ["repositories", repository, "stats", "branches"];
    const asking: Ask = { ...ask, code, missing: NO_REPOSITORY };
    const query: Record<string, string> = all ? {} : { name: defaultBranch };
    const found = await askOne<Free>(address(settings, settings.teamProject, path, query), asking);
    // The list marks a disabled repository; here it is not found.
    if (found.kind !== "done") return found.reason === HTTP.notFound ? done([]) : found;
    const { body } = found.value;
    const told: unknown = all ? body?.value : [body];
    if (!Array.isArray(told))
      return stop(HTTP.refused, `Azure DevOps did not answer with the branches of ${repository}`);
    return branchesFrom(told, ({ name, commit }) => ({ name, sha: commit?.commitId }));
  },

  async hasPath(settings, { repository: { id }, branch: { name }, path }, ask) {
    const query = {
      path: `/${path.split("/").filter(Boolean).join("/")}`,
      "versionDescriptor.version": name,
      "versionDescriptor.versionType": "branch",
      $format: "json",
    };
    const asking: Ask = { ...ask, code, missing: NO_ITEM };
    const item = await askOne(
      address(settings, settings.teamProject, ["repositories", String(id), "items"], query),
      asking,
    );
    if (item.kind === "done") return done(true);
    return item.reason === HTTP.notFound ? done(false) : item;
  },
};
