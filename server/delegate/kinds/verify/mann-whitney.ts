/** The outcome of a Mann-Whitney U test of `a` against `b`. */
export interface MannWhitney {
  /** U of `a`: pairs in which its sample is the larger one; ties count half. */
  u: number;
  /** Standard score of U; undefined where all samples are equal. */
  z: number | undefined;
  /** Probability of such a U or a larger one, if both came from one distribution: small when `a` is higher. */
  pHigher: number;
  /** The same for a smaller one. */
  pLower: number;
  /** Whether the probabilities are counted out (few samples, no ties) or from the normal approximation. */
  exact: boolean;
}

// Above so many pairs the approximation is as good; counting takes pairs × samples steps.
const MAX_EXACT_PAIRS = 400;

/**
 * Mann, Whitney (1947): whether samples of `a` tend to be larger or smaller than those of `b`, without assuming a shape of their
 * distributions. With ties the variance is corrected, and the approximation has a continuity correction of one half.
 */
export function mannWhitney(a: readonly number[], b: readonly number[]): MannWhitney {
  const [n, m] = [a.length, b.length];
  const { rankSum, ties } = rank(a, b);
  const u = rankSum - (n * (n + 1)) / 2;
  const total = n + m;
  const mean = (n * m) / 2;
  const tied = ties.reduce((sum, t) => sum + (t ** 3 - t), 0);
  const variance = total > 1 ? ((n * m) / 12) * (total + 1 - tied / (total * (total - 1))) : 0;
  if (variance <= 0) return { u, z: undefined, pHigher: 1, pLower: 1, exact: false };
  const deviation = Math.sqrt(variance);
  const z = (u - mean) / deviation;
  if (ties.length === 0 && n * m <= MAX_EXACT_PAIRS) return { u, z, ...counted(n, m, u), exact: true };
  return {
    u,
    z,
    pHigher: upperTail((u - mean - 0.5) / deviation),
    pLower: upperTail((mean - u - 0.5) / deviation),
    exact: false,
  };
}

/** Rank sum of `a` in both together, and how many samples share each value that is there more than once. */
function rank(a: readonly number[], b: readonly number[]): { rankSum: number; ties: number[] } {
  const all = [...a.map((value) => ({ value, own: 1 })), ...b.map((value) => ({ value, own: 0 }))].sort(
    (x, y) => x.value - y.value,
  );
  const ties: number[] = [];
  let rankSum = 0;
  for (let from = 0; from < all.length; ) {
    let to = from;
    let own = 0;
    while (to < all.length && all[to]!.value === all[from]!.value) own += all[to++]!.own;
    rankSum += own * ((from + 1 + to) / 2);
    if (to - from > 1) ties.push(to - from);
    from = to;
  }
  return { rankSum, ties };
}

/** Counts in how many of all orders of n and m samples U is as large, or as small, as this one. */
function counted(n: number, m: number, u: number): { pHigher: number; pLower: number } {
  // ways[i][k]: orders of i samples of `a` with j of `b` whose U is k, for growing j.
  let ways: number[][] = Array.from({ length: n + 1 }, () => [1]);
  for (let j = 1; j <= m; j++) {
    const next: number[][] = [[1]];
    for (let i = 1; i <= n; i++) {
      // The largest sample is of `a`, above all j of `b`, or of `b`.
      const row = new Array<number>(i * j + 1).fill(0);
      next[i - 1]!.forEach((count, k) => {
        row[k + j]! += count;
      });
      ways[i]!.forEach((count, k) => {
        row[k]! += count;
      });
      next.push(row);
    }
    ways = next;
  }
  const row = ways[n]!;
  const all = row.reduce((sum, count) => sum + count, 0);
  const sum = (from: number, to: number) => row.slice(Math.max(0, from), to).reduce((s, count) => s + count, 0) / all;
  return { pHigher: sum(Math.ceil(u), row.length), pLower: sum(0, Math.floor(u) + 1) };
}

/** Share of the standard normal distribution above x. */
function upperTail(x: number): number {
  const p = 0.5 * erfc(x / Math.SQRT2);
  return Math.min(1, Math.max(0, p));
}

/** Complementary error function; Numerical Recipes' Chebyshev fit, relative error below 1.2e-7. */
function erfc(x: number): number {
  const z = Math.abs(x);
  const t = 1 / (1 + z / 2);
  const series = [
    -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
    0.17087277,
  ];
  const fit = t * Math.exp(-z * z + series.reduceRight((sum, c) => sum * t + c, 0));
  return x >= 0 ? fit : 2 - fit;
}
