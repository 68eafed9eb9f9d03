import { inspect } from "node:util";

/**
 * A value that must not be seen. It prints, serialises and inspects as `[secret]`; only `reveal` gives it out, so that
 * a search for `.reveal(` lists every place where one leaves its wrapper.
 */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  toString(): string {
    return "[secret]";
  }
  toJSON(): string {
    return "[secret]";
  }
  [inspect.custom](): string {
    return "[secret]";
  }
}
