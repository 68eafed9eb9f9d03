import type { RedactedLines, Redactor } from "../../base/crypto/redact.ts";
import type { Stream, WriteLine } from "../process/bounded.ts";

// As long as lines are gathered before they are sent: a line that may hold the beginning of a secret waits so long for the next one.
const WAIT_MS = 100;

/** Passes lines on with secrets masked, each stream by itself. */
export class RedactedOutput {
  readonly #redactor: Redactor;
  readonly #write: WriteLine;
  readonly #streams = new Map<Stream, RedactedLines>();
  readonly #timers = new Map<Stream, NodeJS.Timeout>();

  constructor(redactor: Redactor, write: WriteLine) {
    this.#redactor = redactor;
    this.#write = write;
  }

  readonly write: WriteLine = (stream, text) => {
    if (this.#redactor.size === 0) return this.#write(stream, text);
    const lines = this.#linesOf(stream);
    clearTimeout(this.#timers.get(stream));
    // Several lines as one entry stay one.
    if (text.includes("\n")) return this.#all(stream, [...lines.flush(), this.#redactor.text(text)]);
    const ready = lines.add(text);
    if (lines.holds)
      this.#timers.set(
        stream,
        setTimeout(() => void this.#all(stream, lines.flush()), WAIT_MS),
      );
    return this.#all(stream, ready);
  };

  /** Writes what still waits. */
  async end(): Promise<void> {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const [stream, lines] of this.#streams) await this.#all(stream, lines.flush());
  }

  #linesOf(stream: Stream): RedactedLines {
    let lines = this.#streams.get(stream);
    if (!lines) {
      lines = this.#redactor.stream();
      this.#streams.set(stream, lines);
    }
    return lines;
  }

  #all(stream: Stream, lines: readonly string[]): Promise<void> | undefined {
    const waits = lines.flatMap((line) => this.#write(stream, line) ?? []);
    return waits.length ? Promise.all(waits).then(() => undefined) : undefined;
  }
}
