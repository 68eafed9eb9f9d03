import { lineOf } from "../../../../openapi/rules/template/template-lex.ts";
import type { Arg, Command, Node, Pipe, Template } from "../../../../openapi/rules/template/template-parse.ts";
import { Budget, LIMITS } from "./budget.ts";
import { printed } from "./format.ts";
import { type FunctionTable, invoke } from "./function.ts";
import {
  isMap,
  isTrue,
  kindName,
  Opaque,
  StringMap,
  sortedKeys,
  TemplateError,
  typeName,
  type Value,
} from "./value.ts";
import { walking } from "./walk.ts";

export type MissingKey = "default" | "zero" | "error";

/** Runs a parsed template; errors are a `TemplateError` with the place, in Go's words. */
export function execute(template: Template, data: Value, functions: FunctionTable, missing: MissingKey): string {
  const run = new Run(template, functions, missing);
  const before = walking.visit;
  walking.visit = run.visit;
  try {
    run.walkAll(template.main, data, [{ name: "$", value: data }]);
    return run.out.join("");
  } finally {
    walking.visit = before;
  }
}

interface Variable {
  name: string;
  value: Value;
}
type Signal = "break" | "continue" | undefined;
const NONE = Symbol("no value is piped in");
type Piped = Value | typeof NONE;

class Run {
  readonly out: string[] = [];
  readonly #template: Template;
  readonly #functions: FunctionTable;
  readonly #missing: MissingKey;
  readonly #budget = new Budget();
  #written = 0;
  #depth = 0;
  #name = "base";

  constructor(template: Template, functions: FunctionTable, missing: MissingKey) {
    this.#template = template;
    this.#functions = functions;
    this.#missing = missing;
  }

  readonly visit = (bytes: number): void => (bytes ? this.#budget.grow(bytes) : this.#budget.step());

  walkAll(nodes: Node[], dot: Value, vars: Variable[]): Signal {
    const mark = vars.length;
    for (const node of nodes) {
      this.#budget.step();
      const signal = this.#walk(node, dot, vars);
      if (signal) {
        vars.length = mark;
        return signal;
      }
    }
    vars.length = mark;
    return undefined;
  }

  #write(text: string): void {
    this.#written += Buffer.byteLength(text);
    if (this.#written > LIMITS.bytes) throw new TemplateError("the template writes more than 1 MiB");
    this.out.push(text);
  }

  #walk(node: Node, dot: Value, vars: Variable[]): Signal {
    switch (node.kind) {
      case "text":
        this.#write(node.text);
        return undefined;
      case "break":
      case "continue":
        return node.kind;
      case "action": {
        const value = this.#pipe(node.pipe, dot, vars);
        if (node.pipe.declares.length === 0) this.#write(printed(value));
        return undefined;
      }
      case "template": {
        const body = this.#template.defined.get(node.name);
        if (!body) throw this.#fail(node, `template ${JSON.stringify(node.name)} not defined`);
        const data = node.pipe ? this.#pipe(node.pipe, dot, vars) : null;
        if (++this.#depth > LIMITS.depth) throw this.#fail(node, `exceeded maximum template depth (${LIMITS.depth})`);
        const outer = this.#name;
        this.#name = node.name;
        this.walkAll(body, data, [{ name: "$", value: data }]);
        this.#name = outer;
        this.#depth--;
        return undefined;
      }
      case "range":
        return this.#range(node, dot, vars);
      default: {
        const mark = vars.length;
        const value = this.#pipe(node.pipe, dot, vars);
        let signal: Signal;
        if (isTrue(value)) signal = this.walkAll(node.body, node.kind === "with" ? value : dot, vars);
        else if (node.otherwise) signal = this.walkAll(node.otherwise, dot, vars);
        vars.length = mark;
        return signal;
      }
    }
  }

  #range(node: Extract<Node, { kind: "if" | "with" | "range" }>, dot: Value, vars: Variable[]): Signal {
    const mark = vars.length;
    const over = this.#pipe(node.pipe, dot, vars);
    const { declares, assigns } = node.pipe;
    const inner = vars.length;
    const items = this.#items(node, over);
    for (const [key, value] of items) {
      this.#budget.step();
      const set = (name: string, one: Value) => {
        if (assigns) assign(vars, name, one);
        else vars.push({ name, value: one });
      };
      // Declared by the pipeline itself, its variables are set again at each turn.
      if (declares.length === 1) set(declares[0]!, typeof over === "bigint" ? key : value);
      if (declares.length === 2) {
        set(declares[0]!, key);
        set(declares[1]!, value);
      }
      const signal = this.walkAll(node.body, value, vars);
      vars.length = inner;
      if (signal === "break") break;
    }
    const signal = items.length === 0 && node.otherwise ? this.walkAll(node.otherwise, dot, vars) : undefined;
    vars.length = mark;
    return signal;
  }

  #items(node: { at: number; source: string; pipe: Pipe }, over: Value): [Value, Value][] {
    if (over === undefined || over === null) return [];
    if (Array.isArray(over)) return over.map((value, i) => [BigInt(i), value]);
    if (isMap(over)) return sortedKeys(over).map((key) => [key, over.get(key)]);
    if (typeof over === "bigint") {
      if (node.pipe.declares.length > 1)
        throw this.#fail(node, `can't use ${over} to iterate over more than one variable`);
      if (over > LIMITS.steps) throw this.#fail(node, `a range of more than ${LIMITS.steps}`);
      return Array.from({ length: Number(over > 0n ? over : 0n) }, (_, i) => [BigInt(i), BigInt(i)]);
    }
    throw this.#fail(node, `range can't iterate over ${printed(over)}`);
  }

  #pipe(pipe: Pipe, dot: Value, vars: Variable[]): Value {
    if (++this.#depth > LIMITS.depth * 2) throw this.#fail(pipe, "nested too deeply");
    let value: Piped = NONE;
    for (const command of pipe.commands) {
      this.#budget.step();
      value = this.#command(command, dot, vars, value);
    }
    const result = value === NONE ? undefined : (value as Value);
    // A range sets its variables itself.
    if (pipe.declares.length === 1) {
      if (pipe.assigns) assign(vars, pipe.declares[0]!, result);
      else vars.push({ name: pipe.declares[0]!, value: result });
    }
    this.#depth--;
    return result;
  }

  #command(command: Command, dot: Value, vars: Variable[], piped: Piped): Value {
    const first = command.args[0]!;
    if (first.kind === "function") return this.#call(first.name, command, dot, vars, piped);
    const hasArgs = command.args.length > 1 || piped !== NONE;
    if (hasArgs) {
      if (first.kind === "field" || first.kind === "chain" || first.kind === "variable") {
        const path = "path" in first ? first.path : [];
        if (path.length) {
          this.#value(first, dot, vars);
          throw this.#fail(first, `${path.at(-1)} has arguments but cannot be invoked as function`);
        }
      }
      throw this.#fail(first, `can't give argument to non-function ${first.source}`);
    }
    if (first.kind === "nil") throw this.#fail(first, "nil is not a command");
    return this.#value(first, dot, vars);
  }

  #call(name: string, command: Command, dot: Value, vars: Variable[], piped: Piped): Value {
    const given = command.args.slice(1);
    if (name === "and" || name === "or") return this.#decide(name, command, given, dot, vars, piped);
    const fn = this.#functions.get(name)!;
    const fixed = fn.takes.length;
    const count = given.length + (piped === NONE ? 0 : 1);
    if (fn.variadic ? count < fixed : count !== fixed) {
      const want = fn.variadic ? `at least ${fixed}` : `${fixed}`;
      throw this.#fail(command, `wrong number of args for ${name}: want ${want} got ${count}`);
    }
    const kindAt = (i: number) => fn.takes[i] ?? fn.variadic!;
    const args = given.map((arg, i) => this.#argument(arg, kindAt(i), dot, vars));
    if (piped !== NONE) args.push(this.#fits(command, piped as Value, kindAt(given.length)));
    try {
      return invoke(fn, args, this.#budget);
    } catch (error) {
      if (error instanceof TemplateError) throw this.#fail(command, `error calling ${name}: ${error.message}`);
      throw error;
    }
  }

  #decide(name: "and" | "or", command: Command, given: Arg[], dot: Value, vars: Variable[], piped: Piped): Value {
    if (given.length + (piped === NONE ? 0 : 1) === 0)
      throw this.#fail(command, `wrong number of args for ${name}: want at least 1 got 0`);
    let value: Value;
    for (const arg of given) {
      value = this.#argument(arg, "value", dot, vars);
      if (isTrue(value) === (name === "or")) return value;
    }
    return piped === NONE ? value : (piped as Value);
  }

  #argument(arg: Arg, kind: string, dot: Value, vars: Variable[]): Value {
    this.#budget.step();
    if (arg.kind === "nil") {
      if (kind === "map") return new Map();
      if (kind === "list") return [];
      if (kind === "any" || kind === "value") return null;
      throw this.#fail(arg, `cannot assign nil to ${kind}`);
    }
    if (arg.kind === "constant" && arg.ideal) {
      const value = arg.value as bigint | number;
      if (kind === "int") {
        if (typeof value === "bigint") return value;
        if (Number.isInteger(value)) return BigInt(value);
        throw this.#fail(arg, `expected integer; found ${arg.source}`);
      }
      if (kind === "float") return Number(value);
      if (kind !== "any" && kind !== "value") throw this.#fail(arg, `expected ${kind}; found ${arg.source}`);
      return value;
    }
    if (arg.kind === "function") {
      // A function as an argument is called without any.
      return this.#fits(
        arg,
        this.#call(arg.name, { args: [arg], at: arg.at, source: arg.source }, dot, vars, NONE),
        kind,
      );
    }
    return this.#fits(arg, this.#value(arg, dot, vars), kind);
  }

  #fits(node: { at: number; source: string }, value: Value, kind: string): Value {
    if (kind === "value") return value;
    if (kind === "any") return value === undefined ? null : value;
    if (value === undefined) {
      if (kind === "map") return new Map();
      if (kind === "list") return [];
      throw this.#fail(node, `invalid value; expected ${kind}`);
    }
    const isOfKind = KINDS[kind];
    if (isOfKind ? isOfKind(value) : value instanceof Opaque && value.type === kind) return value;
    const named = { map: "map[string]interface {}", list: "[]interface {}", float: "float64" }[kind] ?? kind;
    throw this.#fail(
      node,
      `wrong type for value; expected ${named}; got ${value === null ? "interface {}" : typeName(value)}`,
    );
  }

  #value(arg: Arg, dot: Value, vars: Variable[]): Value {
    switch (arg.kind) {
      case "dot":
        return dot;
      case "nil":
        return null;
      case "constant":
        return arg.value;
      case "field":
        return this.#fields(arg, dot, arg.path);
      case "variable":
        return this.#fields(arg, vars.findLast(({ name }) => name === arg.name)?.value, arg.path);
      case "chain":
        return this.#fields(arg, this.#value(arg.of, dot, vars), arg.path);
      case "pipe": {
        const mark = vars.length;
        const value = this.#pipe(arg.pipe, dot, vars);
        vars.length = mark;
        return value;
      }
      case "function":
        return this.#call(arg.name, { args: [arg], at: arg.at, source: arg.source }, dot, vars, NONE);
    }
  }

  #fields(node: { at: number; source: string }, from: Value, path: string[]): Value {
    let value = from;
    for (const name of path) {
      this.#budget.step();
      if (value === undefined) {
        if (this.#missing === "error") throw this.#fail(node, `nil data; no entry for key ${JSON.stringify(name)}`);
      } else if (value === null) throw this.#fail(node, `nil pointer evaluating interface {}.${name}`);
      else if (isMap(value)) {
        if (value.has(name)) value = value.get(name);
        else if (this.#missing === "error") throw this.#fail(node, `map has no entry for key ${JSON.stringify(name)}`);
        else value = this.#missing === "zero" ? zeroOf(value) : undefined;
      } else {
        const member: Value = value instanceof Opaque ? value.member(name) : undefined;
        if (member === undefined) throw this.#fail(node, `can't evaluate field ${name} in type ${kindName(value)}`);
        value = member;
      }
    }
    return value;
  }

  #fail({ at, source }: { at: number; source: string }, why: string): TemplateError {
    const text = this.#template.source;
    const line = text.slice(0, at).lastIndexOf("\n");
    const shown = source.length > 20 ? `${source.slice(0, 20)}...` : source;
    const name = this.#name;
    return new TemplateError(
      `template: base:${lineOf(text, at)}:${Buffer.byteLength(text.slice(line + 1, at))}: executing ${JSON.stringify(name)} at <${shown}>: ${why}`,
    );
  }
}

function assign(vars: Variable[], name: string, value: Value): void {
  const found = vars.findLast((one) => one.name === name);
  if (found) found.value = value;
}

const zeroOf = (map: Value): Value => (map instanceof StringMap ? "" : null);

/** What an argument of each kind may be; of the other kinds, an object of that type. */
const KINDS: Readonly<Record<string, (value: Value) => boolean>> = {
  string: (value) => typeof value === "string",
  int: (value) => typeof value === "bigint",
  bool: (value) => typeof value === "boolean",
  float: (value) => typeof value === "number",
  map: (value) => isMap(value) && !(value instanceof StringMap),
  list: (value) => Array.isArray(value),
};
