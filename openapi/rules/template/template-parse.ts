import { lex, lineOf, TemplateError, type TemplateToken, unquote } from "./template-lex.ts";

/** What can be written out in a template: an int is a bigint. */
type Constant = boolean | string | bigint | number;

/** Where a node is and how it was written, for messages. */
interface Placed {
  at: number;
  source: string;
}
export type Arg = Placed &
  (
    | { kind: "dot" | "nil" }
    | { kind: "constant"; value: Constant; ideal?: "int" | "float" }
    | { kind: "field"; path: string[] }
    | { kind: "variable"; name: string; path: string[] }
    | { kind: "function"; name: string }
    | { kind: "chain"; of: Arg; path: string[] }
    | { kind: "pipe"; pipe: Pipe }
  );
export interface Command extends Placed {
  args: Arg[];
}
export interface Pipe extends Placed {
  declares: string[];
  assigns: boolean;
  commands: Command[];
}
export type Node =
  | { kind: "text"; text: string }
  | (Placed & { kind: "action"; pipe: Pipe })
  | (Placed & { kind: "if" | "with" | "range"; pipe: Pipe; body: Node[]; otherwise?: Node[] })
  | (Placed & { kind: "template"; name: string; pipe?: Pipe })
  | (Placed & { kind: "break" | "continue" });

export interface Template {
  source: string;
  main: Node[];
  defined: Map<string, Node[]>;
}

const MAX_SOURCE = 1_048_576;
const MAX_DEPTH = 200;

/** Parses a template; `known` tells whether there is a function of a name. */
export function parse(source: string, known: (name: string) => boolean): Template {
  if (source.length > MAX_SOURCE) throw new TemplateError("template: base: longer than 1 MiB");
  return new Parser(source, known).template();
}

class Parser {
  readonly #source: string;
  readonly #known: (name: string) => boolean;
  readonly #tokens: TemplateToken[];
  readonly #defined = new Map<string, Node[]>();
  #at = 0;
  #vars: string[] = ["$"];
  #ranges = 0;
  #depth = 0;

  constructor(source: string, known: (name: string) => boolean) {
    this.#source = source;
    this.#known = known;
    this.#tokens = lex(source);
  }

  template(): Template {
    const { nodes, end } = this.#list(true);
    if (end !== "eof") throw this.#fail(`unexpected {{${end}}}`);
    return { source: this.#source, main: nodes, defined: this.#defined };
  }

  #fail(why: string): TemplateError {
    return new TemplateError(
      `template: base:${lineOf(this.#source, this.#tokens[Math.min(this.#at, this.#tokens.length - 1)]!.at)}: ${why}`,
    );
  }

  #peek(): TemplateToken {
    return this.#tokens[this.#at]!;
  }

  #next(): TemplateToken {
    return this.#tokens[this.#at++]!;
  }

  #solid(): TemplateToken {
    while (this.#peek().kind === "space") this.#at++;
    return this.#next();
  }

  #expect(kind: TemplateToken["kind"], where: string): TemplateToken {
    const token = this.#solid();
    if (token.kind !== kind) throw this.#unexpected(token, where);
    return token;
  }

  #unexpected(token: TemplateToken, where: string): TemplateError {
    return this.#fail(token.kind === "eof" ? "unexpected EOF" : `unexpected ${JSON.stringify(token.text)} in ${where}`);
  }

  /** Nodes up to what ends them: `end`, `else` or the end of the text. */
  #list(top = false): { nodes: Node[]; end: "end" | "else" | "eof" } {
    if (++this.#depth > MAX_DEPTH) throw this.#fail("nested too deeply");
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#next();
      if (token.kind === "text") {
        nodes.push({ kind: "text", text: token.text });
        continue;
      }
      if (token.kind === "eof") {
        if (!top) throw this.#fail("unexpected EOF");
        this.#depth--;
        return { nodes, end: "eof" };
      }
      const start = this.#at;
      const word = this.#solid();
      if (word.kind === "keyword" && (word.text === "end" || word.text === "else")) {
        if (word.text === "end") this.#expect("right", "end");
        this.#depth--;
        return { nodes, end: word.text };
      }
      if (word.kind !== "keyword") {
        this.#at = start;
        const pipe = this.#pipeline("command", "right");
        nodes.push({ kind: "action", pipe, at: word.at, source: pipe.source });
        continue;
      }
      const node = this.#keyword(word);
      if (node) nodes.push(node);
    }
  }

  #keyword(word: TemplateToken): Node | undefined {
    const { text, at } = word;
    if (text === "if" || text === "with" || text === "range") return this.#control(text, at);
    if (text === "break" || text === "continue") {
      if (!this.#ranges) throw this.#fail(`{{${text}}} outside {{range}}`);
      this.#expect("right", `{{${text}}}`);
      return { kind: text, at, source: text };
    }
    if (text === "define" || text === "block") {
      const name = this.#name(text);
      let pipe: Pipe | undefined;
      if (text === "define") this.#expect("right", "define clause");
      else pipe = this.#pipeline("block clause", "right");
      const vars = this.#vars;
      const ranges = this.#ranges;
      this.#vars = ["$"];
      this.#ranges = 0;
      const { nodes, end } = this.#list();
      if (end !== "end") throw this.#fail(`unexpected {{${end}}} in ${text} clause`);
      this.#vars = vars;
      this.#ranges = ranges;
      this.#defined.set(name, nodes);
      return text === "block"
        ? { kind: "template", name, pipe, at, source: this.#source.slice(at, at + 40) }
        : undefined;
    }
    const name = this.#name("template");
    while (this.#peek().kind === "space") this.#at++;
    if (this.#peek().kind === "right") {
      this.#at++;
      return { kind: "template", name, at, source: `template ${JSON.stringify(name)}` };
    }
    return {
      kind: "template",
      name,
      pipe: this.#pipeline("template clause", "right"),
      at,
      source: `template ${JSON.stringify(name)}`,
    };
  }

  #name(where: string): string {
    const token = this.#expect("string", `${where} clause`);
    const name = unquote(token.text);
    if (name === undefined) throw this.#fail("invalid syntax");
    return name;
  }

  #control(kind: "if" | "with" | "range", at: number): Node {
    const vars = this.#vars.length;
    const pipe = this.#pipeline(kind, "right");
    if (kind === "range") this.#ranges++;
    const { nodes: body, end } = this.#list();
    if (kind === "range") this.#ranges--;
    const node: Node = { kind, pipe, body, at, source: pipe.source };
    if (end === "else") {
      // `else if` and `else with` begin another block, ended by the same `end`.
      const word = this.#solid();
      if (word.kind === "keyword" && word.text === kind && kind !== "range") {
        if (++this.#depth > MAX_DEPTH) throw this.#fail("nested too deeply");
        node.otherwise = [this.#control(kind, word.at)];
        this.#depth--;
      } else {
        if (word.kind !== "right") throw this.#unexpected(word, "else");
        const rest = this.#list();
        if (rest.end !== "end") throw this.#fail(`expected end; found {{${rest.end}}}`);
        node.otherwise = rest.nodes;
      }
    }
    this.#vars.length = vars;
    return node;
  }

  #pipeline(where: string, end: "right" | ")"): Pipe {
    if (++this.#depth > MAX_DEPTH) throw this.#fail("nested too deeply");
    const pipe: Pipe = { declares: [], assigns: false, commands: [], at: 0, source: "" };
    while (this.#peek().kind === "space") this.#at++;
    pipe.at = this.#peek().at;
    this.#declarations(pipe, where);
    for (;;) {
      const token = this.#solid();
      if (token.kind === end) {
        if (pipe.commands.length === 0) throw this.#fail(`missing value for ${where}`);
        pipe.commands.slice(1).forEach((command, i) => {
          if (["constant", "dot", "nil"].includes(command.args[0]!.kind))
            throw this.#fail(`non executable command in pipeline stage ${i + 2}`);
        });
        pipe.source = this.#source.slice(pipe.at, token.at).trim();
        this.#depth--;
        return pipe;
      }
      if (!["name", "number", "string", "char", "field", "variable", ".", "("].includes(token.kind))
        throw this.#unexpected(token, where);
      this.#at--;
      pipe.commands.push(this.#command(where));
    }
  }

  #declarations(pipe: Pipe, where: string): void {
    const from = this.#at;
    const names: string[] = [];
    for (;;) {
      while (this.#peek().kind === "space") this.#at++;
      const token = this.#next();
      if (token.kind !== "variable") break;
      names.push(token.text);
      const follows = this.#solid();
      if (follows.kind === ",") {
        if (where === "range" && names.length < 2) continue;
        throw this.#fail(`too many declarations in ${where}`);
      }
      if (follows.kind !== ":=" && follows.kind !== "=") break;
      if (follows.kind === "=") for (const name of names) this.#declared(name);
      else this.#vars.push(...names);
      pipe.declares = names;
      pipe.assigns = follows.kind === "=";
      return;
    }
    this.#at = from;
  }

  #declared(name: string): void {
    if (!this.#vars.includes(name)) throw this.#fail(`undefined variable ${JSON.stringify(name)}`);
  }

  #command(where: string): Command {
    const args: Arg[] = [];
    const { at } = this.#peek();
    for (;;) {
      while (this.#peek().kind === "space") this.#at++;
      const operand = this.#operand();
      if (operand) args.push(operand);
      const token = this.#next();
      if (token.kind === "space") continue;
      if (token.kind === "right" || token.kind === ")") this.#at--;
      else if (token.kind !== "|") throw this.#unexpected(token, operand ? "operand" : where);
      if (args.length === 0) throw this.#fail("empty command");
      return { args, at, source: this.#source.slice(at, token.at).trim() };
    }
  }

  #operand(): Arg | undefined {
    const of = this.#term();
    if (!of || this.#peek().kind !== "field") return of;
    const path: string[] = [];
    while (this.#peek().kind === "field") path.push(this.#next().text.slice(1));
    const placed = { at: of.at, source: this.#source.slice(of.at, this.#peek().at) };
    if (of.kind === "field" || of.kind === "variable") return { ...of, path: [...of.path, ...path], ...placed };
    if (["constant", "nil"].includes(of.kind)) throw this.#fail(`unexpected . after term ${JSON.stringify(of.source)}`);
    return of.kind === "dot" ? { kind: "field", path, ...placed } : { kind: "chain", of, path, ...placed };
  }

  #term(): Arg | undefined {
    const token = this.#next();
    const placed = { at: token.at, source: token.text };
    switch (token.kind) {
      case "name":
        if (token.text === "true" || token.text === "false")
          return { kind: "constant", value: token.text === "true", ...placed };
        if (token.text === "nil") return { kind: "nil", ...placed };
        if (!this.#known(token.text)) throw this.#fail(`function ${JSON.stringify(token.text)} not defined`);
        return { kind: "function", name: token.text, ...placed };
      case ".":
        return { kind: "dot", ...placed };
      case "variable":
        this.#declared(token.text);
        return { kind: "variable", name: token.text, path: [], ...placed };
      case "field":
        return { kind: "field", path: [token.text.slice(1)], ...placed };
      case "number":
        return { ...number(token.text), ...placed };
      case "string":
      case "char": {
        const value = unquote(token.text);
        if (value === undefined) throw this.#fail("invalid syntax");
        if (token.kind === "string") return { kind: "constant", value, ...placed };
        if ([...value].length !== 1) throw this.#fail(`malformed character constant: ${token.text}`);
        return { kind: "constant", value: BigInt(value.codePointAt(0)!), ideal: "int", ...placed };
      }
      case "(": {
        const pipe = this.#pipeline("parenthesized pipeline", ")");
        return { kind: "pipe", pipe, at: token.at, source: this.#source.slice(token.at, this.#peek().at) };
      }
      default:
        this.#at--;
        return undefined;
    }
  }
}

function number(text: string): { kind: "constant"; value: Constant; ideal: "int" | "float" } {
  const plain = text.replaceAll("_", "");
  const sign = plain.startsWith("-") ? -1n : 1n;
  const digits = plain.replace(/^[+-]/, "");
  if (/^0[xXoObB]/.test(digits)) return { kind: "constant", value: sign * BigInt(digits.toLowerCase()), ideal: "int" };
  if (/^0[0-7]+$/.test(digits)) return { kind: "constant", value: sign * BigInt(`0o${digits.slice(1)}`), ideal: "int" };
  if (/[.eE]/.test(digits)) return { kind: "constant", value: Number(plain), ideal: "float" };
  return { kind: "constant", value: sign * BigInt(digits), ideal: "int" };
}
