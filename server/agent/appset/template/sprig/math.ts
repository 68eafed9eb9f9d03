import { randomInt } from "node:crypto";
import { compare } from "../../../../base/lang/compare.ts";
import { type Callable, fn } from "../function.ts";
import { TemplateError, type Value } from "../value.ts";
import { asFloat, asInt } from "./convert.ts";
import { decimals } from "./decimal.ts";

const int = (value: bigint) => BigInt.asIntN(64, value);
const notZero = (value: bigint) => {
  if (value === 0n) throw new TemplateError("runtime error: integer divide by zero");
  return value;
};
const ordered = (args: Value[]) => args.map(asInt).sort(compare);
const most = fn("aa*", (args) => ordered(args).at(-1));

const counted = (operation: Parameters<typeof decimals>[0]) =>
  fn("aa*", ([first, ...others]) => decimals(operation, asFloat(first), ...others.map(asFloat)));

function round(value: number, digits: bigint, halfUpFrom = 0.5): number {
  const factor = 10 ** Number(digits);
  const scaled = value * factor;
  const whole = Math.trunc(scaled);
  const rest = scaled - whole;
  // Away from zero, from there on.
  const away = scaled > 0 ? Math.ceil(scaled) : Math.floor(scaled);
  return (Math.abs(rest) >= halfUpFrom ? away : whole) / factor + 0;
}

const MAX = 10_000;
function steps(from: bigint, to: bigint, by: bigint): bigint[] {
  const list: bigint[] = [];
  if (by === 0n) return list;
  for (let at = from; by > 0n ? at < to : at > to; at += by) {
    if (list.length >= MAX) throw new TemplateError(`a list of more than ${MAX} numbers`);
    list.push(at);
  }
  return list;
}

const towards = (from: bigint, to: bigint): bigint => (to < from ? -1n : 1n);

const through = (from: bigint, to: bigint, by: bigint): string => steps(from, to + (by > 0n ? 1n : -1n), by).join(" ");

function seq(args: bigint[]): string {
  const [a, b, c] = args;
  if (args.length === 1) return through(1n, a!, towards(1n, a!));
  if (args.length === 2) return through(a!, b!, towards(a!, b!));
  if (args.length !== 3) return "";
  const [from, by, to] = [a!, b!, c!];
  return (to < from && by > 0n) || (to > from && by < 0n) ? "" : through(from, to, by);
}

export const MATH: Record<string, Callable> = {
  add: fn("a*", (args) => int(args.map(asInt).reduce((a, b) => a + b, 0n))),
  add1: fn("a", ([a]) => int(asInt(a) + 1n)),
  sub: fn("aa", ([a, b]) => int(asInt(a) - asInt(b))),
  mul: fn("aa*", (args) => int(args.map(asInt).reduce((a, b) => int(a * b)))),
  div: fn("aa", ([a, b]) => int(asInt(a) / notZero(asInt(b)))),
  mod: fn("aa", ([a, b]) => int(asInt(a) % notZero(asInt(b)))),
  max: most,
  biggest: most,
  min: fn("aa*", (args) => ordered(args)[0]),
  addf: fn("a*", (args) => decimals("add", 0, ...args.map(asFloat))),
  add1f: fn("a", ([a]) => decimals("add", asFloat(a), 1)),
  subf: counted("sub"),
  mulf: counted("mul"),
  divf: counted("div"),
  maxf: fn("aa*", (args) => Math.max(...args.map(asFloat))),
  minf: fn("aa*", (args) => Math.min(...args.map(asFloat))),
  floor: fn("a", ([a]) => Math.floor(asFloat(a))),
  ceil: fn("a", ([a]) => Math.ceil(asFloat(a))),
  round: fn("aif*", ([a, digits, from]) => round(asFloat(a), digits, from)),
  int: fn("a", ([a]) => asInt(a)),
  int64: fn("a", ([a]) => asInt(a)),
  float64: fn("a", ([a]) => asFloat(a)),
  atoi: fn("s", ([s]) => (/^[+-]?\d+$/.test(s) ? int(BigInt(s.replace("+", ""))) : 0n)),
  toDecimal: fn("a", ([a]) => (/^[0-7]+$/.test(String(a)) ? BigInt(`0o${a}`) : 0n)),
  until: fn("i", ([count]) => (count < 0n ? steps(0n, count, -1n) : steps(0n, count, 1n))),
  untilStep: fn("iii", ([from, to, by]) =>
    (to > from && by < 0n) || (to < from && by > 0n) ? [] : steps(from, to, by),
  ),
  seq: fn("i*", (args) => seq(args)),
  randInt: fn("ii", ([from, to]) => {
    if (to <= from || to - from > 2n ** 47n) throw new TemplateError("invalid argument to Intn");
    return from + BigInt(randomInt(Number(to - from)));
  }),
};
