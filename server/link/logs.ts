import type { Schemas } from "../../openapi/client.ts";
import type { Failure } from "../base/outcome.ts";
import { pause } from "../base/process/pause.ts";
import type { Lease } from "./leases.ts";
import type { Session } from "./session.ts";
import { Backoff } from "./transport/retry.ts";

type Line = Schemas["LogChunk"]["lines"][number];

// Unacknowledged lines are kept; beyond this bound the task's output is not read until the service has taken some.
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_LINES = 10_000;
const CHUNK_LINES = 1_000;
const CHUNK_BYTES = 256 * 1024;
const LINE_CHARS = 65_536;
const GATHER_MS = 100;

/**
 * Ships the log lines of one task in order. Lines are numbered from 1 and kept until the service has acknowledged them, so that a lost
 * request or answer is made good by sending again: the service passes over numbers that it has.
 */
export class LogShipper {
  readonly #session: Session;
  readonly #lease: Lease;
  readonly #lines: Line[] = [];
  #bytes = 0;
  /** Number of the first line in `#lines`. */
  #first = 1;
  #ended = false;
  #wake: (() => void) | undefined;
  #room: (() => void)[] = [];
  readonly #signal: AbortSignal;
  readonly #refused: (failure: Failure) => void;
  readonly done: Promise<void>;

  constructor(options: { session: Session; lease: Lease; signal: AbortSignal; refused: (failure: Failure) => void }) {
    this.#session = options.session;
    this.#lease = options.lease;
    this.#signal = options.signal;
    this.#refused = options.refused;
    this.done = this.#run();
  }

  /** Number of the last line written. */
  get last(): number {
    return this.#first + this.#lines.length - 1;
  }

  /** Adds a line; a promise means: wait for it before reading more. */
  write(stream: NonNullable<Line["stream"]>, text: string): Promise<void> | undefined {
    // Characters that PostgreSQL text or JSON cannot hold are escaped, so that the line is not lost.
    const clean = text.replaceAll("\u0000", "\u2400");
    for (let at = 0; at === 0 || at < clean.length; at += LINE_CHARS) {
      const part = wellFormed(clean.slice(at, at + LINE_CHARS));
      this.#lines.push({ text: part, stream });
      this.#bytes += part.length + 32;
    }
    this.#wake?.();
    if (this.#signal.aborted || (this.#bytes < MAX_BYTES && this.#lines.length < MAX_LINES)) return undefined;
    return new Promise((resolve) => this.#room.push(resolve));
  }

  /** No line will follow; resolves when all are acknowledged, refused, or the signal has ended. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#wake?.();
    await this.done;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff();
    while (!this.#signal.aborted) {
      if (!this.#lines.length) {
        if (this.#ended) break;
        await this.#more();
        if (!this.#ended) await pause(GATHER_MS, this.#signal);
        continue;
      }
      const body = { fence: this.#lease.fence, first: this.#first, lines: this.#chunk() };
      const path = `/v1/worker/tasks/${encodeURIComponent(this.#lease.task)}/logs`;
      const answer = await this.#session.call<Schemas["LogAck"]>(path, { body, signal: this.#signal });
      if (answer.kind === "done") {
        backoff.reset();
        this.#acknowledge(answer.value.last);
      } else if (answer.kind === "stop") {
        if (!this.#signal.aborted) this.#refused(answer);
        break;
      } else await pause(backoff.next(answer), this.#signal);
    }
    // Writers that wait for room must go on, also when nothing is shipped any more.
    this.#release();
  }

  #chunk(): Line[] {
    let bytes = 0;
    let count = 0;
    for (const { text } of this.#lines) {
      bytes += text.length + 32;
      if (count && (bytes > CHUNK_BYTES || count >= CHUNK_LINES)) break;
      count++;
    }
    return this.#lines.slice(0, count);
  }

  #acknowledge(last: number): void {
    const count = Math.max(0, Math.min(last - this.#first + 1, this.#lines.length));
    for (const { text } of this.#lines.splice(0, count)) this.#bytes -= text.length + 32;
    this.#first += count;
    if (this.#bytes < MAX_BYTES / 2 && this.#lines.length < MAX_LINES / 2) this.#release();
  }

  #release(): void {
    for (const resolve of this.#room.splice(0)) resolve();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        this.#wake = undefined;
        this.#signal.removeEventListener("abort", finish);
        resolve();
      };
      this.#wake = finish;
      this.#signal.addEventListener("abort", finish, { once: true });
      if (this.#lines.length || this.#ended || this.#signal.aborted) finish();
    });
  }
}

// Halves of a surrogate pair, as cutting a long line leaves them.
function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
