import { type Token, tokens } from "./tokens.ts";
import type { Jq } from "./tree.ts";

const MAX_LENGTH = 4_096;
const MAX_DEPTH = 100;
export const FORMATS = new Set("@text @json @html @uri @urid @csv @tsv @sh @base64 @base64d".split(" "));
const KEYWORDS = new Set([
  "and",
  "or",
  "then",
  "elif",
  "else",
  "end",
  "as",
  "def",
  "reduce",
  "foreach",
  "catch",
  "import",
]);

/** Reads an expression; what is wrong with it is thrown. */
export function parseJq(text: string): Jq {
  if (text.length > MAX_LENGTH) throw new Error(`the expression is longer than ${MAX_LENGTH} characters`);
  const parser = new Parser(tokens(text));
  const found = parser.pipe();
  parser.end();
  return found;
}

/** `?` forgives the step before it alone: in `.a[].b?` an `a` without items is still an error, as in jq. */
function optional(found: Jq): Jq {
  const isStep =
    found.is === "each" ||
    (found.is === "index" && found.key.is === "literal") ||
    (found.is === "slice" && [found.from, found.to].every((bound) => bound === undefined || bound.is === "literal"));
  if (!isStep) return { is: "maybe", of: found };
  return { is: "pipe", left: found.of, right: { is: "maybe", of: { ...found, of: { is: "identity" } } } };
}

class Parser {
  readonly #tokens: Token[];
  #at = 0;
  #depth = 0;
  /** The variables and labels in scope; the name of a label begins with a star. */
  #scope: readonly string[];
  #fresh = 0;

  constructor(given: Token[], scope: readonly string[] = [], depth = 0) {
    this.#tokens = given;
    this.#scope = scope;
    this.#depth = depth;
  }

  end(): void {
    if (this.#next.kind !== "end") throw new Error(`unexpected ${this.#next.text}`);
  }

  pipe(): Jq {
    if (++this.#depth > MAX_DEPTH) throw new Error("the expression is nested too deep");
    let left = this.#comma();
    while (this.#take("|")) left = { is: "pipe", left, right: this.#comma() };
    this.#depth--;
    return left;
  }

  get #next(): Token {
    return this.#tokens[this.#at]!;
  }

  #take(text: string, kind: Token["kind"] = "sign"): boolean {
    if (this.#next.kind !== kind || this.#next.text !== text) return false;
    this.#at++;
    return true;
  }

  #need(text: string, kind: Token["kind"] = "sign"): void {
    if (!this.#take(text, kind)) throw new Error(`expected ${text} instead of ${this.#next.text}`);
  }

  #comma(): Jq {
    let left = this.#else();
    while (this.#take(",")) left = { is: "comma", left, right: this.#else() };
    return left;
  }

  #else(): Jq {
    const left = this.#or();
    return this.#take("//") ? { is: "else", left, right: this.#else() } : left;
  }

  #or(): Jq {
    let left = this.#and();
    while (this.#take("or", "name")) left = { is: "or", left, right: this.#and() };
    return left;
  }

  #and(): Jq {
    let left = this.#compare();
    while (this.#take("and", "name")) left = { is: "and", left, right: this.#compare() };
    return left;
  }

  #compare(): Jq {
    const left = this.#sum();
    for (const operator of ["==", "!=", "<=", ">=", "<", ">"])
      if (this.#take(operator)) return { is: "compare", operator, left, right: this.#sum() };
    return left;
  }

  #sum(): Jq {
    let left = this.#product();
    for (;;) {
      const operator = ["+", "-"].find((sign) => this.#take(sign));
      if (!operator) return left;
      left = { is: "compute", operator, left, right: this.#product() };
    }
  }

  #product(): Jq {
    let left = this.#postfix();
    for (;;) {
      const operator = ["*", "/", "%"].find((sign) => this.#take(sign));
      if (!operator) return left;
      left = { is: "compute", operator, left, right: this.#postfix() };
    }
  }

  /** A term with what follows it; `as` binds its values for all that comes after. */
  #postfix(): Jq {
    const found = this.#path();
    if (!this.#take("as", "name")) return found;
    return this.#bound(found, () => {
      this.#need("|");
      return this.pipe();
    });
  }

  /** A pattern such as `$x` or `[$a, {b: $c}]`, and what is bound by it. */
  #bound(of: Jq, body: () => Jq): Extract<Jq, { is: "bind" }> {
    const { name, parts } = this.#pattern();
    const [before, start] = [this.#scope, this.#at];
    this.#scope = [...before, name, ...parts.map((part) => part.name)];
    const inner = body();
    this.#scope = before;
    const size = this.#at - start;
    const bind = (name: string, of: Jq, body: Jq) => ({ is: "bind" as const, name, of, body, size });
    return bind(
      name,
      of,
      parts.reduceRight((rest, part) => bind(part.name, part.of, rest), inner),
    );
  }

  /** The variables of a pattern: the whole value has the first name, and each other is found in one that stands before it. */
  #pattern(): { name: string; parts: { name: string; of: Jq }[] } {
    if (this.#next.kind === "name") return { name: this.#variable(), parts: [] };
    if (++this.#depth > MAX_DEPTH) throw new Error("the expression is nested too deep");
    // No user can write a name with a dot.
    const name = `.${this.#depth}.${this.#fresh++}`;
    const whole: Jq = { is: "variable", name };
    const parts: { name: string; of: Jq }[] = [];
    const add = (key: Jq) => {
      const inner = this.#pattern();
      parts.push({ name: inner.name, of: { is: "index", of: whole, key } }, ...inner.parts);
    };
    if (this.#take("[")) {
      let index = 0;
      // Only a list has items by number here, unlike elsewhere a text.
      parts.push({ name, of: { is: "call", name: ".list", parts: [whole] } });
      do add({ is: "literal", value: index++ });
      while (this.#take(","));
      this.#need("]");
    } else {
      this.#need("{");
      do {
        if (this.#next.text.startsWith("$")) {
          const own = this.#variable();
          parts.push({ name: own, of: { is: "index", of: whole, key: { is: "literal", value: own } } });
          if (this.#take(":")) add({ is: "literal", value: own });
        } else {
          const key = this.#entryKey();
          this.#need(":");
          add(key);
        }
      } while (this.#take(","));
      this.#need("}");
    }
    this.#depth--;
    return { name, parts };
  }

  /** The name of an entry: a word, a text, or an expression in parentheses. */
  #entryKey(): Jq {
    if (this.#take("(")) {
      const key = this.pipe();
      this.#need(")");
      return key;
    }
    if (this.#next.kind === "text") return this.#text("@text");
    return this.#key();
  }

  #object(): Jq {
    const entries: [Jq, Jq][] = [];
    if (this.#take("}")) return { is: "object", entries };
    do {
      const { kind, text } = this.#next;
      if (kind === "name" && text.startsWith("$")) {
        entries.push([{ is: "literal", value: text.slice(1) }, this.#named(text)]);
        continue;
      }
      const format = kind === "name" && text.startsWith("@");
      const key = format ? this.#named(text) : this.#entryKey();
      const value: Jq = this.#take(":") ? this.#entryValue() : { is: "index", of: { is: "identity" }, key };
      entries.push([key, value]);
    } while (this.#take(","));
    this.#need("}");
    return { is: "object", entries };
  }

  #entryValue(): Jq {
    let left = this.#else();
    while (this.#take("|")) left = { is: "pipe", left, right: this.#else() };
    return left;
  }

  /** A text, with values in it or without. */
  #text(format: string): Jq {
    const { text, parts } = this.#next;
    this.#at++;
    if (!parts) return { is: "literal", value: text };
    return {
      is: "text",
      format,
      parts: parts.map((part) => {
        if (typeof part === "string") return { is: "literal", value: part };
        const inner = new Parser(part, this.#scope, this.#depth + 1);
        const found = inner.pipe();
        inner.end();
        return found;
      }),
    };
  }

  /** `reduce` and `foreach`: for each value of a term the next state. */
  #loop(is: "reduce" | "foreach"): Jq {
    const of = this.#path();
    this.#need("as", "name");
    let init: Jq = { is: "identity" };
    let extract: Jq | undefined;
    const start = this.#at;
    const { name, parts } = this.#pattern();
    const before = this.#scope;
    this.#need("(");
    init = this.pipe();
    this.#need(";");
    this.#scope = [...before, name, ...parts.map((part) => part.name)];
    const update = this.pipe();
    if (is === "foreach" && this.#take(";")) extract = this.pipe();
    this.#scope = before;
    this.#need(")");
    const size = this.#at - start;
    const within = (body: Jq) =>
      parts.reduceRight<Jq>((rest, part) => ({ is: "bind", name: part.name, of: part.of, body: rest, size }), body);
    const common = { name, of, init, update: within(update), size };
    return is === "reduce" ? { is, ...common } : { is, ...common, extract: within(extract ?? { is: "identity" }) };
  }

  #variable(): string {
    const { kind, text } = this.#next;
    if (kind !== "name" || !text.startsWith("$")) throw new Error(`expected a variable such as $x instead of ${text}`);
    this.#at++;
    return text.slice(1);
  }

  #body(name: string): { body: Jq; size: number } {
    const [before, start] = [this.#scope, this.#at];
    this.#scope = [...before, name];
    const body = this.pipe();
    this.#scope = before;
    return { body, size: this.#at - start };
  }

  #path(): Jq {
    let found = this.#term();
    // What stands in parentheses is forgiven as a whole.
    let isStep = false;
    for (;;) {
      const forgives = this.#take("?");
      if (forgives) found = isStep ? optional(found) : { is: "maybe", of: found };
      else if (this.#take("[")) found = this.#bracket(found);
      else if (this.#next.text === "." && this.#next.kind === "sign") {
        this.#at++;
        found = this.#take("[") ? this.#bracket(found) : { is: "index", of: found, key: this.#key() };
      } else return found;
      isStep = !forgives;
    }
  }

  /** After `[`: an index, a slice, or every item. */
  #bracket(of: Jq): Jq {
    if (this.#take("]")) return { is: "each", of };
    const from = this.#next.text === ":" && this.#next.kind === "sign" ? undefined : this.pipe();
    if (!this.#take(":")) {
      this.#need("]");
      return { is: "index", of, key: from! };
    }
    const to = this.#next.text === "]" && this.#next.kind === "sign" ? undefined : this.pipe();
    this.#need("]");
    return { is: "slice", of, from, to };
  }

  #key(): Jq {
    const { kind, text } = this.#next;
    if ((kind !== "name" && kind !== "text") || (kind === "name" && text.startsWith("$")))
      throw new Error(`expected a name after the dot instead of ${text}`);
    if (kind === "text") return this.#text("@text");
    this.#at++;
    return { is: "literal", value: text };
  }

  #term(): Jq {
    const { kind, text } = this.#next;
    if (kind === "text") return this.#text("@text");
    if (kind === "number") {
      this.#at++;
      return { is: "literal", value: Number(text) };
    }
    if (kind === "name") return this.#named(text);
    if (this.#take("..")) return { is: "recurse" };
    if (this.#take("-"))
      return { is: "compute", operator: "-", left: { is: "literal", value: 0 }, right: this.#postfix() };
    if (this.#take("(")) {
      const inner = this.pipe();
      this.#need(")");
      return inner;
    }
    if (this.#take("{")) return this.#object();
    if (this.#take("[")) {
      if (this.#take("]")) return { is: "list" };
      const of = this.pipe();
      this.#need("]");
      return { is: "list", of };
    }
    this.#need(".");
    const { kind: after, joined } = this.#next;
    if (joined && (after === "text" || (after === "name" && !this.#next.text.startsWith("$"))))
      return { is: "index", of: { is: "identity" }, key: this.#key() };
    return { is: "identity" };
  }

  #named(name: string): Jq {
    this.#at++;
    if (name === "null") return { is: "literal", value: null };
    if (name === "true" || name === "false") return { is: "literal", value: name === "true" };
    if (name === "if") return this.#if();
    if (name === "try")
      return { is: "try", of: this.#path(), handler: this.#take("catch", "name") ? this.#path() : undefined };
    if (name === "reduce" || name === "foreach") return this.#loop(name);
    if (name.startsWith("@")) {
      if (!FORMATS.has(name)) throw new Error(`${name} is not a format`);
      return this.#next.kind === "text" ? this.#text(name) : { is: "call", name, parts: [] };
    }
    if (name === "label") {
      const label = this.#variable();
      this.#need("|");
      return { is: "label", name: label, ...this.#body(`*${label}`) };
    }
    if (name === "break") {
      const label = this.#variable();
      if (!this.#scope.includes(`*${label}`)) throw new Error(`there is no label $${label} around break`);
      return { is: "break", name: label };
    }
    if (name.startsWith("$")) {
      if (!this.#scope.includes(name.slice(1))) throw new Error(`${name} is not defined`);
      return { is: "variable", name: name.slice(1) };
    }
    if (KEYWORDS.has(name)) throw new Error(`${name} is not supported here`);
    const parts: Jq[] = [];
    if (this.#take("(")) {
      do parts.push(this.pipe());
      while (this.#take(";"));
      this.#need(")");
    }
    return { is: "call", name, parts };
  }

  #if(): Jq {
    if (++this.#depth > MAX_DEPTH) throw new Error("the expression is nested too deep");
    const condition = this.pipe();
    this.#need("then", "name");
    const then = this.pipe();
    let otherwise: Jq = { is: "identity" };
    if (this.#take("elif", "name")) otherwise = this.#if();
    else {
      if (this.#take("else", "name")) otherwise = this.pipe();
      this.#need("end", "name");
    }
    this.#depth--;
    return { is: "if", condition, then, otherwise };
  }
}
