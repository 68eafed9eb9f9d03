/** One expression of the jq language, as far as it names places in a document. */
export type Jq =
  | { is: "identity" | "recurse" }
  | { is: "literal"; value: unknown }
  | { is: "index"; of: Jq; key: Jq }
  | { is: "slice"; of: Jq; from?: Jq; to?: Jq }
  | { is: "each"; of: Jq }
  | { is: "maybe"; of: Jq }
  | { is: "pipe" | "comma" | "and" | "or" | "else"; left: Jq; right: Jq }
  | { is: "compare" | "compute"; operator: string; left: Jq; right: Jq }
  | { is: "list"; of?: Jq }
  | { is: "if"; condition: Jq; then: Jq; otherwise: Jq }
  | { is: "call"; name: string; parts: Jq[] }
  | { is: "try"; of: Jq; handler?: Jq | undefined }
  | { is: "variable"; name: string }
  /** `of as $name | body`, and how much it costs to put a value in. */
  | { is: "bind"; name: string; of: Jq; body: Jq; size: number }
  | { is: "label"; name: string; body: Jq; size: number }
  | { is: "break"; name: string; label?: unknown };

const MAX_LENGTH = 4_096;
const MAX_DEPTH = 100;
const TOKEN =
  /\s*(?:(\.\.|\/\/|==|!=|<=|>=|[.[\](){}|,:;?<>+\-*/%])|("(?:[^"\\]|\\.)*")|(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(\$?[A-Za-z_][A-Za-z0-9_]*))/y;
const KEYWORDS = new Set(["and", "or", "then", "elif", "else", "end", "as", "def", "reduce", "foreach", "catch", "import"]);

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

/** A value for a variable, or a mark for a label. */
type Binding = { name: string; value: unknown } | { label: string; value: unknown };

/** The expression with a value in place of a variable, or with a mark on the breaks of a label; inner ones of the same name are left alone. */
export function bound(node: Jq, binding: Binding): Jq {
  if (node.is === "literal") return node;
  if ("name" in binding) {
    if (node.is === "variable") return node.name === binding.name ? { is: "literal", value: binding.value } : node;
    if (node.is === "bind" && node.name === binding.name) return { ...node, of: bound(node.of, binding) };
  } else {
    if (node.is === "break") return node.name === binding.label ? { ...node, label: binding.value } : node;
    if (node.is === "label" && node.name === binding.label) return node;
  }
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    return typeof value === "object" && value !== null && "is" in value ? bound(value as Jq, binding) : value;
  };
  return Object.fromEntries(Object.entries(node).map(([field, value]) => [field, field === "label" ? value : inner(value)])) as Jq;
}

interface Token {
  kind: "sign" | "text" | "number" | "name" | "end";
  text: string;
  /** Whether nothing stands between it and the token before. */
  joined: boolean;
}

function kindOf(sign?: string, quoted?: string, number?: string): Token["kind"] {
  if (sign) return "sign";
  if (quoted) return "text";
  return number ? "number" : "name";
}

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  const trimmed = text.trimEnd();
  let at = 0;
  while (at < trimmed.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(trimmed);
    if (!match) throw new Error(`unexpected character at ${at}: ${trimmed.slice(at, at + 10)}`);
    const [whole, sign, quoted, number, name] = match;
    const kind = kindOf(sign, quoted, number);
    const raw = (sign ?? quoted ?? number ?? name)!;
    if (kind === "text" && /\\\(/.test(raw)) throw new Error("text with \\( ) inside is not supported");
    found.push({ kind, text: kind === "text" ? (JSON.parse(raw) as string) : raw, joined: whole.length === raw.length });
    at += whole.length;
  }
  return [...found, { kind: "end", text: "the end", joined: false }];
}

class Parser {
  readonly #tokens: Token[];
  #at = 0;
  #depth = 0;
  /** The variables and labels in scope; the name of a label begins with a star. */
  #scope: readonly string[] = [];

  constructor(given: Token[]) {
    this.#tokens = given;
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
    const name = this.#variable();
    this.#need("|");
    return { is: "bind", name, of: found, ...this.#body(name) };
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
    this.#at++;
    return { is: "literal", value: text };
  }

  #term(): Jq {
    const { kind, text } = this.#next;
    if (kind === "text") {
      this.#at++;
      return { is: "literal", value: text };
    }
    if (kind === "number") {
      this.#at++;
      return { is: "literal", value: Number(text) };
    }
    if (kind === "name") return this.#named(text);
    if (this.#take("..")) return { is: "recurse" };
    if (this.#take("-")) return { is: "compute", operator: "-", left: { is: "literal", value: 0 }, right: this.#postfix() };
    if (this.#take("(")) {
      const inner = this.pipe();
      this.#need(")");
      return inner;
    }
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
    if (name === "try") return { is: "try", of: this.#path(), handler: this.#take("catch", "name") ? this.#path() : undefined };
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
