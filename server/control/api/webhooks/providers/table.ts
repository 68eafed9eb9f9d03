import type { Schemas } from "../../../domain/nouns.ts";
import { azureDevOps } from "./azure-devops.ts";
import { bitbucket } from "./bitbucket.ts";
import { bitbucketServer } from "./bitbucket-server.ts";
import { dockerHub } from "./docker-hub.ts";
import { generic } from "./generic.ts";
import { ghcr } from "./ghcr.ts";
import { gitea } from "./gitea.ts";
import { github } from "./github.ts";
import { gitlab } from "./gitlab.ts";
import { harbor } from "./harbor.ts";
import type { Provider } from "./provider.ts";

export type ProviderName = Schemas["WebhookSpec"]["provider"];

/** Every provider of the contract; one that is missing here does not compile. */
export const providers: { readonly [Name in ProviderName]: Provider } = {
  github,
  gitlab,
  bitbucket,
  bitbucketServer,
  gitea,
  azureDevOps,
  dockerHub,
  ghcr,
  harbor,
  generic,
};
