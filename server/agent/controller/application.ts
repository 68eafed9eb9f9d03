import type { KubeObject } from "../kube/object.ts";
import type { Source } from "../repo/types.ts";
import type { HealthStatus } from "./health/health.ts";

/** `argoproj.io/v1alpha1 Application`, as far as this program reads and writes it. */
export interface Application extends KubeObject {
  spec: ApplicationSpec;
  status?: ApplicationStatus;
  operation?: Operation;
}

export interface ApplicationSpec {
  project?: string;
  source?: Source;
  sources?: Source[];
  destination: { server?: string; name?: string; namespace?: string };
  syncPolicy?: SyncPolicy;
  ignoreDifferences?: IgnoreDifference[];
  revisionHistoryLimit?: number;
}

export interface IgnoreDifference {
  group?: string;
  kind: string;
  name?: string;
  namespace?: string;
  jsonPointers?: string[];
  jqPathExpressions?: string[];
  managedFieldsManagers?: string[];
}

export interface SyncPolicy {
  automated?: { prune?: boolean; selfHeal?: boolean; allowEmpty?: boolean; enabled?: boolean };
  syncOptions?: string[];
  retry?: Retry;
  managedNamespaceMetadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
}

export interface Retry {
  limit?: number;
  backoff?: { duration?: string | number; factor?: number; maxDuration?: string | number };
}

export interface Operation {
  sync?: {
    revision?: string;
    prune?: boolean;
    dryRun?: boolean;
    syncStrategy?: { apply?: { force?: boolean }; hook?: { force?: boolean } };
    resources?: { group?: string; kind: string; name: string; namespace?: string }[];
    source?: Source;
    syncOptions?: string[];
    autoHealAttemptsCount?: number;
  };
  initiatedBy?: { username?: string; automated?: boolean };
  info?: { name: string; value: string }[];
  retry?: Retry;
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
}

export interface OperationState {
  operation: Operation;
  phase: OperationPhase;
  message?: string;
  syncResult?: { revision: string; source?: Source; resources?: ResourceResult[] };
  startedAt: string;
  finishedAt?: string;
  retryCount?: number;
}

export interface HistoryEntry {
  id: number;
  revision: string;
  source: Source;
  deployedAt: string;
  deployStartedAt?: string;
  initiatedBy?: Operation["initiatedBy"];
}

export interface ApplicationStatus {
  sync?: { status: SyncStatusCode; comparedTo?: unknown; revision?: string };
  health?: { status: HealthStatus; lastTransitionTime?: string };
  resources?: ResourceStatus[];
  conditions?: ApplicationCondition[];
  operationState?: OperationState;
  history?: HistoryEntry[];
  summary?: { images?: string[]; externalURLs?: string[] };
  sourceType?: string;
  reconciledAt?: string;
  observedGeneration?: number;
  controllerNamespace?: string;
  resourceHealthSource?: string;
}

/** Annotations, labels and finalizers with a meaning for the controller. */
export const META = {
  refresh: "argocd.argoproj.io/refresh",
  skipReconcile: "argocd.argoproj.io/skip-reconcile",
  trackingId: "argocd.argoproj.io/tracking-id",
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
  /** The service's generation of the object, echoed in `status.observedGeneration`. */
  generation: "outpost.dev/generation",
} as const;

export const FINALIZERS = {
  plain: "resources-finalizer.argocd.argoproj.io",
  foreground: "resources-finalizer.argocd.argoproj.io/foreground",
  background: "resources-finalizer.argocd.argoproj.io/background",
} as const;

/** The source the controller works with; several sources at once are refused by `validate`. */
export const sourceOf = (app: Application): Source | undefined => (app.spec.sources?.length ? app.spec.sources[0] : app.spec.source);
