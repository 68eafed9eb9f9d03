import type { HealthStatus } from "../../kube/health/health.ts";
import { type KubeObject, objectKey } from "../../kube/object.ts";
import type { ApplicationSpec, Operation, Source, SourceHydrator, SyncPolicy } from "../model/generated/types.ts";

export type {
  ApplicationSpec,
  IgnoreDifference,
  Operation,
  Retry,
  SourceHydrator,
  SyncPolicy,
} from "../model/generated/types.ts";

/** `argoproj.io/v1alpha1 Application`, as far as this program reads and writes it. */
export interface Application extends KubeObject {
  spec: ApplicationSpec;
  status?: ApplicationStatus;
  operation?: Operation;
}

export type Cause = "Manual" | "Automated" | "SelfHeal" | "Rollback";

/** In an operation's `info`: the history entry that a rollback deploys again. */
export const ROLLBACK_INFO = "outpost.dev/rollback";

/** What started an operation. */
export function causeOf({ info, initiatedBy, sync }: Operation): Cause {
  if (info?.some(({ name }) => name === ROLLBACK_INFO)) return "Rollback";
  if (!initiatedBy?.automated) return "Manual";
  return sync?.autoHealAttemptsCount ? "SelfHeal" : "Automated";
}

export type SyncStatusCode = "Synced" | "OutOfSync" | "Unknown";

export interface ResourceStatus {
  group?: string;
  version: string;
  kind: string;
  namespace?: string;
  name: string;
  status?: SyncStatusCode;
  health?: { status: HealthStatus; message?: string };
  hook?: boolean;
  requiresPruning?: boolean;
  requiresDeletionConfirmation?: boolean;
  syncWave?: number;
}

export interface ApplicationCondition {
  type: string;
  /** A constant for machines, beside the type that Argo CD has. */
  reason: string;
  message: string;
  lastTransitionTime?: string;
}

export type OperationPhase = "Running" | "Terminating" | "Failed" | "Error" | "Succeeded";

export interface ResourceResult {
  group: string;
  version: string;
  kind: string;
  namespace: string;
  name: string;
  status?: "Synced" | "SyncFailed" | "Pruned" | "PruneSkipped";
  message?: string;
  /** A constant beside the message, when it failed. */
  reason?: string;
  hookType?: string;
  hookPhase?: OperationPhase;
  syncPhase?: string;
  images?: string[];
}

/** What a sync works with, as Argo CD writes it: one source with its revision, or several with theirs. */
export interface Deployed {
  revision?: string;
  source?: Source;
  revisions?: string[];
  sources?: Source[];
}

export interface OperationState {
  operation: Operation;
  phase: OperationPhase;
  message?: string;
  syncResult?: Deployed & {
    resources?: ResourceResult[];
    managedNamespaceMetadata?: SyncPolicy["managedNamespaceMetadata"];
  };
  startedAt: string;
  finishedAt?: string;
  retryCount?: number;
}

export interface HistoryEntry extends Deployed {
  id: number;
  deployedAt: string;
  deployStartedAt?: string;
  initiatedBy?: Operation["initiatedBy"];
  cause?: Cause;
  images?: string[];
}

export interface ApplicationStatus {
  sync?: { status: SyncStatusCode; comparedTo?: unknown; revision?: string; revisions?: string[] };
  health?: { status: HealthStatus; lastTransitionTime?: string };
  resources?: ResourceStatus[];
  conditions?: ApplicationCondition[];
  operationState?: OperationState;
  history?: HistoryEntry[];
  summary?: { images?: string[]; externalURLs?: string[]; isAppOfApps?: boolean; workloads?: object[] };
  sourceType?: string;
  sourceTypes?: string[];
  reconciledAt?: string;
  observedGeneration?: number;
  controllerNamespace?: string;
  resourceHealthSource?: string;
}

/** Annotations, labels and finalizers with a meaning for the controller. */
export const META = {
  refresh: "argocd.argoproj.io/refresh",
  /** On a cluster's Secret it applies to every application that deploys to that cluster. */
  skipReconcile: "argocd.argoproj.io/skip-reconcile",
  trackingId: "argocd.argoproj.io/tracking-id",
  /** The installation that an object belongs to, if several share a cluster. */
  installationId: "argocd.argoproj.io/installation-id",
  syncOptions: "argocd.argoproj.io/sync-options",
  compareOptions: "argocd.argoproj.io/compare-options",
  syncWave: "argocd.argoproj.io/sync-wave",
  hook: "argocd.argoproj.io/hook",
  hookDelete: "argocd.argoproj.io/hook-delete-policy",
  ignoreHealth: "argocd.argoproj.io/ignore-healthcheck",
  deletionApproved: "argocd.argoproj.io/deletion-approved",
  helmHook: "helm.sh/hook",
  helmHookDelete: "helm.sh/hook-delete-policy",
  helmWeight: "helm.sh/hook-weight",
  helmKeep: "helm.sh/resource-policy",
  /** Our own label on every managed object: the selector of the watches. */
  app: "outpost.dev/app",
  /** The object's id in the service, and its scope there. */
  id: "outpost.dev/id",
  scope: "outpost.dev/scope",
  /** Applications that must be Synced and Healthy before this one syncs by itself. */
  dependsOn: "outpost.dev/depends-on",
  /** The account as which charts may read the destination's cluster. */
  helmLookup: "outpost.dev/helm-lookup",
  /** The files of the repository that the application reads, with semicolons between. */
  generatePaths: "argocd.argoproj.io/manifest-generate-paths",
  /** The service's generation of the object, echoed in `status.observedGeneration`. */
  generation: "outpost.dev/generation",
  /** An action on one object that a person asked for, and its result. */
  resourceAction: "outpost.dev/resource-action",
  resourceActionResult: "outpost.dev/resource-action-result",
} as const;

export const FINALIZERS = {
  plain: "resources-finalizer.argocd.argoproj.io",
  foreground: "resources-finalizer.argocd.argoproj.io/foreground",
  background: "resources-finalizer.argocd.argoproj.io/background",
  preDelete: "pre-delete-finalizer.argocd.argoproj.io",
  preDeleteCleanup: "pre-delete-finalizer.argocd.argoproj.io/cleanup",
  postDelete: "post-delete-finalizer.argocd.argoproj.io",
  postDeleteCleanup: "post-delete-finalizer.argocd.argoproj.io/cleanup",
} as const;

/** Where the objects come from, in order. */
export const sourcesOf = ({ spec }: Application): Source[] => {
  if (spec.sourceHydrator) return [hydratedSource(spec.sourceHydrator)];
  if (spec.sources?.length) return spec.sources;
  return spec.source ? [spec.source] : [];
};

/** The keys of the objects that an application's status names. */
export const listedOf = ({ status }: Application): Set<string> =>
  new Set(
    (status?.resources ?? []).map(({ group = "", kind, namespace = "", name }) =>
      objectKey(group, kind, namespace, name),
    ),
  );

/** Whether an application has a list of sources, and not one alone. */
export const hasSeveral = ({ spec }: Pick<Application, "spec">): boolean =>
  !spec.sourceHydrator && Boolean(spec.sources?.length);

/** The branch that the user's pipeline renders into. */
const hydratedSource = ({ drySource, syncSource }: SourceHydrator): Source => ({
  repoURL: syncSource?.repoURL || drySource?.repoURL,
  path: syncSource?.path,
  targetRevision: syncSource?.targetBranch,
});

/** Sources and revisions under the names that an application with one source, or with several, has for them. */
export const deployedOf = (app: Pick<Application, "spec">, sources: Source[], revisions: string[]): Deployed =>
  hasSeveral(app) ? { sources, revisions } : { source: sources[0], revision: revisions[0] };

export const revisionsOf = (deployed: Deployed | undefined): string[] =>
  deployed?.revisions ?? (deployed?.revision ? [deployed.revision] : []);

export const deployedSources = (deployed: Deployed | undefined): Source[] =>
  deployed?.sources ?? (deployed?.source ? [deployed.source] : []);
