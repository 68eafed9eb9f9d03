/** How fast something grows: units an hour, and how far off that may be at 95 %. */
export interface Slope {
  perHour: number;
  within: number;
  first: number;
  last: number;
}

/** The line through points of (seconds, value), by least squares. */
export function slope(points: readonly (readonly [number, number])[]): Slope {
  const n = points.length;
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / n;
  const [x, y] = [mean(0), mean(1)];
  const spread = points.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
  const rise = points.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0) / spread;
  const rest = points.reduce((sum, [a, b]) => sum + (b - y - rise * (a - x)) ** 2, 0);
  // Neighbouring samples are alike, so there are fewer independent ones than points: half as many are counted.
  const error = Math.sqrt(rest / Math.max(1, n / 2 - 2) / spread);
  return {
    perHour: rise * 3_600,
    within: 2 * error * 3_600,
    first: y + rise * (points[0]![0] - x),
    last: y + rise * (points.at(-1)![0] - x),
  };
}
