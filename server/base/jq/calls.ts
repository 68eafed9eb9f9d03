import type { Jq } from "../../../openapi/rules/jq/tree.ts";
import { hitAt, stepsOf } from "./paths.ts";
import {
  Break,
  bare,
  bounded,
  charsOf,
  child,
  compare,
  countCompared,
  countText,
  type Emit,
  type Find,
  type Hit,
  isObject,
  Misfit,
  truthy,
  typeOf,
} from "./values.ts";

/** What a function needs of the evaluation that it is part of. */
export interface Run {
  readonly find: Find;
  eval(node: Jq, input: Hit, emit: Emit): void;
  values(node: Jq, input: Hit): unknown[];
  each(of: Hit, emit: Emit): void;
  recurse(input: Hit, emit: Emit): void;
  made<T>(value: T): T;
  /** Counts one more step, and ends what takes too many. */
  step(): void;
}

export type Call = (run: Run, input: Hit, emit: Emit, ...parts: Jq[]) => void;

/** A function of the input alone. */
const plain =
  (work: (value: unknown) => unknown): Call =>
  (run, { value }, emit) => {
    countText(value);
    emit({ value: run.made(work(value)) });
  };
/** A function of the input and one argument. */
const withOne =
  (work: (value: unknown, argument: unknown, run: Run) => unknown): Call =>
  (run, input, emit, part) => {
    for (const argument of run.values(part!, input)) {
      countText(input.value);
      emit({ value: run.made(work(input.value, argument, run)) });
    }
  };
const onlyIf =
  (test: (value: unknown) => boolean): Call =>
  (_run, input, emit) => {
    if (test(input.value)) emit(input);
  };

function text(value: unknown): string {
  if (typeof value !== "string") throw new Misfit(`${typeOf(value)} is not text`);
  return value;
}

function lengthOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "number") return Math.abs(value);
  if (typeof value === "boolean") throw new Misfit("a boolean has no length");
  if (typeof value === "string") return charsOf(value).length;
  const size = Array.isArray(value) ? value.length : Object.keys(value as object).length;
  if (!Array.isArray(value)) countCompared(size);
  return size;
}

function contains(a: unknown, b: unknown): boolean {
  if (typeOf(a) !== typeOf(b)) throw new Misfit(`${typeOf(a)} cannot contain ${typeOf(b)}`);
  return holds(a, b);
}

/** Within lists and objects values of different sorts are different, and no error. */
function holds(a: unknown, b: unknown): boolean {
  countCompared();
  if (typeof a === "string" && typeof b === "string") return a.includes(b);
  if (Array.isArray(a) && Array.isArray(b)) return bounded(b, a).every((x) => a.some((y) => holds(y, x)));
  if (isObject(a) && isObject(b))
    return Object.entries(b).every(([key, x]) => Object.hasOwn(a, key) && holds(a[key], x));
  return typeOf(a) === typeOf(b) && compare("==", a, b);
}

function has(value: unknown, key: unknown): boolean {
  if (isObject(value) && typeof key === "string") return Object.hasOwn(value, key);
  if (value === null && (typeof key === "number" || typeof key === "string")) return false;
  if (Array.isArray(value) && typeof key === "number") return key >= 0 && key < value.length;
  throw new Misfit(`${typeOf(value)} has no ${typeOf(key)}`);
}

const some: Call = (run, input, emit, part) => {
  let found = false;
  run.each(bare(input), (hit) => {
    found ||= part ? run.values(part, hit).some(truthy) : truthy(hit.value);
  });
  emit({ value: found });
};
const every: Call = (run, input, emit, part) => {
  let all = true;
  run.each(bare(input), (hit) => {
    all &&= part ? run.values(part, hit).every(truthy) : truthy(hit.value);
  });
  emit({ value: all });
};

/** The first results of an expression; the rest is not computed. */
function firstFew(run: Run, input: Hit, emit: Emit, { part, count }: { part: Jq; count: number }): void {
  if (count <= 0) return;
  const found: Hit[] = [];
  const enough = new Break(found);
  try {
    run.eval(part, input, (hit) => {
      if (found.push(hit) >= count) throw enough;
    });
  } catch (error) {
    // Values before an error count, and so does the error.
    if (error !== enough) {
      for (const hit of found) emit(hit);
      throw error;
    }
  }
  for (const hit of found) emit(hit);
}

export const CALLS: Record<string, Call> = {
  "select/1": (run, input, emit, part) => {
    for (const value of run.values(part!, input)) if (truthy(value)) emit(input);
  },
  "empty/0": () => {},
  "not/0": plain((value) => !truthy(value)),
  "recurse/0": (run, input, emit) => run.recurse(input, emit),
  "values/0": onlyIf((value) => value !== null && value !== undefined),
  "nulls/0": onlyIf((value) => value === null || value === undefined),
  "strings/0": onlyIf((value) => typeof value === "string"),
  "numbers/0": onlyIf((value) => typeof value === "number"),
  "booleans/0": onlyIf((value) => typeof value === "boolean"),
  "arrays/0": onlyIf(Array.isArray),
  "objects/0": onlyIf(isObject),
  "iterables/0": onlyIf((value) => typeof value === "object" && value !== null),
  "scalars/0": onlyIf((value) => typeof value !== "object" || value === null),
  "first/0": (_run, input, emit) => emit(child(input, 0)),
  "last/0": (_run, input, emit) => emit(child(input, -1)),
  "first/1": (run, input, emit, part) => firstFew(run, input, emit, { part: part!, count: 1 }),
  "limit/2": (run, input, emit, count, part) => {
    for (const most of run.values(count!, input)) {
      if (typeof most !== "number" || most < 0) throw new Misfit("a limit is a number and not below nothing");
      firstFew(run, input, emit, { part: part!, count: most });
    }
  },
  "IN/1": (run, input, emit, part) =>
    emit({ value: run.values(part!, input).some((value) => compare("==", value, input.value)) }),
  "IN/2": (run, input, emit, source, part) => {
    const known = run.values(part!, input);
    emit({ value: run.values(source!, input).some((one) => known.some((value) => compare("==", value, one))) });
  },
  "getpath/1": (run, input, emit, part) => {
    for (const path of run.values(part!, input)) {
      const { value, path: place } = hitAt(input.value, stepsOf(path));
      emit({ value, path: input.path && place && [...input.path, ...place] });
    }
  },
  "error/0": (_run, { value }) => {
    throw new Misfit(typeof value === "string" ? value : JSON.stringify(value), value);
  },
  "error/1": (run, input, _emit, part) => {
    for (const value of run.values(part!, input))
      throw new Misfit(typeof value === "string" ? value : JSON.stringify(value), value);
  },
  "map/1": (run, input, emit, part) => {
    const out: unknown[] = [];
    run.each(bare(input), (hit) => run.eval(part!, bare(hit), ({ value }) => out.push(value)));
    emit({ value: out });
  },
  "any/0": some,
  "any/1": some,
  "all/0": every,
  "all/1": every,
  "length/0": plain(lengthOf),
  "type/0": plain(typeOf),
  "keys/0": plain((value) => {
    if (typeof value !== "object" || value === null) throw new Misfit("it has no keys");
    return Array.isArray(value) ? [...value.keys()] : Object.keys(value).sort();
  }),
  "tostring/0": plain((value) => (typeof value === "string" ? value : JSON.stringify(value))),
  "ascii_downcase/0": plain((value) => text(value).toLowerCase()),
  "ascii_upcase/0": plain((value) => text(value).toUpperCase()),
  "has/1": withOne(has),
  "contains/1": withOne(contains),
  "inside/1": withOne((value, argument) => contains(argument, value)),
  "startswith/1": withOne((value, argument) => text(value).startsWith(text(argument))),
  "endswith/1": withOne((value, argument) => text(value).endsWith(text(argument))),
  "ltrimstr/1": withOne((value, cut) =>
    text(value).startsWith(text(cut)) ? text(value).slice(text(cut).length) : value,
  ),
  "rtrimstr/1": withOne((value, cut) =>
    text(value).endsWith(text(cut)) ? text(value).slice(0, text(value).length - text(cut).length) : value,
  ),
  "split/1": withOne((value, by) => text(value).split(text(by))),
  "join/1": withOne((value, by) => (Array.isArray(value) ? value.join(text(by)) : text(value))),
  "index/1": withOne((value, of) => (text(value).includes(text(of)) ? text(value).indexOf(text(of)) : null)),
};
