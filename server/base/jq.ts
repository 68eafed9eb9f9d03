import { isDeepStrictEqual } from "node:util";
import { type Jq, parseJq } from "../../openapi/rules/jq-parse.ts";
import { type Fits, patternMatcher } from "./pattern.ts";

/** A place in a document: names of fields and numbers of items from the top. */
export type Path = (string | number)[];
/** A compiled expression. */
export type Program = Jq;

// What an expression may do before it is stopped: a document of 1.5 MB walked through a few times.
const MAX_STEPS = 500_000;
// What one computed value may hold, counted as if it were written out: lists that hold the same list twice grow by doubling.
const MAX_WEIGHT = 1_000_000;

interface Hit {
  /** Absent for a value that was computed: it stands nowhere. */
  path?: Path;
  value: unknown;
}

/** Reads an expression of the jq language and checks its functions; a text is what is wrong with it. */
export function compileJq(text: string): Program | string {
  try {
    const program = parseJq(text);
    const unknown = unknownCall(program);
    return unknown ? `the function ${unknown} is not supported` : program;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * The places an expression names in a document, as `path(…)` gives them. Where it does not fit the document (a field of a text, items of
 * nothing) it names none; `slow` when it does too much.
 */
export function pathsOf(program: Program, document: unknown): Path[] | "slow" {
  const run = new Run();
  const found: Path[] = [];
  try {
    run.eval(program, { path: [], value: document }, ({ path }) => {
      if (!path) throw new Misfit("it gives a value that is no place in the document");
      found.push(path);
    });
  } catch (error) {
    // A document so deep that the stack ends counts as too much, too.
    if (error instanceof TooMuch || error instanceof RangeError) return "slow";
    if (!(error instanceof Misfit)) throw error;
    return [];
  }
  return found;
}

class Misfit extends Error {}
class TooMuch extends Error {}

/** Takes what places name out of a copy; the last item of a list first, so that the others stay where they are. */
export function deletePaths<T>(document: T, paths: readonly Path[]): T {
  if (paths.length === 0) return document;
  const copy = structuredClone(document);
  for (const path of [...paths].sort((a, b) => comparePaths(b, a))) {
    const last = path.at(-1);
    let at: unknown = copy;
    // Own fields only: `__proto__` leads out of the document.
    for (const step of path.slice(0, -1)) at = owns(at, step) ? at[step] : undefined;
    if (last === undefined || !owns(at, last)) continue;
    if (Array.isArray(at)) at.splice(last as number, 1);
    else delete at[last];
  }
  return copy;
}

const owns = (at: unknown, step: string | number): at is Record<string | number, unknown> =>
  typeof at === "object" && at !== null && Object.hasOwn(at, step);

function comparePaths(a: Path, b: Path): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a[i]!, b[i]!];
    if (x !== y) return typeof x === "number" && typeof y === "number" ? x - y : String(x) < String(y) ? -1 : 1;
  }
  return a.length - b.length;
}

const truthy = (value: unknown): boolean => value !== null && value !== undefined && value !== false;
const typeOf = (value: unknown): string => (value === null || value === undefined ? "null" : Array.isArray(value) ? "array" : typeof value);
const isObject = (value: unknown): value is Record<string, unknown> => typeOf(value) === "object";

type Emit = (hit: Hit) => void;

class Run {
  #steps = 0;
  readonly fits: Fits = patternMatcher();
  readonly #weights = new WeakMap<object, number>();
  #made = 0;

  eval(node: Jq, input: Hit, emit: Emit): void {
    if (++this.#steps > MAX_STEPS) throw new TooMuch();
    switch (node.is) {
      case "identity":
        emit(input);
        return;
      case "recurse":
        this.recurse(input, emit);
        return;
      case "literal":
        emit({ value: node.value });
        return;
      case "pipe":
        this.eval(node.left, input, (hit) => this.eval(node.right, hit, emit));
        return;
      case "comma":
        this.eval(node.left, input, emit);
        this.eval(node.right, input, emit);
        return;
      case "index":
        this.eval(node.of, input, (of) => this.eval(node.key, bare(input), ({ value }) => emit(child(of, value))));
        return;
      case "slice":
        this.eval(node.of, input, (of) => this.#slice(node, bare(input), of, emit));
        return;
      case "each":
        this.eval(node.of, input, (of) => this.each(of, emit));
        return;
      case "maybe":
        try {
          this.eval(node.of, input, emit);
          return;
        } catch (error) {
          if (error instanceof Misfit) return;
          throw error;
        }
      case "else": {
        const good: Hit[] = [];
        try {
          this.eval(node.left, input, (hit) => truthy(hit.value) && good.push(hit));
        } catch (error) {
          if (!(error instanceof Misfit)) throw error;
        }
        for (const hit of good) emit(hit);
        if (good.length === 0) this.eval(node.right, input, emit);
        return;
      }
      case "and":
      case "or": {
        const stop = node.is === "or";
        this.eval(node.left, bare(input), (left) => {
          if (truthy(left.value) === stop) return emit({ value: stop });
          this.eval(node.right, bare(input), (right) => emit({ value: truthy(right.value) }));
        });
        return;
      }
      case "compare":
      case "compute": {
        const work = node.is === "compare" ? compare : compute;
        this.eval(node.right, bare(input), (right) =>
          this.eval(node.left, bare(input), (left) => emit({ value: this.made(work(node.operator, left.value, right.value)) })),
        );
        return;
      }
      case "list":
        emit({ value: node.of ? this.made(this.values(node.of, input)) : [] });
        return;
      case "if":
        this.eval(node.condition, bare(input), ({ value }) => this.eval(truthy(value) ? node.then : node.otherwise, input, emit));
        return;
      case "call":
        (CALLS[`${node.name}/${node.parts.length}`] as Call)(this, input, emit, ...node.parts);
        return;
    }
  }

  /** A value that was computed: all of them together are bounded, too. */
  made<T>(value: T): T {
    if (typeof value === "string" || (typeof value === "object" && value !== null)) {
      const weight = this.#weigh(value);
      this.#made += typeof value === "string" ? weight : 1;
      if (weight > MAX_WEIGHT || this.#made > 16 * MAX_WEIGHT) throw new TooMuch();
    }
    return value;
  }

  #weigh(value: unknown): number {
    if (typeof value === "string") return 1 + value.length;
    if (typeof value !== "object" || value === null) return 1;
    const known = this.#weights.get(value);
    if (known !== undefined) return known;
    let weight = 1;
    for (const one of Object.values(value)) weight += this.#weigh(one);
    this.#weights.set(value, weight);
    return weight;
  }

  values(node: Jq, input: Hit): unknown[] {
    const out: unknown[] = [];
    this.eval(node, bare(input), ({ value }) => out.push(value));
    return out;
  }

  each(of: Hit, emit: Emit): void {
    const { value } = of;
    if (Array.isArray(value)) for (let i = 0; i < value.length; i++) emit(child(of, i));
    else if (isObject(value)) for (const key of Object.keys(value)) emit(child(of, key));
    else throw new Misfit(`cannot iterate over ${typeOf(value)}`);
  }

  recurse(input: Hit, emit: Emit): void {
    if (++this.#steps > MAX_STEPS) throw new TooMuch();
    emit(input);
    if (typeof input.value === "object" && input.value !== null) this.each(input, (hit) => this.recurse(hit, emit));
  }

  /** As the items it names: for taking them out that is the same. */
  #slice(node: Extract<Jq, { is: "slice" }>, input: Hit, of: Hit, emit: Emit): void {
    if (of.value === null || of.value === undefined) return;
    if (!Array.isArray(of.value)) throw new Misfit("only lists have slices");
    const bound = (at: Jq | undefined, otherwise: number) => (at ? Number(this.values(at, input)[0]) : otherwise);
    const { length } = of.value;
    const clamp = (n: number) => Math.max(0, Math.min(length, n < 0 ? length + n : n));
    const [from, to] = [clamp(bound(node.from, 0)), clamp(bound(node.to, length))];
    for (let i = from; i < to; i++) emit(child(of, i));
  }
}

const bare = ({ value }: Hit): Hit => ({ value, path: [] });

/** A field or an item; of nothing it is nothing. */
function child({ path, value }: Hit, key: unknown): Hit {
  if (typeof key === "string" && (isObject(value) || value === null || value === undefined)) {
    const has = isObject(value) && Object.hasOwn(value, key);
    return { path: path && [...path, key], value: has ? value[key] : null };
  }
  if (typeof key === "number" && (Array.isArray(value) || value === null || value === undefined)) {
    const at = key < 0 && Array.isArray(value) ? value.length + key : key;
    return { path: path && [...path, at], value: (value as unknown[] | null)?.[at] ?? null };
  }
  throw new Misfit(`cannot index ${typeOf(value)} with ${typeOf(key)}`);
}

const RANK = ["null", "boolean", "number", "string", "array", "object"];
function compare(operator: string, a: unknown, b: unknown): boolean {
  if (operator === "==") return isDeepStrictEqual(a ?? null, b ?? null);
  if (operator === "!=") return !isDeepStrictEqual(a ?? null, b ?? null);
  const [x, y] = [typeOf(a), typeOf(b)];
  const order = x !== y ? RANK.indexOf(x) - RANK.indexOf(y) : (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
  return { "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0 }[operator] ?? false;
}

function compute(operator: string, a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number")
    return { "+": a + b, "-": a - b, "*": a * b, "/": a / b, "%": a % b }[operator] ?? null;
  if (operator === "+") {
    if (a === null || a === undefined) return b;
    if (b === null || b === undefined) return a;
    const both = (typeof a === "string" && typeof b === "string") || (Array.isArray(a) && Array.isArray(b));
    if (both && (a as string).length + (b as string).length > MAX_STEPS) throw new TooMuch();
    if (typeof a === "string" && typeof b === "string") return a + b;
    if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  }
  throw new Misfit(`${typeOf(a)} ${operator} ${typeOf(b)}`);
}

type Call = (run: Run, input: Hit, emit: Emit, ...parts: Jq[]) => void;

/** A function of the input alone. */
const plain =
  (work: (value: unknown) => unknown): Call =>
  (run, { value }, emit) =>
    emit({ value: run.made(work(value)) });
/** A function of the input and one argument. */
const withOne =
  (work: (value: unknown, argument: unknown, run: Run) => unknown): Call =>
  (run, input, emit, part) => {
    for (const argument of run.values(part!, input)) emit({ value: run.made(work(input.value, argument, run)) });
  };
const onlyIf =
  (test: (value: unknown) => boolean): Call =>
  (_run, input, emit) => {
    if (test(input.value)) emit(input);
  };

function text(value: unknown): string {
  if (typeof value !== "string") throw new Misfit(`${typeOf(value)} is no text`);
  return value;
}

function lengthOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "number") return Math.abs(value);
  if (typeof value === "boolean") throw new Misfit("a boolean has no length");
  return typeof value === "string" ? [...value].length : Object.keys(value as object).length;
}

function contains(a: unknown, b: unknown): boolean {
  if (typeof a === "string" && typeof b === "string") return a.includes(b);
  if (Array.isArray(a) && Array.isArray(b)) return b.every((x) => a.some((y) => contains(y, x)));
  if (isObject(a) && isObject(b)) return Object.entries(b).every(([key, x]) => Object.hasOwn(a, key) && contains(a[key], x));
  if (typeOf(a) !== typeOf(b)) throw new Misfit(`${typeOf(a)} cannot contain ${typeOf(b)}`);
  return isDeepStrictEqual(a, b);
}

function has(value: unknown, key: unknown): boolean {
  if (isObject(value) && typeof key === "string") return Object.hasOwn(value, key);
  if (Array.isArray(value) && typeof key === "number") return key >= 0 && key < value.length;
  throw new Misfit(`${typeOf(value)} has no ${typeOf(key)}`);
}

function matches(value: unknown, pattern: unknown, { fits }: Run): boolean {
  const found = fits(`[^]*?(?:${text(pattern)})[^]*`, text(value));
  if (found === "slow") throw new TooMuch();
  if (found === "invalid") throw new Misfit("it is no regular expression");
  return found;
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

const CALLS: Record<string, Call> = {
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
  "first/1": (run, input, emit, part) => {
    const found: Hit[] = [];
    run.eval(part!, input, (hit) => found.push(hit));
    if (found[0]) emit(found[0]);
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
    typeof value === "string" && typeof cut === "string" && value.startsWith(cut) ? value.slice(cut.length) : value,
  ),
  "split/1": withOne((value, by) => text(value).split(text(by))),
  "join/1": withOne((value, by) => (Array.isArray(value) ? value.join(text(by)) : text(value))),
  "index/1": withOne((value, of) => (text(value).includes(text(of)) ? text(value).indexOf(text(of)) : null)),
  "test/1": withOne(matches),
};

/** A function that nobody knows, anywhere in an expression. */
function unknownCall(node: Jq): string | undefined {
  if (node.is === "call" && !Object.hasOwn(CALLS, `${node.name}/${node.parts.length}`)) return `${node.name}/${node.parts.length}`;
  for (const part of Object.values(node).flat()) {
    const found = typeof part === "object" && part !== null && "is" in part ? unknownCall(part as Jq) : undefined;
    if (found) return found;
  }
  return undefined;
}
