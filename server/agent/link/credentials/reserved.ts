import type { Schemas } from "../../../../openapi/client.ts";
import { HOME_NAME, isHomeAddress } from "../../../base/cloud/home-cluster.ts";
import { type Failure, stop } from "../../../base/outcome.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { nameOf, tenantOfDelivery } from "../names.ts";

const IDENTITY = "AgentIdentityReserved";
const identity = (field: string) =>
  stop(
    IDENTITY,
    `${field} signs in with the agent's own identity, which belongs to the agent's scope: give credentials, or register it in that scope`,
  );

/** Why a cluster is not written: the agent's own cluster and identity are its own, whatever the service checked before. */
export function refusesCluster(object: WorkerObject, spec: Schemas["ClusterSpec"]): Failure | undefined {
  if (nameOf({ ...object, collection: "applications" }) === HOME_NAME)
    return stop(
      "NameReserved",
      `${HOME_NAME} always means the agent's own cluster: register the cluster under another id`,
    );
  const tenant = tenantOfDelivery(object);
  if (!isHomeAddress(spec.server, process.env)) {
    if (tenant === undefined || (!spec.awsAuth && !spec.exec)) return undefined;
    return identity(spec.awsAuth ? "awsAuth" : "exec");
  }
  if (tenant !== undefined)
    return stop(
      "HomeClusterReserved",
      "server is the agent's own cluster, which only the agent's scope may register; applications that name no cluster go there",
    );
  const fields = ["proxyUrl", "insecure", "caData", "serverName", "awsAuth", "exec"] as const;
  const given: string[] = fields.filter((field) => spec[field]);
  if (object.sealed) given.push("credentials");
  return given.length
    ? stop(
        "HomeClusterReserved",
        `server is the agent's own cluster, which takes no ${given.join(", ")}: leave them out`,
      )
    : undefined;
}

/** Why a repository, or credentials for several, are not written. */
export function refusesRepository(
  object: WorkerObject,
  spec: { useAzureWorkloadIdentity?: boolean },
): Failure | undefined {
  return tenantOfDelivery(object) !== undefined && spec.useAzureWorkloadIdentity
    ? identity("useAzureWorkloadIdentity")
    : undefined;
}
