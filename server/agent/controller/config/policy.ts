import { isDeepStrictEqual } from "node:util";
import { parseGoDuration } from "../../../base/lang/duration.ts";
import {
  type Application,
  type ApplicationCondition,
  deployedSources,
  type OperationState,
  type ResourceStatus,
  type Retry,
  revisionsOf,
  type SyncStatusCode,
  sourcesOf,
} from "../application.ts";

/** Why a successful sync skipped an object. */
export const KIND_UNSEEN = "KindUnseen";

/** What automated sync decides to do now. */
export type Decision =
  | { do: "nothing" }
  | { do: "sync"; attempts: number; onlyOutOfSync: boolean }
  | { do: "wait"; afterMs: number }
  | { do: "refuse"; condition: ApplicationCondition };

export interface Situation {
  app: Application;
  status: SyncStatusCode;
  /** What a sync could change: objects out of sync, without those that belong to another application. */
  outOfSync: readonly Partial<ResourceStatus>[];
  revisions: string[];
  /** Labels or annotations of the namespace must change. */
  namespaceChanged?: boolean;
  /** Objects of the inventory, and how many of them this revision no longer has. */
  inventory: number;
  prunable: number;
  now: number;
}

// Self-heal waits 2 s, 6 s, 18 s … 300 s between attempts, and starts from the first after a quiet 330 s, as Argo CD does.
const HEAL = { firstMs: 2_000, factor: 3, capMs: 300_000, cooldownMs: 330_000 };
// Fewer than this many are an ordinary change, however small the application.
const SHRINK_MINIMUM = 3;

/** The rules of automated sync, as one table read from the top. */
export function decide(s: Situation): Decision {
  const { app } = s;
  const automated = app.spec.syncPolicy?.automated;
  if (!automated || automated.enabled === false) return { do: "nothing" };
  if (app.operation || isOpen(app.status?.operationState) || app.metadata.deletionTimestamp) return { do: "nothing" };
  if (s.status !== "OutOfSync") return { do: "nothing" };
  const changed = s.outOfSync;
  if (changed.length === 0 && !s.namespaceChanged) return { do: "nothing" };
  if (!automated.prune && changed.length > 0 && changed.every((r) => r.requiresPruning)) return { do: "nothing" };

  // One attempt for each revision and source: what failed once would fail again.
  const last = app.status?.operationState;
  const revision = s.revisions.join(", ");
  const attempted =
    last?.syncResult !== undefined &&
    !last.operation.sync?.dryRun &&
    isDeepStrictEqual(revisionsOf(last.syncResult), s.revisions) &&
    isDeepStrictEqual(deployedSources(last.syncResult), sourcesOf(app)) &&
    !wasLeft(last, changed);
  if (attempted && (last.phase === "Failed" || last.phase === "Error")) {
    return refuse(
      "SyncError",
      firstReason(last) ?? "SyncFailed",
      `Failed last sync attempt to [${revision}]: ${last.message ?? ""}`,
    );
  }
  let attempts = 0;
  if (attempted) {
    if (!automated.selfHeal) return { do: "nothing" };
    const finished = Date.parse(last.finishedAt ?? "") || 0;
    attempts = s.now - finished > HEAL.cooldownMs ? 0 : (last.operation.sync?.autoHealAttemptsCount ?? 0);
    const waitMs = attempts === 0 ? 0 : Math.min(HEAL.capMs, HEAL.firstMs * HEAL.factor ** (attempts - 1));
    const left = finished + waitMs - s.now;
    if (left > 0) return { do: "wait", afterMs: left };
    attempts++;
  }

  // Nothing is deleted without certainty.
  if (automated.prune && s.prunable > 0) {
    if (s.prunable >= s.inventory && changed.every((r) => r.requiresPruning) && !automated.allowEmpty) {
      return refuse(
        "SyncError",
        "PruneWouldEmpty",
        `Skipping sync attempt to ${revision}: auto-sync will wipe out all resources`,
      );
    }
    if (s.prunable >= SHRINK_MINIMUM && s.prunable * 2 > s.inventory && !automated.allowEmpty) {
      return refuse(
        "SyncError",
        "PruneNeedsConsent",
        `Skipping sync attempt to ${revision}: it would prune ${s.prunable} of ${s.inventory} resources; sync with prune by hand to agree, or set automated.allowEmpty`,
      );
    }
  }
  return { do: "sync", attempts, onlyOutOfSync: attempted };
}

/** Whether the present differences are only in objects that the last sync could not read. */
function wasLeft(last: OperationState, changed: Situation["outOfSync"]): boolean {
  const id = ({
    group = "",
    kind = "",
    namespace = "",
    name = "",
  }: Pick<Partial<ResourceStatus>, "group" | "kind" | "namespace" | "name">) => `${group}/${kind}/${namespace}/${name}`;
  const left = last.syncResult?.resources?.filter(({ reason }) => reason === KIND_UNSEEN).map(id);
  return Boolean(left?.length) && changed.some((row) => left!.includes(id(row)));
}

export const isOpen = (state: OperationState | undefined): boolean =>
  state?.phase === "Running" || state?.phase === "Terminating";

/** The constant of the first object that failed, so that a machine need not read the message. */
export const firstReason = (state: OperationState): string | undefined =>
  state.syncResult?.resources?.find((r) => r.status === "SyncFailed")?.reason;

function refuse(type: string, reason: string, message: string): Decision {
  return { do: "refuse", condition: { type, reason, message } };
}

// The longest of Go's durations, 292 years: a time beyond what a date holds could not be written down.
const LONGEST_WAIT_MS = 9_223_372_036_854;

/** When attempt number `count` (from 1) may start after a failure; undefined when there are no more. */
export function retryDelay(retry: Retry | undefined, count: number): number | undefined {
  if (!retry?.limit || (retry.limit > 0 && count > retry.limit)) return undefined;
  const wait = retryWait(retry, count - 1);
  if (typeof wait !== "number") return undefined;
  return wait > 0 ? Math.min(wait, LONGEST_WAIT_MS) : 0;
}

/** Milliseconds before the next attempt after `count` retries; a text is the error of the back-off. A maximum of 0 means no maximum. */
export function retryWait(retry: Retry | undefined, count: number): number | string {
  const { factor, ...given } = retry?.backoff ?? {};
  // An empty text counts as absent.
  const [duration = "5s", maxDuration = "3m"] = [given.duration, given.maxDuration].map((text) =>
    text === "" ? undefined : text,
  );
  const [first, most] = [seconds(duration), seconds(maxDuration)];
  if (first === undefined) return `unable to parse ${duration} as a duration`;
  if (most === undefined) return `unable to parse ${maxDuration} as a duration`;
  const wait = first * (factor ?? 2) ** count;
  return most > 0 ? Math.min(most, wait) : wait;
}

const seconds = (text: string | number): number | undefined =>
  /^[+-]?\d+$/.test(String(text)) ? Number(text) * 1_000 : parseGoDuration(String(text));
