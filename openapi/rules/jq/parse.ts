import { Cursor } from "./cursor.ts";
import { binding, namesOf, pattern, patterns, type Reader, withParts } from "./patterns.ts";
import { type Token, tokens } from "./tokens.ts";
import { type Jq, signature } from "./tree.ts";

const MAX_LENGTH = 4_096;
export const FORMATS = new Set("@text @json @html @uri @urid @csv @tsv @sh @base64 @base64d".split(" "));
const KEYWORDS = new Set("and or then elif else end as def reduce foreach catch import include".split(" "));
const UPDATES = ["=", "|=", "+=", "-=", "*=", "/=", "%=", "//="];

/** Reads an expression; throws its errors. */
export function parseJq(text: string): Jq {
  if (text.length > MAX_LENGTH) throw new Error(`the expression is longer than ${MAX_LENGTH} characters`);
  return whole(new Cursor(tokens(text)));
}

function whole(cursor: Cursor): Jq {
  const found = new Parser(cursor).pipe();
  cursor.end();
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

class Parser implements Reader {
  readonly cursor: Cursor;
  #made = 0;

  constructor(cursor: Cursor) {
    this.cursor = cursor;
  }

  fresh(): string {
    // No user can write a name with a dot.
    return `.${this.cursor.depth}.${this.#made++}`;
  }

  pipe(): Jq {
    return this.cursor.deeper(() => {
      let left = this.#comma();
      while (this.cursor.take("|")) left = { is: "pipe", left, right: this.#comma() };
      return left;
    });
  }

  /** `def name(f; $x): body; rest`. A parameter with a sign is a variable too. */
  #def(): Jq {
    const { cursor } = this;
    const start = cursor.at;
    const name = cursor.word();
    const given: string[] = [];
    if (cursor.take("(")) {
      do given.push(cursor.next.text.startsWith("$") ? `$${cursor.variable()}` : cursor.word());
      while (cursor.take(";"));
      cursor.need(")");
    }
    cursor.need(":");
    const params = given.map((one) => `${one.replace("$", "")}/0`);
    const own = `${name}/${given.length}`;
    const variables = given.filter((one) => one.startsWith("$")).map((one) => one.slice(1));
    const inside = cursor.within([own, ...params, ...variables], () => this.pipe());
    cursor.need(";");
    const size = cursor.at - start;
    const body = variables.reduceRight<Jq>(
      (rest, variable) => ({
        is: "bind",
        name: variable,
        of: { is: "call", name: variable, parts: [], own: true },
        body: rest,
        size,
      }),
      inside,
    );
    const rest = cursor.within([own], () => this.pipe());
    return { is: "def", name, params, body, rest, size: cursor.at - start };
  }

  #comma(): Jq {
    let left = this.#bound();
    while (this.cursor.take(",")) left = { is: "comma", left, right: this.#bound() };
    return left;
  }

  /** An expression; `as` binds its values for all that comes after. */
  #bound(): Jq {
    const { cursor } = this;
    if (cursor.take("def", "name")) return this.#def();
    const found = this.#else();
    if (!cursor.take("as", "name")) return found;
    const choices = patterns(this);
    const start = cursor.at;
    cursor.need("|");
    const body = cursor.within(choices.flatMap(namesOf), () => this.pipe());
    return binding(found, choices, body, cursor.at - start);
  }

  #else(): Jq {
    const left = this.#update();
    return this.cursor.take("//") ? { is: "else", left, right: this.#else() } : left;
  }

  #update(): Jq {
    const left = this.#or();
    const sign = this.cursor.takeOne(UPDATES);
    return sign ? { is: "update", operator: sign.slice(0, -1), left, right: this.#or() } : left;
  }

  #or(): Jq {
    let left = this.#and();
    while (this.cursor.take("or", "name")) left = { is: "or", left, right: this.#and() };
    return left;
  }

  #and(): Jq {
    let left = this.#compare();
    while (this.cursor.take("and", "name")) left = { is: "and", left, right: this.#compare() };
    return left;
  }

  #compare(): Jq {
    const left = this.#sum();
    const operator = this.cursor.takeOne(["==", "!=", "<=", ">=", "<", ">"]);
    return operator ? { is: "compare", operator, left, right: this.#sum() } : left;
  }

  #sum(): Jq {
    let left = this.#product();
    for (;;) {
      const operator = this.cursor.takeOne(["+", "-"]);
      if (!operator) return left;
      left = { is: "compute", operator, left, right: this.#product() };
    }
  }

  #product(): Jq {
    let left = this.#path();
    for (;;) {
      const operator = this.cursor.takeOne(["*", "/", "%"]);
      if (!operator) return left;
      left = { is: "compute", operator, left, right: this.#path() };
    }
  }

  /** The name of an entry: a word, a text, or an expression in parentheses. */
  entryKey(): Jq {
    if (this.cursor.take("(")) {
      const key = this.pipe();
      this.cursor.need(")");
      return key;
    }
    if (this.cursor.next.kind === "text") return this.#text("@text");
    return this.#key();
  }

  #object(): Jq {
    const { cursor } = this;
    const entries: [Jq, Jq][] = [];
    if (cursor.take("}")) return { is: "object", entries };
    do {
      const { kind, text } = cursor.next;
      if (kind === "name" && text.startsWith("$")) {
        entries.push([{ is: "literal", value: text.slice(1) }, this.#named(text)]);
        continue;
      }
      const format = kind === "name" && text.startsWith("@");
      const key = format ? this.#named(text) : this.entryKey();
      const value: Jq = cursor.take(":") ? this.#entryValue() : { is: "index", of: { is: "identity" }, key };
      entries.push([key, value]);
    } while (cursor.take(","));
    cursor.need("}");
    return { is: "object", entries };
  }

  #entryValue(): Jq {
    let left = this.#else();
    while (this.cursor.take("|")) left = { is: "pipe", left, right: this.#else() };
    return left;
  }

  /** A text, with values in it or without. */
  #text(format: string): Jq {
    const { text, parts } = this.cursor.next;
    this.cursor.at++;
    if (!parts) return { is: "literal", value: text };
    const { scope, depth } = this.cursor;
    const inner = (part: string | Token[]): Jq =>
      typeof part === "string" ? { is: "literal", value: part } : whole(new Cursor(part, scope, depth + 1));
    return { is: "text", format, parts: parts.map(inner) };
  }

  /** `reduce` and `foreach`: for each value of an expression the next state. */
  #loop(is: "reduce" | "foreach"): Jq {
    const { cursor } = this;
    const of = this.#else();
    cursor.need("as", "name");
    const start = cursor.at;
    const found = pattern(this);
    cursor.need("(");
    const init = this.pipe();
    cursor.need(";");
    const [update, extract] = cursor.within(namesOf(found), () => [
      this.pipe(),
      is === "foreach" && cursor.take(";") ? this.pipe() : ({ is: "identity" } as const),
    ]);
    cursor.need(")");
    const size = cursor.at - start;
    const common = { name: found.name, of, init, update: withParts(found, update, size), size };
    return is === "reduce" ? { is, ...common } : { is, ...common, extract: withParts(found, extract, size) };
  }

  #path(): Jq {
    const { cursor } = this;
    let found = this.#term();
    // `?` after parentheses covers all that is in them.
    let isStep = false;
    for (;;) {
      const forgives = cursor.forgives();
      if (forgives) found = isStep ? optional(found) : { is: "maybe", of: found };
      else if (cursor.take("[")) found = this.#bracket(found);
      else if (cursor.take("."))
        found = cursor.take("[") ? this.#bracket(found) : { is: "index", of: found, key: this.#key() };
      else return found;
      isStep = !forgives;
    }
  }

  /** After `[`: an index, a slice, or every item. */
  #bracket(of: Jq): Jq {
    const { cursor } = this;
    if (cursor.take("]")) return { is: "each", of };
    const from = cursor.sees(":") ? undefined : this.pipe();
    if (!cursor.take(":")) {
      cursor.need("]");
      return { is: "index", of, key: from! };
    }
    const to = cursor.sees("]") ? undefined : this.pipe();
    cursor.need("]");
    return { is: "slice", of, from, to };
  }

  #key(): Jq {
    const { kind, text } = this.cursor.next;
    if ((kind !== "name" && kind !== "text") || (kind === "name" && text.startsWith("$")))
      throw new Error(`expected a name after the dot instead of ${text}`);
    if (kind === "text") return this.#text("@text");
    this.cursor.at++;
    return { is: "literal", value: text };
  }

  #term(): Jq {
    const { cursor } = this;
    const { kind, text } = cursor.next;
    if (kind === "text") return this.#text("@text");
    if (kind === "number") {
      cursor.at++;
      return { is: "literal", value: Number(text) };
    }
    if (kind === "name") return this.#named(text);
    if (cursor.take("..")) return { is: "recurse" };
    if (cursor.take("-")) {
      const right = this.#path();
      if (right.is === "literal" && typeof right.value === "number") return { is: "literal", value: -right.value };
      return { is: "compute", operator: "-", left: { is: "literal", value: 0 }, right };
    }
    if (cursor.take("(")) {
      const inner = this.pipe();
      cursor.need(")");
      return inner;
    }
    if (cursor.take("{")) return this.#object();
    if (cursor.take("[")) {
      if (cursor.take("]")) return { is: "list" };
      const of = this.pipe();
      cursor.need("]");
      return { is: "list", of };
    }
    cursor.need(".");
    const { kind: after, joined } = cursor.next;
    if (joined && (after === "text" || (after === "name" && !cursor.next.text.startsWith("$"))))
      return { is: "index", of: { is: "identity" }, key: this.#key() };
    return { is: "identity" };
  }

  #named(name: string): Jq {
    const { cursor } = this;
    cursor.at++;
    if (name === "null") return { is: "literal", value: null };
    if (name === "true" || name === "false") return { is: "literal", value: name === "true" };
    if (name === "if") return this.#if();
    if (name === "try")
      return { is: "try", of: this.#path(), handler: cursor.take("catch", "name") ? this.#path() : undefined };
    if (name === "reduce" || name === "foreach") return this.#loop(name);
    if (name.startsWith("@")) {
      if (!FORMATS.has(name)) throw new Error(`${name} is not a format`);
      return cursor.next.kind === "text" ? this.#text(name) : { is: "call", name, parts: [] };
    }
    if (name === "label") return this.#label();
    if (name === "break") {
      const label = cursor.variable();
      if (!cursor.scope.includes(`*${label}`)) throw new Error(`there is no label $${label} around break`);
      return { is: "break", name: label };
    }
    if (name.startsWith("$")) {
      if (!cursor.scope.includes(name.slice(1))) throw new Error(`${name} is not defined`);
      return { is: "variable", name: name.slice(1) };
    }
    if (KEYWORDS.has(name)) throw new Error(`${name} is not supported here`);
    return this.#call(name);
  }

  #call(name: string): Jq {
    const { cursor } = this;
    const parts: Jq[] = [];
    if (cursor.take("(")) {
      do parts.push(this.pipe());
      while (cursor.take(";"));
      cursor.need(")");
    }
    const own = cursor.scope.includes(signature(name, parts));
    return own ? { is: "call", name, parts, own } : { is: "call", name, parts };
  }

  #label(): Jq {
    const { cursor } = this;
    const name = cursor.variable();
    cursor.need("|");
    const start = cursor.at;
    const body = cursor.within([`*${name}`], () => this.pipe());
    return { is: "label", name, body, size: cursor.at - start };
  }

  #if(): Jq {
    const { cursor } = this;
    return cursor.deeper(() => {
      const condition = this.pipe();
      cursor.need("then", "name");
      const then = this.pipe();
      if (cursor.take("elif", "name")) return { is: "if", condition, then, otherwise: this.#if() };
      const otherwise: Jq = cursor.take("else", "name") ? this.pipe() : { is: "identity" };
      cursor.need("end", "name");
      return { is: "if", condition, then, otherwise };
    });
  }
}
