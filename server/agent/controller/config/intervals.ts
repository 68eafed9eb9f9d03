import { digest } from "../../../base/json/canonical.ts";
import { parseGoDuration } from "../../../base/lang/duration.ts";

/** How often Git is polled. */
export interface Intervals {
  /** Milliseconds between two periodic looks; 0: never. Events, refreshes and edits cause a look anyway. */
  everyMs: number;
  /** The most that is added to that at random, so that not all applications are looked at together. */
  jitterMs: number;
  /** Between two looks that render again whatever is known; 0: never. */
  hardMs: number;
}

// A remote is asked again after two to three minutes.
export const USUAL: Intervals = { everyMs: 120_000, jitterMs: 60_000, hardMs: 0 };
const KEYS = {
  everyMs: "timeout.reconciliation",
  jitterMs: "timeout.reconciliation.jitter",
  hardMs: "timeout.hard.reconciliation",
} as const;
// Only tests poll more often.
const MIN_MS = 1_000;
const DAY_MS = 86_400_000;

/** The settings of `argocd-cm`; unreadable ones count as absent. */
export function readIntervals(data: Readonly<Record<string, unknown>>): { intervals: Intervals; problems: string[] } {
  const intervals = { ...USUAL };
  const problems: string[] = [];
  for (const [field, key] of Object.entries(KEYS) as [keyof Intervals, string][]) {
    const said = data[key];
    if (typeof said !== "string" || said.trim() === "") continue;
    const ms = milliseconds(said.trim());
    if (ms === undefined)
      problems.push(`argocd-cm: ${key} is not a duration such as 120s, 3m or 0: ${USUAL[field] / 1_000}s counts`);
    else intervals[field] = ms > 0 && field !== "jitterMs" ? Math.max(MIN_MS, ms) : ms;
  }
  return { intervals, problems };
}

function milliseconds(text: string): number | undefined {
  const days = /^(\d{1,6})d$/.exec(text)?.[1];
  const ms = days === undefined ? parseGoDuration(text) : Number(days) * DAY_MS;
  return ms === undefined || ms < 0 || !Number.isFinite(ms) ? undefined : ms;
}

/** Until the next look; undefined for never. The same name always gets the same share, so that restarts keep the spread. */
export const waitMs = (name: string, { everyMs, jitterMs }: Intervals): number | undefined =>
  everyMs === 0 ? undefined : everyMs + shareMs(name, jitterMs);

/** The same for a look that renders again. */
export const hardWaitMs = (name: string, { hardMs, jitterMs }: Intervals): number | undefined =>
  hardMs === 0 ? undefined : hardMs + shareMs(name, jitterMs);

const shareMs = (name: string, jitterMs: number): number => {
  const ms = Math.floor(jitterMs);
  return ms === 0 ? 0 : Number.parseInt(digest(name).slice(0, 8), 16) % ms;
};
