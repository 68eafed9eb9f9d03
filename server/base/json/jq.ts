import { type Fits, patternMatcher } from "../../../openapi/pattern-match.ts";
import { parseJq } from "../../../openapi/rules/jq/parse.ts";
import { bound, type Jq } from "../../../openapi/rules/jq/tree.ts";
import { type Call, CALLS as MAIN } from "./jq-calls.ts";
import { FORMATS } from "./jq-formats.ts";
import { LISTS } from "./jq-lists.ts";
import { type Path, placesOf } from "./jq-paths.ts";
import {
  Break,
  bare,
  child,
  compare,
  compute,
  type Emit,
  type Hit,
  isObject,
  MAX_SUM,
  Misfit,
  resetCompared,
  sliceOf,
  TooMuch,
  truthy,
  typeOf,
} from "./jq-values.ts";

export { deletePaths, type Path } from "./jq-paths.ts";

const CALLS: Record<string, Call> = {
  ...MAIN,
  ...LISTS,
  ...Object.fromEntries(
    Object.entries(FORMATS).map(([name, text]): [string, Call] => [
      `${name}/0`,
      (run, { value }, emit) => emit({ value: run.made(text(value)) }),
    ]),
  ),
};

/** A compiled expression. */
export type Program = Jq;

// What an expression may do before it is stopped: a document of 1.5 MB walked through a few times.
const MAX_STEPS = 500_000;
// What one computed value may hold, counted as if it were written out: lists that hold the same list twice grow by doubling.
const MAX_WEIGHT = 1_000_000;

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
 * nothing) it names none; `slow` when it does too much. `spent` is told how much it did.
 */
export function pathsOf(program: Program, document: unknown, spent?: (steps: number) => void): Path[] | "slow" {
  const run = new Run();
  resetCompared();
  const found: Path[] = [];
  try {
    run.eval(program, { path: [], value: document }, ({ path }) => {
      if (!path) throw new Misfit("it gives a value that is no place in the document");
      for (const place of placesOf(path)) found.push(place);
    });
  } catch (error) {
    // A document so deep that the stack ends counts as too much, too.
    if (error instanceof TooMuch || error instanceof RangeError) return "slow";
    if (!(error instanceof Misfit)) throw error;
    return [];
  } finally {
    spent?.(run.steps);
  }
  return found;
}

/** The node of a form; some forms share a node's type. */
type NodeOf<K extends Jq["is"], N = Jq> = N extends { is: infer I } ? (K extends I ? N : never) : never;

type Form<N = Jq> = (run: Run, node: N, input: Hit, emit: Emit) => void;

class Run {
  #steps = 0;

  get steps(): number {
    return this.#steps;
  }
  readonly fits: Fits = patternMatcher();
  readonly #weights = new WeakMap<object, number>();
  #made = 0;

  step(): void {
    if (++this.#steps > MAX_STEPS) throw new TooMuch();
  }

  eval(node: Jq, input: Hit, emit: Emit): void {
    this.step();
    (Run.#FORMS[node.is] as Form)(this, node, input, emit);
  }

  /** What each form of an expression does; one that calls a function is in the tables of functions. */
  static readonly #FORMS: { [K in Jq["is"]]: Form<NodeOf<K>> } = {
    identity: (_run, _node, input, emit) => emit(input),
    recurse: (run, _node, input, emit) => run.recurse(input, emit),
    literal: (_run, node, _input, emit) => emit({ value: node.value }),
    pipe: (run, node, input, emit) => run.eval(node.left, input, (hit) => run.eval(node.right, hit, emit)),
    comma: (run, node, input, emit) => {
      run.eval(node.left, input, emit);
      run.eval(node.right, input, emit);
    },
    index: (run, node, input, emit) =>
      run.eval(node.of, input, (of) => run.eval(node.key, bare(input), ({ value }) => emit(child(of, value)))),
    slice: (run, node, input, emit) => run.eval(node.of, input, (of) => run.#slice(node, bare(input), of, emit)),
    each: (run, node, input, emit) => run.eval(node.of, input, (of) => run.each(of, emit)),
    maybe: (run, node, input, emit) => run.#try(node.of, input, emit),
    try: (run, node, input, emit) => run.#try(node.of, input, emit, node.handler),
    bind: (run, node, input, emit) =>
      run.eval(node.of, bare(input), ({ value }) => {
        run.#steps += node.size;
        run.eval(bound(node.body, { name: node.name, value }), input, emit);
      }),
    label: (run, node, input, emit) => {
      run.#steps += node.size;
      run.#label(node, input, emit);
    },
    break: (_run, node) => {
      throw new Break(node.label);
    },
    variable: (_run, node) => {
      throw new Misfit(`$${node.name} is not defined`);
    },
    else: (run, node, input, emit) => {
      // An error on the left is an error: only `?` forgives one.
      const good: Hit[] = [];
      run.eval(node.left, input, (hit) => truthy(hit.value) && good.push(hit));
      for (const hit of good) emit(hit);
      if (good.length === 0) run.eval(node.right, input, emit);
    },
    and: (run, node, input, emit) => run.#both(node, false, input, emit),
    or: (run, node, input, emit) => run.#both(node, true, input, emit),
    compare: (run, node, input, emit) =>
      run.#pairs(node, input, (left, right) => emit({ value: run.made(compare(node.operator, left, right)) })),
    compute: (run, node, input, emit) =>
      run.#pairs(node, input, (left, right) => emit({ value: run.made(compute(node.operator, left, right)) })),
    list: (run, node, input, emit) => emit({ value: node.of ? run.made(run.values(node.of, input)) : [] }),
    object: (run, node, input, emit) =>
      run.#object(node.entries, bare(input), (value) => emit({ value: run.made(value) })),
    text: (run, node, input, emit) => run.#text(node, bare(input), (value) => emit({ value: run.made(value) })),
    reduce: (run, node, input, emit) =>
      // A state is a value and no place, as in the ecosystem's jq.
      run.eval(node.init, bare(input), (first) => {
        let state: unknown = first.value;
        run.#each(node, input, (update) => {
          const next = run.values(update, { value: state });
          if (next.length > 0) state = next.at(-1);
        });
        emit({ value: state });
      }),
    foreach: (run, node, input, emit) =>
      run.eval(node.init, bare(input), (first) => {
        let state: unknown = first.value;
        run.#each(node, input, (update, extract) => {
          run.eval(update, { value: state }, (hit) => {
            state = hit.value;
            run.eval(extract!, { value: state }, ({ value }) => emit({ value }));
          });
        });
      }),
    if: (run, node, input, emit) =>
      run.eval(node.condition, bare(input), ({ value }) =>
        run.eval(truthy(value) ? node.then : node.otherwise, input, emit),
      ),
    call: (run, node, input, emit) =>
      (CALLS[`${node.name}/${node.parts.length}`] as Call)(run, input, emit, ...node.parts),
  };

  /** `and` and `or`: the right side is asked only where the left one does not decide. */
  #both(node: { left: Jq; right: Jq }, stop: boolean, input: Hit, emit: Emit): void {
    this.eval(node.left, bare(input), (left) => {
      if (truthy(left.value) === stop) return emit({ value: stop });
      this.eval(node.right, bare(input), (right) => emit({ value: truthy(right.value) }));
    });
  }

  #pairs(node: { left: Jq; right: Jq }, input: Hit, put: (left: unknown, right: unknown) => void): void {
    this.eval(node.right, bare(input), (right) =>
      this.eval(node.left, bare(input), (left) => put(left.value, right.value)),
    );
  }

  /** For each value of a loop its parts with the value put in. */
  #each(node: Extract<Jq, { is: "reduce" | "foreach" }>, input: Hit, turn: (update: Jq, extract?: Jq) => void): void {
    this.eval(node.of, bare(input), ({ value }) => {
      this.#steps += node.size;
      const put = (part: Jq) => bound(part, { name: node.name, value });
      turn(put(node.update), node.is === "foreach" ? put(node.extract) : undefined);
    });
  }

  /** An object for each choice of the values of its entries. */
  #object(
    [entry, ...rest]: readonly [Jq, Jq][],
    input: Hit,
    emit: (value: object) => void,
    made: readonly [string, unknown][] = [],
  ): void {
    if (!entry) {
      emit(Object.fromEntries(made));
      return;
    }
    this.eval(entry[0], input, ({ value: key }) => {
      if (typeof key !== "string") throw new Misfit(`${typeOf(key)} is no name of a field`);
      this.eval(entry[1], input, ({ value }) => this.#object(rest, input, emit, [...made, [key, value ?? null]]));
    });
  }

  /** The values of the first part change soonest, as in the ecosystem's jq. */
  #text(
    { format, parts }: { format: string; parts: Jq[] },
    input: Hit,
    emit: (text: string) => void,
    after = "",
  ): void {
    const part = parts.at(-1);
    if (!part) {
      emit(after);
      return;
    }
    if (after.length > MAX_SUM) throw new TooMuch();
    this.eval(part, input, ({ value }) => {
      // What is written and what is put in take turns.
      const text = parts.length % 2 === 1 ? String(value) : FORMATS[format]!(value);
      this.#text({ format, parts: parts.slice(0, -1) }, input, emit, text + after);
    });
  }

  /** A value that was computed: all of them together are bounded, too. */
  made<T>(value: T): T {
    if (typeof value === "string" || (typeof value === "object" && value !== null)) {
      const weight = this.#weigh(value);
      // A list that grows item by item is copied each time.
      this.#made +=
        typeof value === "string" ? weight : 1 + 4 * (Array.isArray(value) ? value.length : Object.keys(value).length);
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
    // In the order of their names, as Argo CD's jq has them: `first(.spec[])` then means the same field.
    else if (isObject(value)) for (const key of Object.keys(value).sort()) emit(child(of, key));
    else throw new Misfit(`cannot iterate over ${typeOf(value)}`);
  }

  recurse(input: Hit, emit: Emit): void {
    if (++this.#steps > MAX_STEPS) throw new TooMuch();
    emit(input);
    if (typeof input.value === "object" && input.value !== null) this.each(input, (hit) => this.recurse(hit, emit));
  }

  #slice(node: Extract<Jq, { is: "slice" }>, input: Hit, of: Hit, emit: Emit): void {
    const at = (part: Jq | undefined): number | undefined => {
      const value = part && this.values(part, input)[0];
      if (value !== undefined && value !== null && typeof value !== "number")
        throw new Misfit("the bounds of a slice are numbers");
      return value ?? undefined;
    };
    emit(sliceOf(of, at(node.from), at(node.to)));
  }

  /** What comes before an error counts; an error of what comes after is not caught here. */
  #try(node: Jq, input: Hit, emit: Emit, handler?: Jq): void {
    const good: Hit[] = [];
    let caught: Misfit | undefined;
    try {
      this.eval(node, input, (hit) => good.push(hit));
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      caught = error;
    }
    for (const hit of good) emit(hit);
    if (caught && handler) this.eval(handler, { value: caught.value }, emit);
  }

  #label(node: Extract<Jq, { is: "label" }>, input: Hit, emit: Emit): void {
    const label = {};
    try {
      this.eval(bound(node.body, { label: node.name, value: label }), input, emit);
    } catch (error) {
      if (!(error instanceof Break) || error.label !== label) throw error;
    }
  }
}

/** A function that does not exist, anywhere in an expression. */
function unknownCall(node: Jq): string | undefined {
  if (node.is === "call" && !Object.hasOwn(CALLS, `${node.name}/${node.parts.length}`))
    return `${node.name}/${node.parts.length}`;
  for (const part of Object.values(node).flat(2)) {
    const found = typeof part === "object" && part !== null && "is" in part ? unknownCall(part as Jq) : undefined;
    if (found) return found;
  }
  return undefined;
}
