import type { HealthStatus } from "../../../kube/health/health.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { ApplicationStatus, ResourceStatus } from "../application.ts";

/** The result of observing the cluster. */
export interface Observed {
  status: "Synced" | "OutOfSync" | "Unknown";
  health: HealthStatus;
  resources: ResourceStatus[];
  /** What a sync could change. */
  outOfSync: ResourceStatus[];
  prunable: KubeObject[];
  inventory: number;
  namespaceChanged: boolean;
  summary: NonNullable<ApplicationStatus["summary"]>;
}
