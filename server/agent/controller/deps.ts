import type { KubeClient } from "../../kube/client.ts";
import type { RepoService } from "../repo/service.ts";
import type { RepoApi } from "../repo/types.ts";
import type { Eyes } from "./cluster/reader.ts";
import type { Repositories } from "./config/repositories.ts";
import type { Destination, Destinations } from "./destination.ts";
import type { Memory } from "./memory.ts";
import type { Projects } from "./projects.ts";
import type { Settings } from "./settings.ts";
import type { Store } from "./status/store.ts";

/** Renders charts that may use `lookup`; the repo server has no access to a cluster and is not used. */
export type ChartLookup = () => Promise<Pick<RepoService, "renderReading">>;

/** How a cluster is read as an account. */
export type ReadAs = (destination: Destination, account: string) => Eyes;

/** Everything `reconcile` works with; one object, each part by name. */
export interface Deps {
  home: KubeClient;
  namespace: string;
  repo: RepoApi;
  /** Renders charts that look things up; without it such charts are refused. */
  lookup?: ChartLookup;
  /** How charts read as an account if the program may not impersonate it directly. */
  readAs?: ReadAs;
  repositories: Repositories;
  projects: Projects;
  settings: Settings;
  destinations: Destinations;
  store: Store;
  memory: Map<string, Memory>;
  log: Log;
  /** Resolves when the client that asked for a refresh can read its result, or soon after. */
  shown?(name: string): Promise<void>;
  /** Between a wave of a sync and the next one, in milliseconds; none without it. */
  waveDelayMs?: number;
  now(): number;
}

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** When to look again; nothing means at the next change or refresh. */
export interface Next {
  afterMs: number;
}
