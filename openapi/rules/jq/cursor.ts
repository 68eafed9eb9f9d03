import type { Token } from "./tokens.ts";

const MAX_DEPTH = 100;

/** Reads tokens one after the other, and knows which names stand for something where it is. */
export class Cursor {
  readonly #tokens: Token[];
  #depth: number;
  at = 0;
  /** Variables as they are, labels with a star before them, and functions with the number of their parts (`f/1`). */
  scope: readonly string[];

  constructor(given: Token[], scope: readonly string[] = [], depth = 0) {
    this.#tokens = given;
    this.scope = scope;
    this.#depth = depth;
  }

  get next(): Token {
    return this.#tokens[this.at]!;
  }

  get depth(): number {
    return this.#depth;
  }

  end(): void {
    if (this.next.kind !== "end") throw new Error(`unexpected ${this.next.text}`);
  }

  sees(text: string, kind: Token["kind"] = "sign"): boolean {
    return this.next.kind === kind && this.next.text === text;
  }

  take(text: string, kind: Token["kind"] = "sign"): boolean {
    if (!this.sees(text, kind)) return false;
    this.at++;
    return true;
  }

  /** The first of some signs that stands here. */
  takeOne(signs: readonly string[]): string | undefined {
    return signs.find((sign) => this.take(sign));
  }

  /** `?//` outside of patterns is a question mark and an alternative. */
  forgives(): boolean {
    if (this.sees("?//")) {
      this.#tokens[this.at] = { ...this.next, text: "//" };
      return true;
    }
    return this.take("?");
  }

  need(text: string, kind: Token["kind"] = "sign"): void {
    if (!this.take(text, kind)) throw new Error(`expected ${text} instead of ${this.next.text}`);
  }

  /** The name of a variable or label, without its sign. */
  variable(): string {
    const { kind, text } = this.next;
    if (kind !== "name" || !text.startsWith("$")) throw new Error(`expected a variable such as $x instead of ${text}`);
    this.at++;
    return text.slice(1);
  }

  /** A name of a function or of one of its parts. */
  word(): string {
    const { kind, text } = this.next;
    if (kind !== "name" || /^[$@]/.test(text)) throw new Error(`expected a name instead of ${text}`);
    this.at++;
    return text;
  }

  /** Reads something with more names in scope. */
  within<T>(names: readonly string[], read: () => T): T {
    const before = this.scope;
    this.scope = [...before, ...names];
    const found = read();
    this.scope = before;
    return found;
  }

  deeper<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new Error("the expression is nested too deep");
    const found = read();
    this.#depth--;
    return found;
  }
}
