import type { Failure } from "../../base/outcome.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/object.ts";
import type { RepoService } from "../repo/service.ts";
import type { RepoApi, SourceType } from "../repo/types.ts";
import type { Eyes } from "./cluster/reader.ts";
import { Verdicts } from "./compare/compare.ts";
import type { Normalised } from "./compare/normalise.ts";
import type { Repositories } from "./config/repositories.ts";
import type { Destination, Destinations } from "./destination.ts";
import type { Projects } from "./projects.ts";
import type { Settings } from "./settings.ts";
import type { Store } from "./status/store.ts";

/** Renders charts that may look things up in the cluster; the repo server, which knows no cluster, is not asked. */
export type ChartLookup = () => Promise<Pick<RepoService, "renderReading">>;

/** How a cluster is read as an account. */
export type ReadAs = (destination: Destination, account: string) => Eyes;

/** Everything `reconcile` works with; one object, each part by name. */
export interface Deps {
  home: KubeClient;
  namespace: string;
  repo: RepoApi;
  /** Renders charts that look things up; without it there is nobody to. */
  lookup?: ChartLookup;
  /** How charts read as an account, where the program may not simply act as one. */
  readAs?: ReadAs;
  repositories: Repositories;
  projects: Projects;
  settings: Settings;
  destinations: Destinations;
  store: Store;
  memory: Map<string, Memory>;
  log: Log;
  /** Resolves when who asked for a refresh finds what it has shown, or soon after. */
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

/** What is remembered of an application between two looks at it. All of it can be found out again. */
export interface Memory {
  wanted?: Wanted;
  verdicts: Verdicts;
  /** When Git was asked last. */
  askedAt: number;
  /** By the process's clock: when the application was last seen with something new in it, and when the last question to Git began. */
  newsAt: number;
  askingAt: number;
  /** By the process's clock: when a refresh was asked for, and when the look at its repository began that answered last. */
  refreshAt?: number;
  surveyedAt: number;
  /** Commits of the sources as a look at their repository has found them, where that makes other objects: to be rendered at once. */
  found?: string[];
  /** The last answer, when it was no. */
  failure?: { failure: Failure; sourceDigest: string; since: number; times: number };
  /** Objects that exist without our label, by key: looked up one by one, for applications that do not sync by themselves. */
  unlabelled: Map<string, KubeObject | undefined>;
  /** When the running operation began, if this program began it. */
  begunAt?: string;
  /** Whether it has objects that nobody may watch: it asks for them by the clock. */
  leftOut?: boolean;
  /** When all was rendered anew last, or the first look was. */
  hardAt?: number;
  /** What of the namespace belongs to no application, where the project wants to know. */
  orphans?: string[];
  orphansAt: number;
  /** Verdicts hold for these rules alone. */
  ignoring: string;
}

/** What Git says, as far as it is known. */
export interface Wanted {
  sourceDigest: string;
  key: string;
  /** Of each source, in order. */
  revisions: string[];
  sourceTypes: (SourceType | "")[];
  destination: string;
  /** Under which settings: they say how objects are marked, and which ones are left out. */
  settings: string;
  normalised: Normalised;
}

const newMemory = (): Memory => ({
  verdicts: new Verdicts(),
  askedAt: 0,
  newsAt: Number.NEGATIVE_INFINITY,
  askingAt: Number.NEGATIVE_INFINITY,
  surveyedAt: Number.NEGATIVE_INFINITY,
  orphansAt: 0,
  unlabelled: new Map(),
  ignoring: "",
});

/** The memory of an application, new when it has none. */
export function remember({ memory }: Pick<Deps, "memory">, name: string): Memory {
  let known = memory.get(name);
  if (!known) {
    known = newMemory();
    memory.set(name, known);
  }
  return known;
}

/** Forgets refusals: the next look at an application asks again. False when nothing was refused. */
export function askAgain({ memory }: Pick<Deps, "memory">, name: string): boolean {
  const known = memory.get(name);
  if (!known?.failure) return false;
  Object.assign(known, { failure: undefined, askedAt: 0 });
  return true;
}

/** When to look again; nothing means at the next change or refresh. */
export interface Next {
  afterMs: number;
}
