import type { ServerResponse } from "node:http";

// A reader that takes nothing for this long is cut; it resumes where it was.
const STALL_MS = 30_000;

/** Writes server-sent events, never faster than the reader reads. */
export class EventStream {
  readonly #res: ServerResponse;
  #gone = false;
  #draining: Promise<void> | undefined;

  constructor(res: ServerResponse) {
    this.#res = res;
    res.once("close", () => {
      this.#gone = true;
    });
    res.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
    res.flushHeaders();
  }

  /** Whether the reader has left. */
  get gone(): boolean {
    return this.#gone;
  }

  event(id: number | undefined, event: "put" | "delete" | "bookmark" | "open" | "line" | "note" | "end", data: object = {}): Promise<void> {
    return this.#write(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
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
    await this.#drained();
  }

  /** Waits until the reader takes more, or is gone. All writes that wait share one wait, so no listener is left behind. */
  #drained(): Promise<void> {
    this.#draining ??= new Promise<void>((resolve) => {
      const res = this.#res;
      const end = () => {
        clearTimeout(timer);
        res.off("drain", end).off("close", end);
        this.#draining = undefined;
        resolve();
      };
      const timer = setTimeout(() => {
        res.destroy();
        end();
      }, STALL_MS);
      res.on("drain", end).on("close", end);
    });
    return this.#draining;
  }
}
