import { type Fault, isObject, isText, type Json } from "../fault.ts";
import { HOME_NAME, isHomeAddress } from "./home-cluster.ts";

export const AT_HOME =
  "`server` is the agent's own cluster, which the agent reaches by its own account: leave this field out. Applications that name no cluster go there.";

/** Whatever sits between the agent and its own cluster would see what all applications deploy there. */
export function clusterFaults(spec: Json): Fault[] {
  if (!isText(spec.server) || !isHomeAddress(spec.server)) return [];
  const fields = ["proxyUrl", "insecure", "caData", "serverName", "awsAuth", "exec", "sealedCredentials"].filter(
    (field) => spec[field],
  );
  const credentials = isObject(spec.credentials) ? Object.entries(spec.credentials) : [];
  const given = credentials.flatMap(([name, value]) => (value ? [`credentials/${name}`] : []));
  return [...fields, ...given].map((field) => ({ pointer: `/${field}`, detail: AT_HOME }));
}

/** Why a cluster may not have its id. */
export function clusterIdFault(id: string): string | undefined {
  return id === HOME_NAME
    ? `\`${HOME_NAME}\` always means the agent's own cluster and cannot be registered: choose another id, or leave out \`cluster\` in applications.`
    : undefined;
}
