import { clusterIdFault } from "../../../../openapi/rules/argo/cluster.ts";
import { isHomeAddress } from "../../../../openapi/rules/argo/home-cluster.ts";
import type { Schemas } from "../nouns.ts";
import type { Fault } from "../problem.ts";

type Spec = Schemas["ClusterSpec"];

/** What is wrong between the fields of a cluster: it signs in in one way. The agent's own cluster has rules that the provider checks too. */
export function clusterFaults(spec: Spec): Fault[] {
  const { awsAuth, exec, credentials = {} } = spec;
  if (isHomeAddress(spec.server)) return [];
  if (awsAuth && exec) return [{ pointer: "/spec/exec", detail: "`awsAuth` signs in already: give one of them." }];
  const program = exec ? "exec" : undefined;
  const way = awsAuth ? "awsAuth" : program;
  const other = (["bearerToken", "password", "clientKeyData"] as const).find((name) => credentials[name]);
  return way && other
    ? [
        {
          pointer: `/spec/credentials/${other}`,
          detail: `\`${way}\` signs in already: leave out this or \`${other}\`.`,
        },
      ]
    : [];
}

/** Why a cluster may not have its id. */
export function clusterIdFaults(id: string): Fault[] {
  const detail = clusterIdFault(id);
  return detail === undefined ? [] : [{ pointer: "/id", detail }];
}
