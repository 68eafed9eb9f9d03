const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([KMGTPE]i)|([numkMGTPE]))?$/;
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
// From a billionth up, as the API server counts.
const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/** A Kubernetes quantity in billionths, such as `100m`, `0.1` or `64Mi`; undefined for other texts and for finer values. */
export function billionths(value: unknown): bigint | undefined {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text.length > 40) return undefined;
  const [, digits, exponent, binary, suffix = ""] = QUANTITY.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const [whole = "", fraction = ""] = digits.split(".");
  const power = 9 - fraction.length + (exponent ? Number(exponent.slice(1)) : (DECIMAL[suffix] ?? 0));
  if (power < 0 || power > 60) return undefined;
  const factor = binary ? 1_024n ** BigInt(BINARY.indexOf(binary) + 1) : 1n;
  return BigInt(whole + fraction) * 10n ** BigInt(power) * factor;
}

/** Whether the API server has only written a quantity in its own way: `100m` for `0.1`. */
export function isSameQuantity(desired: unknown, live: unknown): boolean {
  if (typeof live !== "string") return false;
  const amount = billionths(desired);
  return amount !== undefined && amount === billionths(live);
}

// Of these kinds the API server writes quantities in its own way: `100m` for `0.1`. In a kind of a user's own they are texts like others.
const TYPED = /^(v1|(apps|batch|autoscaling|policy|(node|storage|resource)\.k8s\.io)\/v\w+)$/;
// Maps of quantities, and single ones by the field that they are in: a ConfigMap or a label may have a field of the same name.
const MAPS = new Set(
  "limits requests hard capacity overhead podFixed default defaultRequest max min maxLimitRequestRatio".split(" "),
);
const SINGLE: Readonly<Record<string, string>> = {
  sizeLimit: "emptyDir",
  divisor: "resourceFieldRef",
  averageValue: "target",
};

/** Whether a field within another holds a quantity, in a kind of Kubernetes' own. */
export const isQuantityField = (apiVersion: string, within: string, name: string): boolean =>
  TYPED.test(apiVersion) &&
  (MAPS.has(within) ||
    SINGLE[name] === within ||
    (apiVersion.startsWith("autoscaling/") && name === "value" && within === "target"));
