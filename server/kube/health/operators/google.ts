import type { KubeObject } from "../../object.ts";
import { type Checks, firstOf, stale, waiting, when } from "../rules.ts";
import { conditionsOf, type HealthCheck, health } from "../types.ts";

const CONNECTOR = ["ConfigConnector", "ConfigConnectorContext"];
const fresh =
  (check: HealthCheck): HealthCheck =>
  (object) =>
    stale(object) ? undefined : check(object);

const tells = ({ kind, status }: KubeObject): boolean => CONNECTOR.includes(kind) && status?.healthy !== undefined;

/** Config Connector speaks by the reason of its conditions, whatever their type. */
const byReason: HealthCheck = (object) => {
  for (const { reason = "", status, message } of conditionsOf(object)) {
    if (reason === "UpToDate" && status === "True") return health("Healthy", message);
    if (reason === "UpdateFailed" || reason === "DependencyNotFound") return health("Degraded", message);
    if (reason === "DependencyNotReady") return health("Suspended", message);
  }
  return undefined;
};

export const google: Checks = {
  "*.cnrm.cloud.google.com/*": firstOf(
    fresh(
      firstOf(
        when(
          (object) => tells(object) && object.status.healthy === true,
          "Healthy",
          ({ kind }) => `${kind} is healthy`,
        ),
        when(tells, "Degraded", ({ kind }) => `${kind} is not healthy`),
        byReason,
      ),
    ),
    waiting("Update in progress"),
  ),
  "networking.gke.io/ManagedCertificate": firstOf(
    when(
      ({ status }) =>
        (status?.domainStatus ?? []).some((domain: { status?: string }) => domain.status === "FailedNotVisible"),
      "Degraded",
      "At least one certificate has failed to be provisioned",
    ),
    when(({ status }) => status?.certificateStatus === "Active", "Healthy", "All certificates are active"),
    waiting("At least one certificate is still being provisioned"),
  ),
};
