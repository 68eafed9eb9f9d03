import { validateClusterSpec, validateRepositorySpec } from "../../../../openapi/contract/validators.js";
import type { KubeObject } from "../../../kube/object.ts";
import { field } from "../credentials/secrets.ts";
import { defined } from "../deliveries/spec.ts";
import { expressible } from "./expressible.ts";
import type { Imported } from "./import.ts";
import { withoutUserInfo } from "./user-info.ts";

const AGENT = "agent";
// The only fields read from such a Secret. Every other field may be a credential: only its name is reported.
const REPOSITORY = ["url", "type", "project", "name"];
const CLUSTER = ["name", "server", "project", "namespaces", "clusterResources"];

/** A repository's Secret: its address and type. */
export function importRepository(secret: KubeObject): Imported {
  const url = field(secret, "url") ?? "";
  const address = withoutUserInfo(url);
  const type = field(secret, "enableOCI") === "true" ? "oci" : (field(secret, "type") ?? "git");
  const other = otherFields(secret, REPOSITORY);
  return finish(validateRepositorySpec, { url: address, type }, address === url ? other : [...other, "url"]);
}

/** A cluster's Secret: its address, and the namespaces that it is limited to. */
export function importCluster(secret: KubeObject): Imported {
  const given = field(secret, "server") ?? "";
  const server = withoutUserInfo(given);
  const namespaces = (field(secret, "namespaces") ?? "")
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  const limits = namespaces.length
    ? { namespaces, clusterResources: field(secret, "clusterResources") === "true" }
    : {};
  const other = otherFields(secret, CLUSTER);
  const name = field(secret, "name");
  return {
    ...finish(validateClusterSpec, { server, ...limits }, server === given ? other : [...other, "server"]),
    cluster: { ...(name ? { name } : {}), ...(server ? { server } : {}) },
  };
}

/** The AppProject that a repository or a cluster belongs to. */
export const projectOfSecret = (secret: KubeObject): string | undefined => field(secret, "project");

const otherFields = (secret: KubeObject, known: readonly string[]): string[] =>
  Object.keys((secret.data ?? {}) as object).filter((name) => !known.includes(name));

function finish(check: Parameters<typeof expressible>[0], given: object, other: string[]): Imported {
  const expressed = expressible<Record<string, unknown>>(check, { ...given, agent: AGENT });
  if (!expressed) return { inexpressible: [...new Set([...other, "spec"])].sort() };
  const { agent: _, ...spec } = expressed.spec;
  return { spec: defined(spec), inexpressible: [...new Set([...other, ...expressed.lost])].sort() };
}
