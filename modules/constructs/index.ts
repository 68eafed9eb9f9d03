/** The public door of the constructs: what users import. One construct for each noun; that list is generated from the files in `nouns/`. */
export * from "./bindings/constructs.ts";
/** The provider's own resources, one class each. */
export * as l1 from "./bindings/index.ts";
export { OutpostProvider, type OutpostProviderConfig } from "./bindings/provider.ts";
export type { AzureServicePrincipalProps, GithubAppProps, SignInProps } from "./credentials.ts";
export * from "./kubernetes-namespace.ts";
export * from "./namespace.ts";
export { type WorkerInstallProps, WorkerRelease, type WorkerReleaseProps } from "./worker.ts";
