/** The public door of the constructs: what users import. */
export * from "./agent.ts";
export * from "./application.ts";
/** The provider's own resources, one class each. */
export * as l1 from "./bindings/index.ts";
export { OutpostProvider, type OutpostProviderConfig } from "./bindings/provider.ts";
export * from "./cluster.ts";
export * from "./delegate.ts";
export * from "./kubernetes-namespace.ts";
export * from "./namespace.ts";
export * from "./repository.ts";
export { type WorkerInstallProps, WorkerRelease, type WorkerReleaseProps } from "./worker.ts";
