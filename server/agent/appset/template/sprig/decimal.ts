import { TemplateError } from "../value.ts";

/** `digits` divided by ten to the power of `scale`. */
interface Decimal {
  digits: bigint;
  scale: number;
}

/** Digits behind the point that a division keeps. */
const DIVISION = 16;

const tens = (power: number): bigint => 10n ** BigInt(power);
const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);

function decimalOf(value: number): Decimal {
  if (!Number.isFinite(value)) throw new TemplateError(`Cannot create a Decimal from ${value}`);
  const [mantissa, exponent] = value.toExponential().split("e") as [string, string];
  const [whole, rest = ""] = mantissa.split(".") as [string, string?];
  const scale = rest.length - Number(exponent);
  const digits = BigInt(whole + rest);
  return scale < 0 ? { digits: digits * tens(-scale), scale: 0 } : { digits, scale };
}

const plus = (a: Decimal, b: Decimal): Decimal => {
  const scale = Math.max(a.scale, b.scale);
  return { digits: a.digits * tens(scale - a.scale) + b.digits * tens(scale - b.scale), scale };
};

/** Rounded half away from zero. */
function divided(a: Decimal, b: Decimal): Decimal {
  if (b.digits === 0n) throw new TemplateError("decimal division by 0");
  const over = a.digits * tens(DIVISION + b.scale);
  const under = b.digits * tens(a.scale);
  const up = magnitude(over % under) * 2n >= magnitude(under);
  const away = over < 0n === under < 0n ? 1n : -1n;
  return { digits: over / under + (up ? away : 0n), scale: DIVISION };
}

const OPERATIONS = {
  add: plus,
  sub: (a: Decimal, b: Decimal): Decimal => plus(a, { ...b, digits: -b.digits }),
  mul: (a: Decimal, b: Decimal): Decimal => ({ digits: a.digits * b.digits, scale: a.scale + b.scale }),
  div: divided,
};

// Each makes the result longer by up to 650 digits; real templates use fewer.
const MOST = 100;

/** Numbers taken together one after the other, as decimals: 0.1 and 0.2 make 0.3. */
export function decimals(operation: keyof typeof OPERATIONS, first: number, ...others: number[]): number {
  if (others.length > MOST) throw new TemplateError(`more than ${MOST} numbers to take together`);
  const { digits, scale } = others.map(decimalOf).reduce(OPERATIONS[operation], decimalOf(first));
  return Number(`${digits}e-${scale}`);
}
