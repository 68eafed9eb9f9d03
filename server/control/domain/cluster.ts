import { HOME_NAME, isHomeAddress } from "../../base/home-cluster.ts";
import type { Schemas } from "./nouns.ts";
import type { Fault } from "./problem.ts";

type Spec = Schemas["ClusterSpec"];

const AT_HOME =
  "`server` is the agent's own cluster, which the agent reaches by its own account: leave this field out. Applications that name no cluster go there.";

/** What is wrong between the fields of a cluster: it signs in in one way, and the agent's own cluster takes no way to sign in at all. */
export function clusterFaults(spec: Spec): Fault[] {
  const { awsAuth, exec, credentials = {} } = spec;
  if (isHomeAddress(spec.server)) return homeFaults(spec);
  if (awsAuth && exec) return [{ pointer: "/spec/exec", detail: "`awsAuth` signs in already: give one of them." }];
  const way = awsAuth ? "awsAuth" : exec ? "exec" : undefined;
  const other = (["bearerToken", "password", "clientKeyData"] as const).find((name) => credentials[name]);
  return way && other
    ? [{ pointer: `/spec/credentials/${other}`, detail: `\`${way}\` signs in already: leave out it or \`${other}\`.` }]
    : [];
}

/** Whatever sits between the agent and its own cluster would see what all applications deploy there. */
function homeFaults(spec: Spec): Fault[] {
  const fields = ["proxyUrl", "insecure", "caData", "serverName", "awsAuth", "exec", "sealedCredentials"] as const;
  const given: string[] = fields.filter((field) => spec[field]);
  const credentials = Object.entries(spec.credentials ?? {}).flatMap(([name, value]) => (value ? [`credentials/${name}`] : []));
  return [...given, ...credentials].map((field) => ({ pointer: `/spec/${field}`, detail: AT_HOME }));
}

/** Why a cluster may not have its id. */
export function clusterIdFaults(id: string): Fault[] {
  const detail = `\`${HOME_NAME}\` always means the agent's own cluster and cannot be registered: choose another id, or leave out \`cluster\` in applications.`;
  return id === HOME_NAME ? [{ pointer: "/id", detail }] : [];
}
