import type { ContentCache } from "./cache.ts";

/** Keeps the values used last, up to a number of bytes of their JSON. Values are shared, not copied: callers must not change them. */
export class MemoryCache implements ContentCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, { value: unknown; bytes: number }>();
  #bytes = 0;

  constructor(maxBytes = 64_000_000) {
    this.#maxBytes = maxBytes;
  }

  async get(key: string): Promise<unknown | undefined> {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    // A map keeps the order of insertion: the first is always the one unused for longest.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  async set(key: string, value: unknown): Promise<void> {
    const bytes = JSON.stringify(value).length;
    if (bytes > this.#maxBytes / 4) return;
    this.#bytes += bytes - (this.#entries.get(key)?.bytes ?? 0);
    this.#entries.delete(key);
    this.#entries.set(key, { value, bytes });
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }
}
