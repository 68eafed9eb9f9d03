import { beginning } from "../../../base/lang/beginning.ts";
import type { Schemas } from "../nouns.ts";

type Status = Schemas["ApplicationStatus"];

/** A sync that has ended. */
export interface FinishedSync {
  startedAt: string;
  finishedAt: string;
  outcome: "Succeeded" | "Failed";
  cause?: string | undefined;
  initiatedBy?: string | undefined;
  message?: string | undefined;
  revision?: string | undefined;
  revisions?: string[] | undefined;
  images?: string[] | undefined;
  /** Its entry of the application's own history. */
  historyId?: number | undefined;
}

/** So much of each is kept: the application's status has the rest while it is new. */
const LONGEST_MESSAGE = 1_000;
const LONGEST_TEXT = 256;
const MOST_IMAGES = 50;
const MOST_REVISIONS = 32;
/** `revisionHistoryLimit` is at most 100. */
const MOST_ENTRIES = 100;

/**
 * The syncs that a report tells of and the one before did not. The application's history tells of those that succeeded, also while the agent was
 * away; the operation tells of the last one, also if it failed. Where both tell of the same sync, they are one.
 */
export function finishedSyncs(before: Status, after: Status): FinishedSync[] {
  const known = new Set((before.history ?? []).map(entryKey));
  const entries = (after.history ?? []).slice(-MOST_ENTRIES).filter((entry) => !known.has(entryKey(entry)));
  const found = new Map<string, FinishedSync>();
  for (const sync of [...entries.map(ofEntry), ofOperation(before, after)]) {
    if (!sync) continue;
    const same = found.get(sync.startedAt);
    found.set(sync.startedAt, same ? { ...sync, ...defined(same) } : sync);
  }
  return [...found.values()];
}

const entryKey = ({ id, deployedAt }: Schemas["HistoryEntry"]): string => `${id} ${deployedAt}`;

function ofEntry(entry: Schemas["HistoryEntry"]): FinishedSync | undefined {
  const [startedAt, finishedAt] = [time(entry.deployStartedAt ?? entry.deployedAt), time(entry.deployedAt)];
  if (!startedAt || !finishedAt) return undefined;
  return {
    startedAt,
    finishedAt,
    outcome: "Succeeded",
    cause: entry.cause,
    initiatedBy: cut(entry.initiatedBy),
    revision: cut(entry.revision),
    revisions: entry.revisions?.slice(0, MOST_REVISIONS).flatMap((one) => cut(one) ?? []),
    images: entry.images?.slice(0, MOST_IMAGES),
    historyId: Number.isSafeInteger(entry.id) && entry.id >= 0 && entry.id < 2 ** 31 ? entry.id : undefined,
  };
}

const ENDED: Readonly<Record<string, FinishedSync["outcome"]>> = {
  Succeeded: "Succeeded",
  Failed: "Failed",
  Error: "Failed",
};

function ofOperation(before: Status, { operation }: Status): FinishedSync | undefined {
  // A dry run deployed nothing, and what was refused has never begun.
  if (!operation || operation.dryRun) return undefined;
  const outcome = ENDED[operation.phase];
  const [startedAt, finishedAt] = [time(operation.startedAt), time(operation.finishedAt)];
  if (!outcome || !startedAt || !finishedAt) return undefined;
  const last = before.operation;
  if (last && ENDED[last.phase] && time(last.startedAt) === startedAt) return undefined;
  return {
    startedAt,
    finishedAt,
    outcome,
    cause: operation.cause,
    initiatedBy: cut(operation.initiatedBy),
    message: cut(operation.message, LONGEST_MESSAGE),
    revision: cut(operation.revision),
  };
}

const cut = (text: string | undefined, longest = LONGEST_TEXT): string | undefined =>
  text === undefined ? undefined : beginning(text, longest);

/** A time that every part of the service can read; an agent's clock or program may say anything. */
function time(text: string | undefined): string | undefined {
  const at = Date.parse(text ?? "");
  if (!Number.isFinite(at)) return undefined;
  const year = new Date(at).getUTCFullYear();
  // Cursors are microseconds that a number holds, and a list begins in the year 2243.
  return year >= 2000 && year < 2200 ? new Date(at).toISOString() : undefined;
}

const defined = <T extends object>(value: T): Partial<T> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Partial<T>;
