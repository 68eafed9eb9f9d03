import type { Host } from "../scm.ts";
import { gitea } from "./gitea.ts";
import { GITHUB_API, github } from "./github.ts";
import { GITLAB_API, gitlab } from "./gitlab.ts";

/** Hosts that can be asked, by the name of their field; `api` is where it is unless the user says otherwise. */
export const HOSTS: Record<string, { host: Host; api: string; header(token: string): Record<string, string> }> = {
  github: { host: github, api: GITHUB_API, header: (token) => ({ authorization: `Bearer ${token}` }) },
  gitlab: { host: gitlab, api: GITLAB_API, header: (token) => ({ "private-token": token }) },
  gitea: { host: gitea, api: "", header: (token) => ({ authorization: `token ${token}` }) },
};

/** Hosts that the ecosystem knows and this program does not. */
export const OTHERS = ["bitbucket", "bitbucketServer", "azureDevOps", "azuredevops", "awsCodeCommit"];
