const UNITS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A year: longer waits of a configuration are mistakes. */
const MAX_WAIT = 365 * 86_400_000;

/** Milliseconds of numbers with units, whose form was looked at. */
function sum(text: string): number {
  let total = 0;
  for (const [, number, unit] of text.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h|d)/g))
    total += Number(number) * UNITS[unit!]!;
  return total;
}

/** Milliseconds of `90s`, `5m`, `1h30m`, `2d`, as flags and the service's fields have them; undefined when the text is no duration. */
export const parseDuration = (text: string): number | undefined =>
  /^([0-9]{1,9}(ms|s|m|h|d))+$/.test(text) ? sum(text) : undefined;

/** How long to wait, as Terraform's configurations say it: fractions, no days, more than nothing and at most a year. */
export function parseWait(text: string): number | undefined {
  if (text.length > 32 || !/^(\d{1,9}(\.\d{1,3})?(ms|s|m|h))+$/.test(text)) return undefined;
  const total = sum(text);
  return total > 0 && total <= MAX_WAIT ? total : undefined;
}

/** As Go programs write it: `1h30m`, `1.5h`, `-2s`, `0`; undefined when it is not one. A unit is required, days are refused. */
export function parseGoDuration(text: string): number | undefined {
  const [, sign, rest = ""] = /^([+-]?)(.+)$/.exec(text) ?? [];
  if (rest === "0") return 0;
  if (!/^((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/.test(rest) || rest.length > 64) return undefined;
  return sign === "-" ? -sum(rest) : sum(rest);
}
