import { Decimal } from "./value.ts";

/** Every form a number can take here. */
export type Numeric = number | bigint | Decimal;

/** Longer decimals are refused: nothing real needs them and the work grows with the length. */
const maxDigits = 1000;

/** Plain digits of a decimal text: `-12.50e1` → sign, digits without leading or trailing zeros, exponent of ten. */
function parts(text: string): { negative: boolean; digits: string; exponent: number } {
  const match = /^([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/.exec(text);
  if (!match || text.length > maxDigits) throw new Error(`not a number: ${text.slice(0, 60)}`);
  const fraction = match[3] ?? "";
  let digits = `${match[2]}${fraction}`.replace(/^0+/, "");
  let exponent = Number(match[4] ?? 0) - fraction.length;
  const trimmed = digits.replace(/0+$/, "");
  exponent += digits.length - trimmed.length;
  digits = trimmed;
  return digits === ""
    ? { negative: false, digits: "0", exponent: 0 }
    : { negative: match[1] === "-", digits, exponent };
}

/** One spelling for each number, so that equal numbers print equally: `1e2` → `100`, `0.10` → `0.1`. */
export function print(value: Numeric): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && Number.isSafeInteger(value)) return value === 0 ? "0" : String(value);
  const { negative, digits, exponent } = parts(value instanceof Decimal ? value.text : String(value));
  const sign = negative ? "-" : "";
  if (Math.abs(exponent) > maxDigits) return `${sign}${digits}e${exponent}`;
  if (exponent >= 0) return `${sign}${digits}${"0".repeat(exponent)}`;
  const padded = digits.padStart(1 - exponent, "0");
  return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
}

/** The smallest exact form of a decimal text. */
export function fromText(text: string): Numeric {
  const plain = print(new Decimal(text));
  const double = Number(plain);
  if (Number.isFinite(double) && print(double) === plain && (!Number.isInteger(double) || Number.isSafeInteger(double)))
    return double;
  return /^-?\d+$/.test(plain) ? BigInt(plain) : new Decimal(plain);
}

/** The exact value of a double. 0.1 as a double is not the decimal 0.1, and Terraform compares exactly. */
export function fromDouble(value: number): Numeric {
  if (!Number.isFinite(value)) throw new Error("infinite numbers are not supported");
  if (Number.isSafeInteger(value)) return value;
  if (Number.isInteger(value)) return BigInt(value);
  const exact = value.toPrecision(100);
  return print(value) === print(new Decimal(exact)) ? value : new Decimal(print(new Decimal(exact)));
}

export const sameNumber = (a: Numeric, b: Numeric): boolean => a === b || print(a) === print(b);

/** Order of two numbers; exact for integers, by double otherwise. */
export function compare(a: Numeric, b: Numeric): number {
  if (sameNumber(a, b)) return 0;
  const [x, y] = [print(a), print(b)];
  if (/^-?\d+$/.test(x) && /^-?\d+$/.test(y)) return BigInt(x) < BigInt(y) ? -1 : 1;
  return Number(x) < Number(y) ? -1 : 1;
}

/**
 * The double of a number in JSON, or undefined when no double prints as the same number. JSON readers keep doubles,
 * so any other number would arrive as another one. A zero has no sign here.
 */
export function asDouble(value: Numeric): number | undefined {
  const printed = print(value);
  const double = Number(printed);
  if (!Number.isFinite(double)) return undefined;
  if (print(double) !== printed) return undefined;
  return double === 0 ? 0 : double;
}
