import type { Browse, Provider, Review } from "../world/scm.ts";
import { AZURE_DEVOPS_API, azureDevOps } from "./azure-devops.ts";
import { BITBUCKET_API, bitbucket } from "./bitbucket.ts";
import { bitbucketServer } from "./bitbucket-server.ts";
import { codeCommitProvider } from "./codecommit.ts";
import { gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { GITLAB_API, gitlab } from "./gitlab.ts";
import { byAzure, byBitbucket, github as byGithub, byToken } from "./sign-in.ts";

const SHARED = {
  github: { host: github, ...byGithub },
  gitlab: { host: gitlab, api: GITLAB_API, signIn: byToken("tokenRef", (token) => ({ "private-token": token })) },
  gitea: { host: gitea, api: "", signIn: byToken("tokenRef", (token) => ({ authorization: `token ${token}` })) },
  bitbucket: { host: bitbucket, api: BITBUCKET_API, signIn: byBitbucket },
  bitbucketServer: { host: bitbucketServer, api: "", signIn: byBitbucket },
};

/** Hosts whose repositories can be listed, by the name of their field. */
export const SCM: Record<string, Provider<Browse>> = {
  ...SHARED,
  azureDevOps: { host: azureDevOps, api: AZURE_DEVOPS_API, signIn: byAzure("accessTokenRef") },
  awsCodeCommit: codeCommitProvider,
};

/** Hosts whose pull requests can be listed. */
export const PULLS: Record<string, Provider<Review>> = {
  ...SHARED,
  azuredevops: { host: azureDevOps, api: AZURE_DEVOPS_API, signIn: byAzure("tokenRef") },
};
