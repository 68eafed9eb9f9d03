import { StringDecoder } from "node:string_decoder";

// A text without line breaks is cut here: it must not be kept in memory until its end.
const LONGEST = 65_536;

/** Bytes to lines: UTF-8 across chunk borders, `\r\n` as `\n`, the rest at the end as a line too. */
export class Lines {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  add(chunk: Buffer): string[] {
    return this.#cut(this.#rest + this.#decoder.write(chunk));
  }

  end(): string[] {
    const lines = this.#cut(this.#rest + this.#decoder.end());
    const last = this.#rest;
    this.#rest = "";
    return last ? [...lines, last] : lines;
  }

  #cut(text: string): string[] {
    const lines = text.split("\n");
    this.#rest = lines.pop()!;
    const whole = lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
    while (this.#rest.length >= LONGEST) {
      whole.push(this.#rest.slice(0, LONGEST));
      this.#rest = this.#rest.slice(LONGEST);
    }
    return whole;
  }
}
