import type { Schemas } from "../../../../openapi/client.ts";
import { mannWhitney } from "./mann-whitney.ts";

export type Metric = Schemas["TaskParamsVerifyPrometheus"]["metrics"][number];

/** The numbers behind a verdict; all of them are shown. */
export interface Judged {
  name: string;
  verdict: "pass" | "fail" | "noData";
  /** In words with the numbers that decided. */
  why: string;
  canary: Summary;
  baseline: Summary;
  /** Change of the median as a share of the baseline's; null where that is 0. */
  shift: number | null;
  u?: number;
  z?: number;
  /** Probability of the measured difference, if canary and baseline were the same. */
  p?: number;
  exact?: boolean;
}

export interface Summary {
  samples: number;
  median: number | null;
  mean: number | null;
  minimum: number | null;
  maximum: number | null;
}

/**
 * A metric fails when the canary's samples are worse than the baseline's with the wanted confidence (Mann-Whitney U test) and its median
 * is worse by more than the tolerance: the first keeps noise out, the second what is sure but too small to matter.
 */
export function judgeMetric(metric: Metric, canary: readonly number[], baseline: readonly number[]): Judged {
  const { name, worse = "higher", confidence = 0.95, tolerance = 0.1, minSamples = 5, maximum, minimum } = metric;
  const [c, b] = [summarise(canary), summarise(baseline)];
  const shift = c.median === null || !b.median ? null : (c.median - b.median) / Math.abs(b.median);
  const base = { name, canary: c, baseline: b, shift: shift === null ? null : round(shift) };
  if (c.maximum !== null && maximum !== undefined && c.maximum > maximum)
    return { ...base, verdict: "fail", why: `a sample of ${round(c.maximum)} is above the maximum of ${maximum}` };
  if (c.minimum !== null && minimum !== undefined && c.minimum < minimum)
    return { ...base, verdict: "fail", why: `a sample of ${round(c.minimum)} is below the minimum of ${minimum}` };
  if (c.samples < minSamples || b.samples < minSamples)
    return {
      ...base,
      verdict: "noData",
      why: `${c.samples} samples of the canary and ${b.samples} of the baseline; each needs ${minSamples}`,
    };
  const { u, z, pHigher, pLower, exact } = mannWhitney(canary, baseline);
  // Either way: twice the smaller tail.
  const p = { higher: pHigher, lower: pLower, either: Math.min(1, 2 * Math.min(pHigher, pLower)) }[worse];
  const numbers = { u, ...(z === undefined ? {} : { z: round(z) }), p: round(p), exact };
  const sure = p <= 1 - confidence;
  const delta = c.median! - b.median!;
  const bad = { higher: delta, lower: -delta, either: Math.abs(delta) }[worse];
  const matters = bad > tolerance * Math.abs(b.median!);
  const medians = `median ${round(c.median!)} against ${round(b.median!)}, p ${round(p)}`;
  if (sure && matters)
    return {
      ...base,
      ...numbers,
      verdict: "fail",
      why: `the canary is ${worse === "either" ? "different" : worse}: ${medians}`,
    };
  const why = sure
    ? `the difference is within the tolerance of ${tolerance}: ${medians}`
    : `no sure difference: ${medians}`;
  return { ...base, ...numbers, verdict: "pass", why };
}

export interface Weighed {
  pass: boolean;
  /** Share of the weight that passed, in percent. */
  score: number;
  /** Names of what failed, or has no data and must have. */
  failed: string[];
}

/** The verdict over all metrics: enough of the weight passes, and nothing critical fails. */
export function weigh(metrics: readonly Metric[], judged: readonly Judged[], passScore: number): Weighed {
  let [all, passed] = [0, 0];
  let critical = false;
  const failed: string[] = [];
  metrics.forEach(({ name, weight = 1, critical: vital = false, onNoData = "fail" }, i) => {
    const { verdict } = judged[i]!;
    const good = verdict === "pass" || (verdict === "noData" && onNoData === "pass");
    all += weight;
    if (good) passed += weight;
    else failed.push(name);
    critical ||= !good && vital;
  });
  const score = all === 0 ? 0 : Math.round((passed / all) * 1_000) / 10;
  return { pass: score >= passScore && !critical, score, failed };
}

function summarise(samples: readonly number[]): Summary {
  if (samples.length === 0) return { samples: 0, median: null, mean: null, minimum: null, maximum: null };
  const sorted = [...samples].sort((x, y) => x - y);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
  return {
    samples: sorted.length,
    median,
    mean: round(sorted.reduce((sum, x) => sum + x, 0) / sorted.length),
    minimum: sorted[0]!,
    maximum: sorted.at(-1)!,
  };
}

const round = (x: number) => Number(x.toPrecision(6));
