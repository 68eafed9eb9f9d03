import type { KubeClient } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { RepoApi } from "../../repo/types.ts";
import type { ChartLookup, Log } from "../deps.ts";
import type { Shard } from "./shard.ts";

export interface ControllerOptions {
  home: KubeClient;
  /** Where the Applications and the Secrets are. */
  namespace: string;
  /** Where else there may be Applications: names and patterns; without it what `argocd-cmd-params-cm` says. */
  applicationNamespaces?: readonly string[];
  /** Where else there may be sets of them. */
  setNamespaces?: readonly string[];
  /** Namespaces this program may manage; empty for all. */
  managed?: readonly string[];
  repo: RepoApi;
  lookup?: ChartLookup;
  workers?: number;
  log: Log;
  signal: AbortSignal;
  now?: () => number;
  /** Which of the applications are this one's; without it all. */
  shard?: Shard;
  /** Of this program: how the Redis of argocd-server is reached. */
  env?: NodeJS.ProcessEnv;
  /** Between two looks at a repository, in milliseconds; without it as `argocd-cm` says, else two to three minutes. */
  pollMs?: number;
}

/** Other parts of this process that need the applications: one watch serves all. */
export interface Follower {
  replace(items: KubeObject[]): void;
  change(type: string, object: KubeObject): void;
}
