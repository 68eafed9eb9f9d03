const UNITS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration as Go programs write it: `1h30m`, `1.5h`, `-2s`, `0`; undefined when it is none. A unit is needed, days are none. */
export function parseGoDuration(text: string): number | undefined {
  const [, sign, rest = ""] = /^([+-]?)(.+)$/.exec(text) ?? [];
  if (rest === "0") return 0;
  if (!/^((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/.test(rest) || rest.length > 64) return undefined;
  let total = 0;
  for (const [, number, unit] of rest.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) total += Number(number) * UNITS[unit!]!;
  return sign === "-" ? -total : total;
}
