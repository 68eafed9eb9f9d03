import type { Failure } from "../../../base/outcome.ts";
import type { Application, OperationState } from "../application.ts";
import type { Verdicts } from "../compare/compare.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";

/** What a step of a sync works with. */
export interface SyncInput {
  app: Application;
  state: OperationState;
  targets: readonly CompareTarget[];
  destination: Destination;
  verdicts: Verdicts;
  /** Whether the operation may prune: its own flag, or the automated policy. */
  prune: boolean;
  /** Kinds that cannot be seen: their objects are left alone. */
  unseen: ReadonlyMap<string, Failure>;
  /** Between a wave and the next one, in milliseconds. */
  waveDelayMs?: number;
  now(): string;
}

export interface Advanced {
  /** The state to be written. While `phase` is `Running` the caller comes again when something changed. */
  state: OperationState;
  /** Whether the next step waits for nothing but that this one is written down. */
  soon: boolean;
}
