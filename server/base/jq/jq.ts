import { bound, type Jq, type Made, signature } from "../../../openapi/rules/jq/tree.ts";
import type { Call } from "./calls.ts";
import { update } from "./changes.ts";
import { CALLS } from "./compile.ts";
import { FORMATS } from "./formats.ts";
import { type Path, placesOf } from "./paths.ts";
import { finder } from "./patterns.ts";
import {
  Break,
  bare,
  child,
  compare,
  compute,
  countCompared,
  type Emit,
  type Find,
  type Hit,
  isObject,
  MAX_SUM,
  Misfit,
  resetCompared,
  sliceOf,
  TooMuch,
  truthy,
  typeOf,
} from "./values.ts";

export { compileJq } from "./compile.ts";
export { deletePaths, type Path } from "./paths.ts";

/** A compiled expression. */
export type Program = Jq;

// What an expression may do before it is stopped: a document of 1.5 MB walked through a few times.
const MAX_STEPS = 500_000;
// What one computed value may hold, counted as if it were written out: lists that hold the same list twice grow by doubling.
const MAX_WEIGHT = 1_000_000;

/**
 * The places an expression names in a document, as `path(…)` gives them. Where it does not fit the document (a field of a text, items of
 * nothing) it names none; `slow` when it does too much. `spent` receives the number of steps.
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

type Node<K extends Jq["is"]> = Extract<Jq, { is: K }>;

class Run {
  #steps = 0;

  get steps(): number {
    return this.#steps;
  }
  readonly find: Find = finder();
  readonly #weights = new WeakMap<object, number>();
  #made = 0;

  step(): void {
    if (++this.#steps > MAX_STEPS) throw new TooMuch();
  }

  /** What each form of an expression does. The forms that a document is walked with come first. */
  eval(node: Jq, input: Hit, emit: Emit): void {
    this.step();
    switch (node.is) {
      case "identity":
        emit(input);
        break;
      case "recurse":
        this.recurse(input, emit);
        break;
      case "literal":
        emit({ value: node.value });
        break;
      case "pipe":
        this.eval(node.left, input, (hit) => this.eval(node.right, hit, emit));
        break;
      case "comma":
        this.eval(node.left, input, emit);
        this.eval(node.right, input, emit);
        break;
      case "index":
        this.#index(node, input, emit);
        break;
      case "each":
        this.eval(node.of, input, (of) => this.each(of, emit));
        break;
      case "compare":
      case "compute":
        this.#compute(node, input, emit);
        break;
      case "call":
        if (node.own) this.#apply(node, input, emit);
        else (CALLS[signature(node.name, node.parts)] as Call)(this, input, emit, ...node.parts);
        break;
      case "list":
        emit({ value: node.of ? this.made(this.values(node.of, input)) : [] });
        break;
      default:
        this.#choose(node, input, emit);
    }
  }

  #choose(node: Jq, input: Hit, emit: Emit): void {
    switch (node.is) {
      case "if":
        this.#if(node, input, emit);
        break;
      case "else":
        this.#otherwise(node, input, emit);
        break;
      case "and":
      case "or":
        this.#both(node, node.is === "or", input, emit);
        break;
      case "maybe":
        this.#try(node.of, input, emit);
        break;
      case "try":
        this.#try(node.of, input, emit, node.handler);
        break;
      case "slice":
        this.eval(node.of, input, (of) => this.#slice(node, bare(input), of, emit));
        break;
      case "object":
        this.#object(node.entries, bare(input), (value) => emit({ value: this.made(value) }));
        break;
      case "text":
        this.#text(node, bare(input), (value) => emit({ value: this.made(value) }));
        break;
      default:
        this.#name(node, input, emit);
    }
  }

  /** Forms that give a name to a value, or to a place in the expression. */
  #name(node: Jq, input: Hit, emit: Emit): void {
    switch (node.is) {
      case "reduce":
        this.#reduce(node, input, emit);
        break;
      case "foreach":
        this.#foreach(node, input, emit);
        break;
      case "bind":
        this.#bind(node, input, emit);
        break;
      case "label":
        this.#label(node, input, emit);
        break;
      case "break":
        throw new Break(node.label);
      case "variable":
        throw new Misfit(`$${node.name} is not defined`);
      case "update":
        update(this, input, node, emit);
        break;
      case "choices":
        this.#choices(node.of, input, emit);
        break;
      case "def":
        this.#define(node, input, emit);
        break;
    }
  }

  #index(node: Node<"index">, input: Hit, emit: Emit): void {
    this.eval(node.of, input, (of) => this.eval(node.key, bare(input), ({ value }) => emit(child(of, value))));
  }

  #if(node: Node<"if">, input: Hit, emit: Emit): void {
    this.eval(node.condition, bare(input), ({ value }) =>
      this.eval(truthy(value) ? node.then : node.otherwise, input, emit),
    );
  }

  /** `//`. An error on the left is an error: only `?` forgives one. */
  #otherwise(node: { left: Jq; right: Jq }, input: Hit, emit: Emit): void {
    const good: Hit[] = [];
    this.eval(node.left, input, (hit) => truthy(hit.value) && good.push(hit));
    for (const hit of good) emit(hit);
    if (good.length === 0) this.eval(node.right, input, emit);
  }

  #bind(node: Node<"bind">, input: Hit, emit: Emit): void {
    this.eval(node.of, bare(input), ({ value }) => {
      this.#steps += node.size;
      this.eval(bound(node.body, { name: node.name, value }), input, emit);
    });
  }

  /** A state is a value and no place, as in the ecosystem's jq. */
  #reduce(node: Node<"reduce">, input: Hit, emit: Emit): void {
    this.eval(node.init, bare(input), (first) => {
      let state: unknown = first.value;
      this.#each(node, input, (update) => {
        const next = this.values(update, { value: state });
        if (next.length > 0) state = next.at(-1);
      });
      emit({ value: state });
    });
  }

  #foreach(node: Node<"foreach">, input: Hit, emit: Emit): void {
    this.eval(node.init, bare(input), (first) => {
      let state: unknown = first.value;
      this.#each(node, input, (update, extract) => {
        this.eval(update, { value: state }, (hit) => {
          state = hit.value;
          this.eval(extract!, { value: state }, ({ value }) => emit({ value }));
        });
      });
    });
  }

  /** `and` and `or`: the right side is asked only where the left one does not decide. */
  #both(node: { left: Jq; right: Jq }, stop: boolean, input: Hit, emit: Emit): void {
    this.eval(node.left, bare(input), (left) => {
      if (truthy(left.value) === stop) return emit({ value: stop });
      this.eval(node.right, bare(input), (right) => emit({ value: truthy(right.value) }));
    });
  }

  #compute(node: Node<"compare" | "compute">, input: Hit, emit: Emit): void {
    const work = node.is === "compare" ? compare : compute;
    this.eval(node.right, bare(input), (right) =>
      this.eval(node.left, bare(input), (left) =>
        emit({ value: this.made(work(node.operator, left.value, right.value)) }),
      ),
    );
  }

  /** What comes after a definition, with the function put in; the function itself may call itself. */
  #define({ name, params, body, rest, size }: Node<"def">, input: Hit, emit: Emit): void {
    this.#steps += size;
    const calls = signature(name, params);
    const value: Made = { params, body, size };
    value.body = bound(body, { calls, value });
    this.eval(bound(rest, { calls, value }), input, emit);
  }

  /** The parts of a call are no values: the function evaluates them where it uses them. */
  #apply({ name, parts, made }: Node<"call">, input: Hit, emit: Emit): void {
    if (!made) throw new Misfit(`${name} is not defined`);
    this.#steps += made.size * parts.length;
    const body = made.params.reduce(
      (rest, calls, i) => bound(rest, { calls, value: { params: [], body: parts[i]!, size: 1 } }),
      made.body,
    );
    this.eval(body, input, emit);
  }

  /** The first choice without an error; what one gave before its error counts. */
  #choices([first, ...others]: readonly Jq[], input: Hit, emit: Emit): void {
    if (others.length === 0) {
      this.eval(first!, input, emit);
      return;
    }
    const good: Hit[] = [];
    let failed = false;
    try {
      this.eval(first!, input, (hit) => good.push(hit));
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      failed = true;
    }
    for (const hit of good) emit(hit);
    if (failed) this.#choices(others, input, emit);
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
    else if (isObject(value)) {
      const keys = Object.keys(value).sort();
      // They are sorted also where only the first is taken.
      countCompared(keys.length);
      for (const key of keys) emit(child(of, key));
    } else throw new Misfit(`cannot iterate over ${typeOf(value)}`);
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

  /** Values before an error count; errors of later expressions are not caught here. */
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
    this.#steps += node.size;
    const label = {};
    try {
      this.eval(bound(node.body, { label: node.name, value: label }), input, emit);
    } catch (error) {
      if (!(error instanceof Break) || error.label !== label) throw error;
    }
  }
}
