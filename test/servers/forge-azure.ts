import type { Call, Forge, Reply } from "./forge.ts";
import { branches, has } from "./forge-browse.ts";

export const AZURE_ORGANIZATION = "acme";
const ID = "ba2967cc-02c2-414c-8d10-1b99197cbaa6";

const refused = (status: number, typeKey: string, message: string): Reply => ({
  status,
  json: {
    $id: "1",
    innerException: null,
    message,
    typeName: `Microsoft.TeamFoundation.Git.Server.${typeKey}`,
    typeKey,
    errorCode: 0,
  },
});

/** Azure DevOps, as https://learn.microsoft.com/rest/api/azure/devops/git has it: errors have a `typeKey`, pull requests `$top` and `$skip`. */
export async function azureRoutes(forge: Forge, call: Call): Promise<Reply | undefined> {
  const path = decodeURIComponent(call.path);
  const [project, name] = forge.name.split("/") as [string, string];
  if (!call.query.has("api-version"))
    return refused(400, "VssVersionNotSpecifiedException", "No api-version was supplied.");
  const root = `/${AZURE_ORGANIZATION}/${project}/_apis/git`;
  if (!path.startsWith(`${root}/`))
    return refused(
      404,
      "ProjectDoesNotExistWithNameException",
      "TF200016: The following project does not exist: other.",
    );
  const at = path.slice(root.length);
  const list = (value: unknown[]): Reply => ({ status: 200, json: { count: value.length, value } });
  if (at === "/repositories") {
    const one = {
      id: ID,
      name,
      defaultBranch: "refs/heads/main",
      remoteUrl: forge.cloneUrl,
      sshUrl: "git@ssh.dev.azure.com:v3/x",
    };
    const off = { ...one, id: "c", name: "off", isDisabled: true };
    return list([one, { id: "b", name: "empty", remoteUrl: forge.cloneUrl }, off]);
  }
  if (at === `/repositories/${name}/stats/branches`) {
    const all = (await branches(forge)).map((one) => ({
      name: one.name,
      commit: { commitId: one.sha },
      isBaseVersion: one.name === "main",
    }));
    const wanted = call.query.get("name");
    return wanted === null ? list(all) : { status: 200, json: all.find((one) => one.name === wanted) };
  }
  if (at === `/repositories/${ID}/items`) {
    const object = `refs/heads/${call.query.get("versionDescriptor.version")}:${call.query.get("path")?.slice(1)}`;
    return (
      (await has(forge, object)) ?? refused(404, "GitItemNotFoundException", "TF401174: The item could not be found.")
    );
  }
  if (at !== "/pullrequests")
    return refused(404, "GitRepositoryNotFoundException", "TF401019: The Git repository does not exist.");
  const [top, skip] = ["$top", "$skip"].map((one) => Number(call.query.get(one) ?? (one === "$top" ? 101 : 0)));
  const tips = new Map((await branches(forge)).map((one) => [one.name, one.sha]));
  const open = forge.pulls.filter(({ state }) => state === "open");
  const shown = open.map((pull) => ({
    pullRequestId: pull.number,
    repository: { id: ID, name },
    status: "active",
    title: pull.title,
    sourceRefName: `refs/heads/${pull.branch}`,
    targetRefName: `refs/heads/${pull.base}`,
    lastMergeSourceCommit: { commitId: tips.get(pull.branch) },
    createdBy: { displayName: "Octo Cat", uniqueName: "octo@example.com" },
    ...(pull.labels ? { labels: pull.labels.map((label) => ({ id: label, name: label, active: true })) } : {}),
  }));
  const elsewhere = { ...shown[0], pullRequestId: 900, repository: { id: "d", name: "elsewhere" } };
  return list([elsewhere, ...shown].slice(skip!, skip! + top!));
}
