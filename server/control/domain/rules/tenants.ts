import { isHomeAddress } from "../../../base/cloud/home-cluster.ts";
import type { Collection } from "../nouns.ts";
import type { Fault } from "../problem.ts";
import type { Scope } from "../scope.ts";

type Spec = Record<string, unknown>;

const IDENTITY =
  "It signs in with the agent's own identity, which belongs to the agent's scope: give `credentials` instead, or register the object in the agent's scope.";

/** What a scope below its agent's may not set: the agent's own cluster and its identities in clouds belong to the agent's scope. */
export function tenantFaults(collection: Collection, agent: Scope, scope: Scope, spec: Spec): Fault[] {
  if (agent.org === scope.org && agent.project === scope.project) return [];
  const own = (fields: string[]): Fault[] =>
    fields.filter((field) => spec[field]).map((field) => ({ pointer: `/spec/${field}`, detail: IDENTITY }));
  if (collection === "repositories" || collection === "repositorycredentials") return own(["useAzureWorkloadIdentity"]);
  if (collection !== "clusters") return [];
  const detail =
    "This is the agent's own cluster, which only the agent's scope may register. Applications that name no cluster go there already.";
  return isHomeAddress(String(spec.server)) ? [{ pointer: "/spec/server", detail }] : own(["awsAuth", "exec"]);
}
