import type { KubeObject } from "../object.ts";

/** From best to worst: an application is as well as its worst object. */
export const HEALTH_ORDER = ["Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown"] as const;
export type HealthStatus = (typeof HEALTH_ORDER)[number];

export interface Health {
  status: HealthStatus;
  message?: string;
}

/** How one kind tells its health from its own fields; undefined when it has none. */
export type HealthCheck = (object: KubeObject) => Health | undefined;

export const health = (status: HealthStatus, message?: string): Health => (message ? { status, message } : { status });

export interface Condition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
}

export const conditionsOf = (object: KubeObject): Condition[] =>
  Array.isArray(object.status?.conditions) ? object.status.conditions : [];
