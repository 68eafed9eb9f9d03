const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** A year: nothing here waits longer, and larger numbers are mistakes. */
const maximum = 365 * 24 * 3_600_000;

/** Milliseconds of a duration such as `90s`, `10m` or `1h30m`; undefined for other texts and for a duration of zero. */
export function parseDuration(text: string): number | undefined {
  if (text.length > 32 || !/^(\d{1,9}(\.\d{1,3})?(ms|s|m|h))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) total += Number(amount) * units[unit!]!;
  return total > 0 && total <= maximum ? total : undefined;
}

/** A duration for people: `1h30m`, `45s`. */
export function printDuration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return [h && `${h}h`, m && `${m}m`, (s || !(h || m)) && `${s}s`].filter(Boolean).join("");
}
