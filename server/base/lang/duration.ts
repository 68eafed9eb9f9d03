export { parseDuration as tryParseDuration, parseGoDuration } from "../../../openapi/rules/duration.ts";

/** A short form for people: `0.4s`, `12s`, `3m05s`, `2h10m`, `5d`. */
export function showDuration(ms: number): string {
  if (ms < 0) return "0s";
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const s = Math.floor(ms / 1_000);
  if (s < 60) return `${s}s`;
  if (s < 3_600) return `${Math.floor(s / 60)}m${String(s % 60).padStart(2, "0")}s`;
  if (s < 172_800) return `${Math.floor(s / 3_600)}h${String(Math.floor((s % 3_600) / 60)).padStart(2, "0")}m`;
  return `${Math.floor(s / 86_400)}d`;
}

/** How long ago `time` was, in one unit: `12s`, `5m`, `3h`, `9d`. */
export function showAge(time: string | undefined, now = Date.now()): string {
  const at = time ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(at)) return "-";
  const s = Math.max(0, Math.floor((now - at) / 1_000));
  if (s < 120) return `${s}s`;
  if (s < 7_200) return `${Math.floor(s / 60)}m`;
  if (s < 172_800) return `${Math.floor(s / 3_600)}h`;
  return `${Math.floor(s / 86_400)}d`;
}
