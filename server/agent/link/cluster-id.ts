import { again, done, type Outcome } from "../../base/outcome.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KUBE } from "../../kube/errors.ts";
import { RESOURCES } from "../../kube/path.ts";
import { IDENTITY_SECRET } from "./identity.ts";

export interface ClusterId {
  uid: string;
  version?: string;
}

/**
 * What an agent's identity is bound to: the uid of namespace `kube-system`. An agent that may not read that takes the uid of its own
 * identity Secret: uids are given by the API server, so a copy of the Secret in another cluster has another one.
 */
export async function clusterId(client: KubeClient, namespace: string): Promise<Outcome<ClusterId>> {
  const version = await client.json<{ gitVersion?: string }>("GET", "/version");
  if (version.kind !== "done") return version;
  const about = version.value.gitVersion ? { version: version.value.gitVersion } : {};
  const system = await client.get(RESOURCES.namespace, undefined, "kube-system");
  if (system.kind === "done") return done({ uid: system.value.metadata.uid!, ...about });
  if (system.reason !== KUBE.forbidden) return again(system.reason, system.message);
  const secret = await client.get(RESOURCES.secret, namespace, IDENTITY_SECRET);
  if (secret.kind === "done") return done({ uid: secret.value.metadata.uid!, ...about });
  if (secret.reason !== KUBE.notFound) return again(secret.reason, secret.message);
  const made = await client.create(RESOURCES.secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: IDENTITY_SECRET, namespace },
    type: "Opaque",
  });
  return made.kind === "done" ? done({ uid: made.value.metadata.uid!, ...about }) : again(made.reason, made.message);
}
