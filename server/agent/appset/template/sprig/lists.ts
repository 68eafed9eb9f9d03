import { type Callable, fn } from "../function.ts";
import {
  copyOf,
  deepEqual,
  isMap,
  kindName,
  sortedKeys,
  TemplateError,
  typeName,
  type Value,
  type ValueMap,
} from "../value.ts";
import { asList, asText, isEmpty } from "./convert.ts";

const both = (name: string, made: Callable): [string, Callable][] => [
  [name, made],
  [`must${name[0]!.toUpperCase()}${name.slice(1)}`, made],
];

function uniq(list: Value[], step: (n: number) => void): Value[] {
  const seen: Value[] = [];
  const simple = new Set<Value>();
  for (const one of list) {
    if (one === null || typeof one !== "object") {
      if (simple.has(one)) continue;
      simple.add(one);
    } else {
      step(seen.length);
      if (seen.some((other) => deepEqual(one, other))) continue;
    }
    seen.push(one);
  }
  return seen;
}

const LISTS_BOTH = [
  ...both(
    "first",
    fn("a", ([list]) => asList(list, "find first")[0] ?? null),
  ),
  ...both(
    "last",
    fn("a", ([list]) => asList(list, "find last").at(-1) ?? null),
  ),
  ...both(
    "rest",
    fn("a", ([list]) => asList(list, "find rest").slice(1)),
  ),
  ...both(
    "initial",
    fn("a", ([list]) => asList(list, "find initial").slice(0, -1)),
  ),
  ...both(
    "append",
    fn("aa", ([list, one]) => [...asList(list, "push"), one]),
  ),
  ...both(
    "push",
    fn("aa", ([list, one]) => [...asList(list, "push"), one]),
  ),
  ...both(
    "prepend",
    fn("aa", ([list, one]) => [one, ...asList(list, "prepend")]),
  ),
  ...both(
    "reverse",
    fn("a", ([list]) => [...asList(list, "find reverse")].reverse()),
  ),
  ...both(
    "compact",
    fn("a", ([list]) => asList(list, "compact").filter((one) => !isEmpty(one))),
  ),
  ...both(
    "uniq",
    fn("a", ([list], budget) => uniq(asList(list, "find uniq"), (n) => budget.step(n))),
  ),
  ...both(
    "without",
    fn("aa*", ([list, ...omit]) =>
      asList(list, "find without").filter((one) => !omit.some((other: Value) => deepEqual(one, other))),
    ),
  ),
  ...both(
    "has",
    fn("aa", ([needle, list]) =>
      list === null ? false : asList(list, "find has").some((one) => deepEqual(one, needle)),
    ),
  ),
  ...both(
    "slice",
    fn("aa*", ([list, ...bounds]) => {
      const all = asList(list, "slice");
      if (all.length === 0) return null;
      const [from = 0, to = all.length] = bounds.map((bound: Value) => Number(bound));
      if (from < 0 || to > all.length || from > to)
        throw new TemplateError(`slice bounds out of range [${from}:${to}] with length ${all.length}`);
      return all.slice(from, to);
    }),
  ),
  ...both(
    "chunk",
    fn("ia", ([size, list]) => {
      const all = asList(list, "chunk");
      if (size < 1n) throw new TemplateError("chunk size must be at least 1");
      const step = Number(size);
      return Array.from({ length: Math.ceil(all.length / step) }, (_, i) => all.slice(i * step, i * step + step));
    }),
  ),
  ...both(
    "deepCopy",
    fn("a", ([value]) => copyOf(value)),
  ),
  ...both(
    "merge",
    fn("mm*", ([into, ...from]) => from.reduce((map: ValueMap, one: ValueMap) => merge(map, one, false), into)),
  ),
  ...both(
    "mergeOverwrite",
    fn("mm*", ([into, ...from]) => from.reduce((map: ValueMap, one: ValueMap) => merge(map, one, true), into)),
  ),
];

/** Fills a map from another one, maps in it too; with `over` existing values are replaced, too. */
function merge(into: ValueMap, from: ValueMap, over: boolean, depth = 0): ValueMap {
  if (depth > 100) throw new TemplateError("maps are nested too deeply");
  for (const [key, value] of from) {
    const old = into.get(key);
    if (isMap(old) && isMap(value)) merge(old, value, over, depth + 1);
    else if (!into.has(key) || isEmpty(old) || (over && !isEmpty(value))) into.set(key, copyOf(value));
  }
  return into;
}

function dict(args: Value[]): ValueMap {
  const map: ValueMap = new Map();
  for (let i = 0; i < args.length; i += 2) map.set(asText(args[i]), i + 1 < args.length ? args[i + 1] : "");
  return map;
}

function dig(args: Value[]): Value {
  if (args.length < 3) throw new TemplateError("dig needs at least three arguments");
  const map = args.at(-1);
  const fallback = args.at(-2);
  let value: Value = map;
  for (const key of args.slice(0, -2)) {
    if (!isMap(value))
      throw new TemplateError(`interface conversion: interface {} is ${typeName(value)}, not map[string]interface {}`);
    if (typeof key !== "string")
      throw new TemplateError(`interface conversion: interface {} is ${typeName(key)}, not string`);
    if (!value.has(key)) return fallback;
    value = value.get(key);
  }
  return value;
}

const changed = (map: ValueMap) => map;

export const LISTS: Record<string, Callable> = {
  ...Object.fromEntries(LISTS_BOTH),
  list: fn("a*", (args) => args),
  tuple: fn("a*", (args) => args),
  concat: fn("a*", (args, budget) => {
    budget.step(args.reduce((sum, one) => sum + asList(one, "concat").length, 0));
    return args.flat() as Value[];
  }),
  dict: fn("a*", dict),
  get: fn("ms", ([map, key]) => (map.has(key) ? map.get(key) : "")),
  set: fn("msa", ([map, key, value]) => changed(map.set(key, value))),
  unset: fn("ms", ([map, key]) => {
    map.delete(key);
    return map;
  }),
  hasKey: fn("ms", ([map, key]) => map.has(key)),
  pluck: fn("sm*", ([key, ...maps]) =>
    maps.filter((map: ValueMap) => map.has(key)).map((map: ValueMap) => map.get(key)),
  ),
  keys: fn("m*", (maps) => maps.flatMap((map: ValueMap) => sortedKeys(map))),
  values: fn("m", ([map]) => sortedKeys(map).map((key) => map.get(key))),
  pick: fn(
    "ms*",
    ([map, ...keys]) => new Map(keys.filter((key: string) => map.has(key)).map((key: string) => [key, map.get(key)])),
  ),
  omit: fn("ms*", ([map, ...keys]) => new Map([...(map as ValueMap)].filter(([key]) => !keys.includes(key)))),
  dig: fn("a*", dig),
  default: fn("aa*", ([fallback, ...given]) => (given.length === 0 || isEmpty(given[0]) ? fallback : given[0])),
  empty: fn("a", ([value]) => isEmpty(value)),
  coalesce: fn("a*", (args) => args.find((arg) => !isEmpty(arg)) ?? null),
  all: fn("a*", (args) => args.every((arg) => !isEmpty(arg))),
  any: fn("a*", (args) => args.some((arg) => !isEmpty(arg))),
  ternary: fn("aab", ([yes, no, which]) => (which ? yes : no)),
  typeOf: fn("a", ([value]) => typeName(value)),
  typeIs: fn("sa", ([type, value]) => typeName(value) === type),
  typeIsLike: fn("sa", ([type, value]) => typeName(value) === type || typeName(value) === `*${type}`),
  kindOf: fn("a", ([value]) => kindName(value)),
  kindIs: fn("sa", ([kind, value]) => kindName(value) === kind),
  deepEqual: fn("aa", ([a, b]) => deepEqual(a, b)),
};
