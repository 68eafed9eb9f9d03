export { parseWait as parseDuration } from "../../openapi/rules/duration.ts";

/** A duration for people: `1h30m`, `45s`. */
export function printDuration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return [h && `${h}h`, m && `${m}m`, (s || !(h || m)) && `${s}s`].filter(Boolean).join("");
}
