import { compare as byValue } from "../lang/compare.ts";
import type { Match } from "../lang/go-pattern.ts";

/** Finds what fits a regular expression in Go's syntax. */
export type Find = (pattern: string, flags: string, text: string) => Match[];

/** Items of a list from one number up to another, as one place. */
export interface Slice {
  from: number;
  to: number;
}

/** A value on its way through an expression. */
export interface Hit {
  /** Where it stands; a slice can only be the last step. Absent for a value that was computed: it stands nowhere. */
  path?: (string | number | Slice)[] | undefined;
  value: unknown;
}
export type Emit = (hit: Hit) => void;

/** The expression does not fit the document. */
export class Misfit extends Error {
  /** What `catch` gets. */
  readonly value: unknown;
  constructor(message: string, value: unknown = message) {
    super(message);
    this.value = value;
  }
}
export class TooMuch extends Error {}
/** Ends the evaluation of a label. */
export class Break extends Error {
  readonly label: unknown;
  constructor(label: unknown) {
    super("break");
    this.label = label;
  }
}

/** The longest text or list that `+` makes. */
export const MAX_SUM = 500_000;

export const truthy = (value: unknown): boolean => value !== null && value !== undefined && value !== false;
export function typeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
export const isObject = (value: unknown): value is Record<string, unknown> => typeOf(value) === "object";

export const bare = ({ value }: Hit): Hit => ({ value, path: [] });

/** An item of a slice is an item of the list that was sliced. */
function within(path: NonNullable<Hit["path"]>, at: number): NonNullable<Hit["path"]> {
  const last = path.at(-1);
  return typeof last === "object" ? [...path.slice(0, -1), last.from + at] : [...path, at];
}

/** A slice of a list; of nothing it is nothing. */
export function sliceOf({ path, value }: Hit, from: number | undefined, to: number | undefined): Hit {
  if (value === null || value === undefined) return { path: path && [...path, { from: 0, to: 0 }], value: null };
  // A part of a text is a value, not a place.
  if (typeof value === "string")
    return {
      value: charsOf(value)
        .slice(from && Math.floor(from), to && Math.ceil(to))
        .join(""),
    };
  if (!Array.isArray(value)) throw new Misfit("only lists have slices");
  const clamp = (n: number) => Math.max(0, Math.min(value.length, n < 0 ? value.length + n : n));
  const [start, end] = [clamp(Math.floor(from ?? 0)), clamp(Math.ceil(to ?? value.length))];
  const last = path?.at(-1);
  const offset = typeof last === "object" ? last.from : 0;
  const before = typeof last === "object" ? path!.slice(0, -1) : path;
  return {
    path: before && [...before, { from: start + offset, to: Math.max(start, end) + offset }],
    value: value.slice(start, end),
  };
}

/** A field or an item; of nothing it is nothing. */
export function child({ path, value }: Hit, key: unknown): Hit {
  if (typeof key === "string" && (isObject(value) || value === null || value === undefined)) {
    const has = isObject(value) && Object.hasOwn(value, key);
    return { path: path && [...path, key], value: has ? value[key] : null };
  }
  if (typeof key === "number" && (Array.isArray(value) || value === null || value === undefined)) {
    const whole = Math.floor(key);
    const at = whole < 0 && Array.isArray(value) ? value.length + whole : whole;
    return { path: path && within(path, at), value: (value as unknown[] | null)?.[at] ?? null };
  }
  if (typeof key === "number" && typeof value === "string")
    return { value: charsOf(value).at(Math.trunc(key)) ?? null };
  throw new Misfit(`cannot index ${typeOf(value)} with ${typeOf(key)}`);
}

const RANK = ["null", "boolean", "number", "string", "array", "object"];
export function compare(operator: string, a: unknown, b: unknown): boolean {
  if (operator === "==") return isEqual(a, b);
  if (operator === "!=") return !isEqual(a, b);
  const differs = order(a, b);
  return { "<": differs < 0, "<=": differs <= 0, ">": differs > 0, ">=": differs >= 0 }[operator] ?? false;
}

// What one expression may compare or copy, some 0.2 s: items of lists may be large themselves.
const MAX_COMPARED = 10_000_000;
let compared = 0;
/** Resets the count for another expression: one is evaluated to its end before the next. */
export function resetCompared(): void {
  compared = 0;
}
export function countCompared(times = 1): void {
  compared += times;
  if (compared > MAX_COMPARED) throw new TooMuch();
}

/** The characters of a text. To take it apart takes as long as it is. */
export function charsOf(text: string): string[] {
  countCompared(text.length);
  return [...text];
}

/** What a function does with a text takes as long as the text is, four characters for one comparison. */
export function countText(value: unknown): void {
  if (typeof value === "string") countCompared(value.length >> 2);
}

/** Whether two values are the same; -0 is 0. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a === "string" && typeof b === "string") countCompared(Math.min(a.length, b.length) >> 4);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return (a ?? null) === (b ?? null);
  return order(a, b) === 0;
}

/** Values of any sort in jq's order: by sort, then by value; objects by their names, then by their fields. */
export function order(a: unknown, b: unknown): number {
  countCompared();
  const [x, y] = [typeOf(a), typeOf(b)];
  if (x !== y) return RANK.indexOf(x) - RANK.indexOf(y);
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      const differs = order(a[i], b[i]);
      if (differs !== 0) return differs;
    }
    return a.length - b.length;
  }
  if (isObject(a) && isObject(b)) {
    const [left, right] = [Object.keys(a).sort(), Object.keys(b).sort()];
    return (
      order(left, right) ||
      order(
        left.map((key) => a[key]),
        right.map((key) => b[key]),
      )
    );
  }
  return byValue(a as number, b as number);
}

function merged(a: Record<string, unknown>, b: Record<string, unknown>): Record<string, unknown> {
  const both = new Map(Object.entries(a));
  for (const [key, value] of Object.entries(b)) {
    const before = both.get(key);
    both.set(key, isObject(before) && isObject(value) ? merged(before, value) : value);
  }
  return Object.fromEntries(both);
}

function numbers(operator: string, a: number, b: number): number {
  if (operator === "+") return a + b;
  if (operator === "-") return a - b;
  if (operator === "*") return a * b;
  const [left, right] = operator === "%" ? [Math.trunc(a), Math.abs(Math.trunc(b))] : [a, b];
  if (right === 0) throw new Misfit(`${a} cannot be divided by ${b}`);
  return operator === "%" ? left % right : left / right;
}

/** Two lists of which each item is compared with each of the other. */
export function bounded<T extends { length: number }>(a: T, b: { length: number }): T {
  if (a.length * b.length > 16 * MAX_SUM) throw new TooMuch();
  return a;
}

export function compute(operator: string, a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return numbers(operator, a, b);
  if (operator === "-" && Array.isArray(a) && Array.isArray(b))
    return bounded(a, b).filter((one) => !b.some((other) => order(one, other) === 0));
  if (operator === "/" && typeof a === "string" && typeof b === "string") return a === "" ? [] : a.split(b);
  if (operator === "*") {
    if (isObject(a) && isObject(b)) return merged(a, b);
    const [text, count] = typeof a === "string" ? [a, b] : [b, a];
    if (typeof text === "string" && typeof count === "number") {
      if (count <= 0) return null;
      const times = count < 1 ? 1 : Math.trunc(count);
      if (text.length * times > MAX_SUM) throw new TooMuch();
      return text.repeat(times);
    }
  }
  if (operator === "+") {
    if (a === null || a === undefined) return b;
    if (b === null || b === undefined) return a;
    const both = (typeof a === "string" && typeof b === "string") || (Array.isArray(a) && Array.isArray(b));
    if (both && (a as string).length + (b as string).length > MAX_SUM) throw new TooMuch();
    if (typeof a === "string" && typeof b === "string") return a + b;
    if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
    if (isObject(a) && isObject(b)) return Object.fromEntries([...Object.entries(a), ...Object.entries(b)]);
  }
  throw new Misfit(`${typeOf(a)} ${operator} ${typeOf(b)}`);
}
