import type { Budget } from "./budget.ts";
import type { Value } from "./value.ts";

/** The type of a function's argument: `value` also takes a missing value, `any` gets nil for it. Other words name a type. */
export type ValueKind =
  | "value"
  | "any"
  | "string"
  | "int"
  | "float"
  | "bool"
  | "map"
  | "list"
  | "time.Time"
  | "*semver.Version";

export interface Callable {
  takes: ValueKind[];
  /** The kind of any number of further arguments. */
  variadic?: ValueKind;
  // biome-ignore lint/suspicious/noExplicitAny: the arguments were checked against `takes`
  run: (args: any[], budget: Budget) => Value;
}
export type FunctionTable = Map<string, Callable>;

const KINDS: Record<string, ValueKind> = {
  v: "value",
  a: "any",
  s: "string",
  i: "int",
  f: "float",
  b: "bool",
  m: "map",
  l: "list",
  t: "time.Time",
};

/**
 * A function by its signature: a letter an argument (`s` string, `i` int, `a` anything, `m` map, `l` list, `b` bool, `t` time, `f` float), the
 * last one with `*` for any number.
 */
export function fn(signature: string, run: Callable["run"]): Callable {
  const variadic = signature.endsWith("*") ? KINDS[signature.at(-2)!] : undefined;
  const takes = [...(variadic ? signature.slice(0, -2) : signature)].map((letter) => KINDS[letter]!);
  return { takes, run, ...(variadic ? { variadic } : {}) };
}

export function invoke(called: Callable, args: Value[], budget: Budget): Value {
  const result = called.run(args, budget);
  if (typeof result === "string") budget.grow(result.length);
  else if (Array.isArray(result)) budget.step(result.length >> 4);
  return result;
}
