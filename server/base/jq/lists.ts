import type { Jq } from "../../../openapi/rules/jq/tree.ts";
import { readJson } from "../json/nesting.ts";
import type { Call, Run } from "./calls.ts";
import { FORMATS, toJson, toText } from "./formats.ts";
import {
  bare,
  bounded,
  charsOf,
  child,
  compute,
  countText,
  type Hit,
  isObject,
  MAX_SUM,
  Misfit,
  order,
  TooMuch,
  truthy,
  typeOf,
} from "./values.ts";

/** A function of the input alone. */
const plain =
  (work: (value: unknown) => unknown): Call =>
  (run, { value }, emit) => {
    countText(value);
    emit({ value: run.made(work(value)) });
  };
/** A function of the input and of each value of its argument. */
const withOne =
  (work: (value: unknown, argument: unknown) => unknown): Call =>
  (run, input, emit, part) => {
    for (const argument of run.values(part!, input)) {
      countText(input.value);
      emit({ value: run.made(work(input.value, argument)) });
    }
  };

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Misfit(`${typeOf(value)} is no list`);
  return value;
}
function numeric(value: unknown): number {
  if (typeof value !== "number") throw new Misfit(`${typeOf(value)} is no number`);
  return value;
}
function textual(value: unknown): string {
  if (typeof value !== "string") throw new Misfit(`${typeOf(value)} is no text`);
  return value;
}

/** The items of a list in the order of what an expression says of each. */
function keyed(run: Run, input: Hit, part?: Jq): { key: unknown; value: unknown }[] {
  const all = list(input.value).map((value) => ({ key: part ? run.values(part, { value }) : value, value }));
  return all.sort((a, b) => order(a.key, b.key));
}
function groups(run: Run, input: Hit, part?: Jq): unknown[][] {
  const found: unknown[][] = [];
  let last: { key: unknown } | undefined;
  for (const one of keyed(run, input, part)) {
    if (last && order(last.key, one.key) === 0) found.at(-1)!.push(one.value);
    else found.push([one.value]);
    last = one;
  }
  return found;
}
/** The least item, or the greatest: of equal ones the first, or the last. */
const extreme =
  (greatest: boolean): Call =>
  (run, input, emit, part) => {
    const all = keyed(run, input, part);
    const found = greatest ? all.at(-1) : all[0];
    emit({ value: found?.value ?? null });
  };
const sorted: Call = (run, input, emit, part) =>
  emit({ value: run.made(keyed(run, input, part).map(({ value }) => value)) });
const unique: Call = (run, input, emit, part) =>
  emit({ value: run.made(groups(run, input, part).map(([first]) => first)) });

function flat(value: unknown, depth: number): unknown[] {
  const items = isObject(value) ? entriesOf(value).map((entry) => entry.value) : list(value);
  return items.flatMap((item) => (Array.isArray(item) && depth > 0 ? flat(item, depth - 1) : [item]));
}

const entriesOf = (value: unknown) => {
  if (Array.isArray(value)) return value.map((one, key) => ({ key, value: one as unknown }));
  if (!isObject(value)) throw new Misfit(`${typeOf(value)} has no entries`);
  return Object.keys(value)
    .sort()
    .map((key) => ({ key, value: value[key] }));
};
function fromEntries(value: unknown): Record<string, unknown> {
  const named = list(value).map((entry): [string, unknown] => {
    if (!isObject(entry)) throw new Misfit(`${typeOf(entry)} is no entry`);
    const key = ["key", "k", "name", "Name", "Key", "K"]
      .map((name) => entry[name])
      .find((one) => one !== undefined && one !== null && one !== false);
    const field = ["value", "v", "Value", "V"].find((name) => Object.hasOwn(entry, name));
    if (typeof key !== "string" && typeof key !== "number" && typeof key !== "boolean")
      throw new Misfit(`${typeOf(key)} is no name of an entry`);
    return [toText(key), field === undefined ? null : entry[field]];
  });
  return Object.fromEntries(named);
}

/** Every place in a value but the value itself, with its path. */
function places(run: Run, value: unknown): { path: (string | number)[]; value: unknown }[] {
  const found: { path: (string | number)[]; value: unknown }[] = [];
  run.recurse({ path: [], value }, ({ path, value: one }) => {
    if (path!.length > 0) found.push({ path: path as (string | number)[], value: one });
  });
  return found;
}

function repeatedly(
  run: Run,
  input: Hit,
  emit: (hit: Hit) => void,
  next: (hit: Hit, emit: (hit: Hit) => void) => void,
): void {
  run.step();
  emit(input);
  next(input, (hit) => repeatedly(run, hit, emit, next));
}

function range(run: Run, emit: (hit: Hit) => void, [from, to, by]: [number, number, number]): void {
  for (let at = from; by > 0 ? at < to : by < 0 && at > to; at += by) {
    run.step();
    emit({ value: at });
  }
}

function each<T>(
  run: Run,
  input: Hit,
  parts: readonly Jq[],
  work: (...values: unknown[]) => T,
  values: unknown[] = [],
): void {
  const [part, ...rest] = parts;
  if (!part) {
    work(...values);
    return;
  }
  for (const value of run.values(part, input)) each(run, input, rest, work, [...values, value]);
}

function changedFields(run: Run, value: unknown, part: Jq): unknown {
  const first = (one: unknown) => run.values(part, { value: one })[0];
  if (Array.isArray(value)) return value.map(first).filter((one) => one !== undefined);
  if (!isObject(value)) throw new Misfit(`${typeOf(value)} has no values`);
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, one]) => [key, first(one)])
      .filter(([, one]) => one !== undefined),
  );
}

function walked(run: Run, value: unknown, part: Jq): unknown {
  run.step();
  let inner = value;
  if (Array.isArray(value)) inner = value.map((one) => walked(run, one, part));
  else if (isObject(value))
    inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walked(run, one, part)]));
  return run.values(part, { value: inner })[0] ?? null;
}

function indicesOf(value: unknown, of: unknown): number[] | null {
  if (value === null || value === undefined) return null;
  const found: number[] = [];
  if (typeof value === "string" && typeof of === "string") {
    if (of === "") return null;
    // Counted on from the one before: from the start each time takes the square of the length.
    let [chars, from] = [0, 0];
    for (let at = value.indexOf(of); at >= 0; at = value.indexOf(of, at + 1)) {
      chars += charsOf(value.slice(from, at)).length;
      from = at;
      found.push(chars);
    }
    return found;
  }
  const wanted = Array.isArray(of) ? of : [of];
  const items = bounded(list(value), wanted);
  if (wanted.length === 0) return null;
  for (let at = 0; at + wanted.length <= items.length; at++)
    if (wanted.every((one, i) => order(one, items[at + i]) === 0)) found.push(at);
  return found;
}

function number(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !/^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(value))
    throw new Misfit(`${toText(value)} is no number`);
  return Number(value);
}

function parsed(value: unknown): unknown {
  try {
    return readJson(textual(value)) as unknown;
  } catch (error) {
    throw error instanceof Misfit ? error : new Misfit("it is no JSON");
  }
}

const trim = (sides: RegExp) => plain((value) => textual(value).replace(sides, ""));
const math = (work: (value: number) => number) => plain((value) => work(numeric(value)));

export const LISTS: Record<string, Call> = {
  // What a pattern such as `[$a]` is given.
  ".list/1": (run, input, emit, part) => {
    for (const value of run.values(part!, input)) emit({ value: value === null ? null : list(value) });
  },
  "to_entries/0": plain(entriesOf),
  "from_entries/0": plain(fromEntries),
  "with_entries/1": (run, input, emit, part) => {
    const changed = entriesOf(input.value).flatMap((entry) => run.values(part!, { value: entry }));
    emit({ value: run.made(fromEntries(changed)) });
  },
  "map_values/1": (run, input, emit, part) => emit({ value: run.made(changedFields(run, input.value, part!)) }),
  "walk/1": (run, input, emit, part) => emit({ value: run.made(walked(run, input.value, part!)) }),
  "add/0": (run, input, emit) => {
    let sum: unknown = null;
    run.each(bare(input), ({ value }) => {
      sum = run.made(compute("+", sum, value));
    });
    emit({ value: sum });
  },
  "add/1": (run, input, emit, part) =>
    emit({
      value: run.values(part!, input).reduce((sum, value) => run.made(compute("+", sum, value)), null as unknown),
    }),
  "sort/0": sorted,
  "sort_by/1": sorted,
  "unique/0": unique,
  "unique_by/1": unique,
  "group_by/1": (run, input, emit, part) => emit({ value: run.made(groups(run, input, part)) }),
  "min/0": extreme(false),
  "min_by/1": extreme(false),
  "max/0": extreme(true),
  "max_by/1": extreme(true),
  "reverse/0": plain((value) => {
    return typeof value === "string" ? [...value].reverse().join("") : [...list(value)].reverse();
  }),
  "flatten/0": plain((value) => flat(value, 1_000)),
  "flatten/1": withOne((value, depth) => {
    if (numeric(depth) < 0) throw new Misfit("a depth is not below nothing");
    return flat(value, depth as number);
  }),
  "transpose/0": plain((value) => {
    const rows = list(value).map(list);
    const width = rows.reduce((most, row) => Math.max(most, row.length), 0);
    if (width * rows.length > MAX_SUM) throw new TooMuch();
    return Array.from({ length: width }, (_, i) => rows.map((row) => row[i] ?? null));
  }),
  "indices/1": withOne(indicesOf),
  "index/1": withOne((value, of) => indicesOf(value, of)?.[0] ?? null),
  "rindex/1": withOne((value, of) => indicesOf(value, of)?.at(-1) ?? null),
  "in/1": withOne((key, value) => {
    if (isObject(value)) return Object.hasOwn(value, textual(key));
    const at = numeric(key);
    return at >= 0 && at < list(value).length;
  }),
  "toarray/0": plain((value) => (Array.isArray(value) ? value : [value])),
  "keys_unsorted/0": plain((value) => {
    if (typeof value !== "object" || value === null) throw new Misfit("it has no keys");
    return Array.isArray(value) ? [...value.keys()] : Object.keys(value).sort();
  }),
  "path/1": (run, input, emit, part) =>
    run.eval(part!, bare(input), ({ path }) => {
      if (!path) throw new Misfit("it gives a value that is no place in the document");
      emit({ value: path.map((step) => (typeof step === "object" ? { start: step.from, end: step.to } : step)) });
    }),
  "paths/0": (run, { value }, emit) => {
    for (const { path } of places(run, value)) emit({ value: path });
  },
  "paths/1": (run, input, emit, part) => {
    for (const { path, value } of places(run, input.value))
      if (run.values(part!, { value }).some(truthy)) emit({ value: path });
  },
  "recurse/1": (run, input, emit, part) => repeatedly(run, input, emit, (hit, more) => run.eval(part!, hit, more)),
  "recurse/2": (run, input, emit, part, condition) =>
    repeatedly(run, input, emit, (hit, more) =>
      run.eval(part!, hit, (next) => {
        for (const value of run.values(condition!, next)) if (truthy(value)) more(next);
      }),
    ),
  // The same results over and over: only together with a limit it ends.
  "repeat/1": (run, input, emit, part) => {
    for (;;) {
      run.step();
      run.eval(part!, input, emit);
    }
  },
  "while/2": (run, input, emit, condition, part) => {
    const go = (hit: Hit): void => {
      run.step();
      for (const value of run.values(condition!, hit)) {
        if (!truthy(value)) continue;
        emit(hit);
        run.eval(part!, hit, go);
      }
    };
    go(input);
  },
  "until/2": (run, input, emit, condition, part) => {
    const go = (hit: Hit): void => {
      run.step();
      for (const value of run.values(condition!, hit)) {
        if (truthy(value)) emit(hit);
        else run.eval(part!, hit, go);
      }
    };
    go(input);
  },
  "last/1": (run, input, emit, part) => {
    let last: Hit | undefined;
    run.eval(part!, input, (hit) => {
      last = hit;
    });
    if (last) emit(last);
  },
  "nth/1": (run, input, emit, part) => {
    for (const at of run.values(part!, input)) emit(child(input, numeric(at)));
  },
  "nth/2": (run, input, emit, count, part) => {
    for (const at of run.values(count!, input)) {
      if (numeric(at) < 0) throw new Misfit("a number of an item is not below nothing");
      let left = Math.floor(at as number);
      run.eval(part!, input, (hit) => {
        if (left-- === 0) emit(hit);
      });
    }
  },
  "skip/2": (run, input, emit, count, part) => {
    for (const most of run.values(count!, input)) {
      let left = numeric(most);
      run.eval(part!, input, (hit) => {
        if (left-- <= 0) emit(hit);
      });
    }
  },
  "isempty/1": (run, input, emit, part) => emit({ value: run.values(part!, input).length === 0 }),
  "any/2": (run, input, emit, source, part) =>
    emit({ value: run.values(source!, input).some((value) => run.values(part!, { value }).some(truthy)) }),
  "all/2": (run, input, emit, source, part) =>
    emit({ value: run.values(source!, input).every((value) => run.values(part!, { value }).every(truthy)) }),
  "range/1": (run, input, emit, to) => each(run, input, [to!], (end) => range(run, emit, [0, numeric(end), 1])),
  "range/2": (run, input, emit, from, to) =>
    each(run, input, [from!, to!], (start, end) => range(run, emit, [numeric(start), numeric(end), 1])),
  "range/3": (run, input, emit, ...parts) =>
    each(run, input, parts, (start, end, by) => range(run, emit, [numeric(start), numeric(end), numeric(by)])),
  "tonumber/0": plain(number),
  "tojson/0": plain(toJson),
  "fromjson/0": plain(parsed),
  "tostring/0": plain(toText),
  "floor/0": math(Math.floor),
  "ceil/0": math(Math.ceil),
  "round/0": math((value) => Math.sign(value) * Math.round(Math.abs(value))),
  "fabs/0": math(Math.abs),
  "abs/0": math(Math.abs),
  "sqrt/0": math(Math.sqrt),
  "utf8bytelength/0": plain((value) => Buffer.byteLength(textual(value))),
  "trimstr/1": withOne((value, cut) => {
    if (typeof value !== "string" || typeof cut !== "string" || cut === "") return value;
    const left = value.startsWith(cut) ? value.slice(cut.length) : value;
    return left.endsWith(cut) ? left.slice(0, -cut.length) : left;
  }),
  "trim/0": trim(/^\s+|\s+$/g),
  "ltrim/0": trim(/^\s+/),
  "rtrim/0": trim(/\s+$/),
  "explode/0": plain((value) => charsOf(textual(value)).map((char) => char.codePointAt(0))),
  "ascii_downcase/0": plain((value) => textual(value).replace(/[A-Z]/g, (letter) => letter.toLowerCase())),
  "ascii_upcase/0": plain((value) => textual(value).replace(/[a-z]/g, (letter) => letter.toUpperCase())),
  "join/1": withOne((value, by) => {
    const parts = (isObject(value) ? entriesOf(value).map((entry) => entry.value) : list(value)).map((one) => {
      if (typeof one === "object" && one !== null) throw new Misfit(`${typeOf(one)} cannot be joined`);
      return toText(one ?? "");
    });
    if (parts.length * textual(by).length > MAX_SUM) throw new TooMuch();
    return parts.join(by as string);
  }),
  "format/1": withOne((value, name) => {
    const text = FORMATS[`@${textual(name)}`];
    if (!text) throw new Misfit(`${name} is no format`);
    return text(value);
  }),
};
