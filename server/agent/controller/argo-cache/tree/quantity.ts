const BINARY: Record<string, bigint> = {
  Ki: 1n << 10n,
  Mi: 1n << 20n,
  Gi: 1n << 30n,
  Ti: 1n << 40n,
  Pi: 1n << 50n,
  Ei: 1n << 60n,
};
const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const FORM = /^([+-]?)(\d{0,24})(?:\.(\d{0,24}))?(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?\d{1,2}))?$/;

/** Thousandths of a quantity such as `250m` or `1.5Gi`, rounded up as Kubernetes does; 0 for other texts. */
export function milli(quantity: unknown): number {
  const match =
    typeof quantity === "number" || typeof quantity === "string" ? FORM.exec(String(quantity).trim()) : null;
  if (!match) return 0;
  const [, sign, whole = "", fraction = "", suffix = "", exponent] = match;
  if (!whole && !fraction) return 0;
  const binary = BINARY[suffix];
  let value = BigInt(`${whole}${fraction}` || "0") * 1_000n * (binary ?? 1n);
  const decimal = exponent === undefined ? DECIMAL[suffix]! : Number(exponent);
  const power = (binary ? 0 : decimal) - fraction.length;
  if (power >= 0) value *= 10n ** BigInt(power);
  else {
    const by = 10n ** BigInt(-power);
    value = (value + by - 1n) / by;
  }
  return Number(sign === "-" ? -value : value);
}
