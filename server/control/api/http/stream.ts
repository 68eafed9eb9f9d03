import type { ServerResponse } from "node:http";
import { drained } from "./drained.ts";

// A reader that takes nothing for this long is cut; it resumes where it was.
const STALL_MS = 30_000;

/** Writes server-sent events, never faster than the reader reads. */
export class EventStream {
  readonly #res: ServerResponse;
  #gone = false;

  constructor(res: ServerResponse) {
    this.#res = res;
    res.once("close", () => {
      this.#gone = true;
    });
    res.writeHead(200, {
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    });
    res.flushHeaders();
  }

  /** Whether the reader has left. */
  get gone(): boolean {
    return this.#gone;
  }

  event(
    id: number | undefined,
    event: "put" | "delete" | "bookmark" | "open" | "line" | "note" | "end",
    data: object = {},
  ): Promise<void> {
    return this.#write(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** An event whose data is JSON already, on one line. */
  text(id: number, event: "put" | "delete" | "bookmark", data: string): Promise<void> {
    return this.#write(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`);
  }

  comment(text: string): Promise<void> {
    return this.#write(`: ${text}\n\n`);
  }

  end(): void {
    this.#res.end();
  }

  async #write(text: string): Promise<void> {
    // To a reader that has left nothing is written, and above all nothing is waited for.
    if (this.#gone || this.#res.destroyed || this.#res.write(text) || this.#gone) return;
    await drained(this.#res, STALL_MS);
  }
}
