import { fallsBetween, parseCron } from "../../base/lang/cron.ts";
import { parseGoDuration } from "../../base/lang/duration.ts";
import { matchGlob } from "../../base/lang/glob.ts";
import { zoneOffset } from "../../base/lang/zone.ts";
import type { SyncWindow } from "../model/generated/types.ts";

export type { SyncWindow };

/** What windows look at of an application. */
export interface Windowed {
  name: string;
  namespace: string;
  server: string;
  clusterName: string;
}

export interface WindowVerdict {
  /** Windows that concern the application. */
  matching: number;
  canSyncAuto: boolean;
  canSyncManual: boolean;
  /** Windows that hold a sync back now, for messages. */
  blocking: SyncWindow[];
}

/** A window longer than a year is as good as always. */
const MAX_DURATION_MS = 366 * 86_400_000;

// Of all windows together, some 30 ms. A window that is not judged by then concerns the application.
const MAX_STEPS = 1_000_000;

/** The windows that concern an application: by name, namespace or cluster; with `andOperator` by all of the lists that are given. */
export function windowsFor(windows: readonly SyncWindow[], app: Windowed): SyncWindow[] {
  const budget = { left: MAX_STEPS };
  const fits = (globs: string[], text: string) =>
    text !== "" && globs.some((glob) => matchGlob(glob, text, "", budget));
  return windows.filter(({ applications = [], namespaces = [], clusters = [], andOperator }) => {
    const hits = [
      applications.length ? fits(applications, app.name) : undefined,
      namespaces.length ? fits(namespaces, app.namespace) : undefined,
      clusters.length ? fits(clusters, app.clusterName) || fits(clusters, app.server) : undefined,
    ].filter((hit) => hit !== undefined);
    if (budget.left < 0) return true;
    return andOperator ? hits.length > 0 && hits.every(Boolean) : hits.some(Boolean);
  });
}

/**
 * Whether an application may be synced at a moment. An active deny beats everything; without one an active allow is enough; where there
 * are allows and none is active, it may not. By hand it may if every blocking window permits manual syncs.
 * `since`: the start of an operation that runs already, for windows with `syncOverrun`. A text is the error of a window.
 */
export function judgeWindows(
  windows: readonly SyncWindow[],
  app: Windowed,
  now: number,
  since?: number,
): WindowVerdict | string {
  const mine = windowsFor(windows, app);
  const at = verdictAt(mine, now);
  if (typeof at === "string" || since === undefined || at.canSyncAuto) return at;
  // A sync that was allowed to begin may end, if every blocking window has `syncOverrun`.
  const then = verdictAt(mine, since);
  const over = typeof then !== "string" && then.canSyncAuto && at.blocking.every(({ syncOverrun }) => syncOverrun);
  return over ? { ...at, canSyncAuto: true } : at;
}

function verdictAt(mine: readonly SyncWindow[], now: number): WindowVerdict | string {
  const active = { allow: [] as SyncWindow[], deny: [] as SyncWindow[] };
  const inactiveAllows: SyncWindow[] = [];
  for (const window of mine) {
    const open = isActive(window, now);
    if (typeof open === "string") return open;
    if (window.kind === "deny") {
      if (open) active.deny.push(window);
    } else if (window.kind === "allow") (open ? active.allow : inactiveAllows).push(window);
  }
  const matching = mine.length;
  const closed = active.allow.length ? [] : inactiveAllows;
  const blocking = active.deny.length ? active.deny : closed;
  if (blocking.length === 0) return { matching, canSyncAuto: true, canSyncManual: true, blocking };
  return {
    matching,
    canSyncAuto: false,
    canSyncManual: blocking.every(({ manualSync }) => manualSync === true),
    blocking,
  };
}

/** A window is open strictly within its time: at its first second it is not yet. */
function isActive({ schedule = "", duration = "", timeZone = "" }: SyncWindow, now: number): boolean | string {
  const cron = parseCron(schedule);
  if (typeof cron === "string") return `invalid sync windows: cannot parse schedule '${schedule}': ${cron}`;
  const length = parseGoDuration(duration);
  if (length === undefined)
    return `invalid sync windows: cannot parse duration '${duration}': it is not a duration, as 1h30m`;
  // The offset of this moment counts for the whole window, also where the clocks change within it.
  const until = now + zoneOffset(timeZone, now);
  const since = until - Math.min(Math.max(length, 0), MAX_DURATION_MS);
  // A zone of the schedule's own comes on top, each moment by its clocks.
  const [from, to] = [since, until].map((at) => at + zoneOffset(cron.zone ?? "", at));
  return fallsBetween(cron, from!, to!);
}
