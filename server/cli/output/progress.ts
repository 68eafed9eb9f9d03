import { printable } from "../../base/colour.ts";
import { showDuration } from "../../base/lang/duration.ts";
import { cut } from "../../base/table.ts";
import { type Io, paint } from "./io.ts";

const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
const TICK_MS = 120;

/**
 * One line with the awaited condition, and since when. On a terminal it is rewritten in place; elsewhere a line
 * is written when the reason changes, so that a log stays readable.
 */
export class Progress {
  readonly #io: Io;
  readonly #label: string;
  readonly #started = Date.now();
  #reason = "";
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(io: Io, label: string) {
    this.#io = io;
    this.#label = label;
    if (io.err.isTTY) this.#timer = setInterval(() => this.#draw(), TICK_MS);
    this.#timer?.unref();
  }

  say(reason: string): void {
    if (reason === this.#reason) return;
    this.#reason = reason;
    if (this.#timer) this.#draw();
    else this.#io.err.write(`${this.#label}: ${printable(reason)} (${this.#elapsed()})\n`);
  }

  done(text: string): void {
    this.#finish(paint(this.#io, this.#io.err).green("✓"), text);
  }
  fail(text: string): void {
    this.#finish(paint(this.#io, this.#io.err).red("✗"), text);
  }
  /** Ends the line silently, for an error that is shown elsewhere. */
  clear(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#io.err.write("\r\u001b[K");
  }

  #finish(mark: string, text: string): void {
    this.clear();
    this.#io.err.write(
      `${mark} ${this.#label}: ${printable(text)} ${paint(this.#io, this.#io.err).dim(`(${this.#elapsed()})`)}\n`,
    );
  }
  #draw(): void {
    const c = paint(this.#io, this.#io.err);
    const line = `${c.cyan(FRAMES[this.#frame++ % FRAMES.length]!)} ${this.#label}: ${printable(this.#reason)} ${c.dim(`(${this.#elapsed()})`)}`;
    this.#io.err.write(`\r${cut(line, this.#io.err.columns ?? 80)}\u001b[K`);
  }
  #elapsed(): string {
    return showDuration(Date.now() - this.#started);
  }
}
