import type { Secret } from "../../base/secret.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Log } from "../../link/log.ts";
import type { Patterns } from "./patterns.ts";

/** What every handler works with. */
export interface AgentContext {
  client: KubeClient;
  namespace: string;
  /** Of the enrolment; objects of another account are not ours. */
  account: string;
  /** The agent's own scope, `ORG/PROJECT` with `-` for none; unknown until it has enrolled. */
  scope?: string;
  /** The other namespaces that may contain applications and sets. */
  patterns?: Patterns;
  /** Objects of other namespaces that the service has delivered: the uid of its object, and `namespace/name`. Only these are the service's own there. */
  elsewhere?: Map<string, string>;
  /** Private half of the key that credentials are sealed to. */
  sealSeed: Secret;
  log: Log;
}
