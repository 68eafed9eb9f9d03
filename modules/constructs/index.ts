/** The public door of the constructs: what users import. */
export * from "./agent.ts";
export * from "./app-project.ts";
export * from "./application.ts";
export * from "./application-set.ts";
export * from "./argo-project-mapping.ts";
/** The provider's own resources, one class each. */
export * as l1 from "./bindings/index.ts";
export { OutpostProvider, type OutpostProviderConfig } from "./bindings/provider.ts";
export * from "./certificate.ts";
export * from "./cluster.ts";
export type { AzureServicePrincipalProps, GithubAppProps, SignInProps } from "./credentials.ts";
export * from "./delegate.ts";
export * from "./gnupg-key.ts";
export * from "./kubernetes-namespace.ts";
export * from "./namespace.ts";
export * from "./pipeline.ts";
export * from "./repository.ts";
export * from "./repository-credential.ts";
export * from "./webhook.ts";
export { type WorkerInstallProps, WorkerRelease, type WorkerReleaseProps } from "./worker.ts";
