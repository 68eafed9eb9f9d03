import { fireAfter, fireBefore, parseCron } from "../../base/lang/cron.ts";
import { parseGoDuration } from "../../base/lang/duration.ts";
import { zoneOffset } from "../../base/lang/zone.ts";
import { judgeWindows, type SyncWindow, type Windowed, windowsFor } from "./window.ts";

// People plan by the week; what opens later is looked at again then.
const HORIZON_MS = 8 * 86_400_000;
// Windows that open and close in turns but never permit a sync: an hour of minutes is enough to see that.
const MAX_STEPS = 64;

/** When a sync that is held back now may run, as far as the next week knows. */
export function allowedFrom(
  windows: readonly SyncWindow[],
  app: Windowed,
  now: number,
  manual: boolean,
): number | undefined {
  const mine = windowsFor(windows, app);
  let at = now;
  for (let step = 0; step < MAX_STEPS; step++) {
    const next = nextChange(mine, at, now + HORIZON_MS);
    if (next === undefined) return undefined;
    at = next;
    const verdict = judgeWindows(mine, app, at);
    if (typeof verdict === "string") return undefined;
    if (manual ? verdict.canSyncManual : verdict.canSyncAuto) return at;
  }
  return undefined;
}

/** The next moment at which one of the windows opens or closes. */
function nextChange(windows: readonly SyncWindow[], now: number, until: number): number | undefined {
  const times: number[] = [];
  for (const { schedule = "", duration = "", timeZone = "" } of windows) {
    const cron = parseCron(schedule);
    const length = parseGoDuration(duration);
    if (typeof cron === "string" || length === undefined) continue;
    const shifted = zoneOffset(timeZone, now);
    const offset = shifted + zoneOffset(cron.zone ?? "", now + shifted);
    const local = now + offset;
    const opens = fireAfter(cron, local, until + offset);
    // Strictly after its first moment.
    if (opens !== undefined) times.push(opens - offset + 1);
    const last = fireBefore(cron, local, local - Math.min(length, HORIZON_MS));
    if (last !== undefined) times.push(last - offset + length);
  }
  const after = times.filter((time) => time > now && time <= until);
  return after.length ? Math.min(...after) : undefined;
}
