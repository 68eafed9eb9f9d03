import type { Schemas } from "./nouns.ts";
import type { Fault } from "./problem.ts";

/** What is wrong between the fields of a cluster: it signs in in one way. */
export function clusterFaults({ awsAuth, exec, credentials = {} }: Schemas["ClusterSpec"]): Fault[] {
  if (awsAuth && exec) return [{ pointer: "/spec/exec", detail: "`awsAuth` signs in already: give one of them." }];
  const way = awsAuth ? "awsAuth" : exec ? "exec" : undefined;
  const other = (["bearerToken", "password", "clientKeyData"] as const).find((name) => credentials[name]);
  return way && other
    ? [{ pointer: `/spec/credentials/${other}`, detail: `\`${way}\` signs in already: leave out it or \`${other}\`.` }]
    : [];
}
