import type { Stream, WriteLine } from "../process/bounded.ts";

/** Passes lines on until a task has written its share, then counts them: the output is still read, so that the task does not block. */
export class BoundedOutput {
  readonly #write: WriteLine;
  #room: number;
  #left = 0;
  readonly #bounded: boolean;

  constructor(maxBytes: number, write: WriteLine) {
    this.#write = write;
    this.#room = maxBytes;
    this.#bounded = maxBytes > 0;
  }

  readonly write: WriteLine = (stream: Stream, text: string) => {
    if (stream === "system" || !this.#bounded) return this.#write(stream, text);
    const size = Buffer.byteLength(text) + 1;
    if (this.#left === 0 && size <= this.#room) {
      this.#room -= size;
      return this.#write(stream, text);
    }
    return this.#left++ === 0
      ? this.#write(
          "system",
          "[the task has written more than OUTPOST_TASK_OUTPUT_MIB allows; what follows is not kept]",
        )
      : undefined;
  };

  /** Lines that were not kept. */
  get left(): number {
    return this.#left;
  }
}
