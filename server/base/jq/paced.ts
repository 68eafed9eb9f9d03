import { type Path, type Program, pathsOf } from "./jq.ts";

// One that takes long does so for every object of every application, and nothing else runs meanwhile.
const PERIOD_MS = 60_000;
// 5,000 objects with some thousand fields each. It takes about ten seconds.
const MAX_STEPS = 20_000_000;

interface Spent {
  until: number;
  steps: number;
}
const spent = new WeakMap<Program, Spent>();

function spentBy(program: Program): Spent {
  const known = spent.get(program);
  if (known && known.until > Date.now()) return known;
  const fresh = { until: Date.now() + PERIOD_MS, steps: 0 };
  spent.set(program, fresh);
  return fresh;
}

/** Whether an expression has taken too long, once or together, in the last minute. */
export const isSlow = (program: Program): boolean => spentBy(program).steps > MAX_STEPS;

/** The places that an expression names; one that has taken too long is not tried again for a while, and names none. */
export function pacedPathsOf(program: Program, document: unknown): Path[] | "slow" {
  const sum = spentBy(program);
  if (sum.steps > MAX_STEPS) return "slow";
  const paths = pathsOf(program, document, (steps) => {
    sum.steps += steps;
  });
  if (paths === "slow") sum.steps = Number.POSITIVE_INFINITY;
  return paths;
}
