type Served = { url: string; admin: string };

interface Options {
  key?: string;
  since?: string;
  /** Cuts itself after so many events. */
  limit?: number;
}

export interface Seen {
  id: string;
  event: string;
  data: any;
}

/** A client of the watch that can be cut at any moment. */
export class Watcher {
  readonly seen: Seen[] = [];
  readonly #abort = new AbortController();
  status = 0;
  text = "";
  ended: Promise<void>;

  constructor(s: Served, path: string, options: Options = {}) {
    this.ended = this.#run(s, path, options).catch(() => {});
  }
  cut() {
    this.#abort.abort();
    return this.ended;
  }
  get last(): string {
    return this.seen.at(-1)?.id ?? "0";
  }
  async #run(s: Served, path: string, { key = s.admin, since, limit }: Options) {
    const response = await fetch(`${s.url}${path}`, {
      headers: { authorization: `Bearer ${key}`, ...(since ? { "last-event-id": since } : {}) },
      signal: this.#abort.signal,
    });
    this.status = response.status;
    if (response.status !== 200) {
      this.text = await response.text();
      return;
    }
    let rest = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      rest += chunk;
      for (let at = rest.indexOf("\n\n"); at >= 0; at = rest.indexOf("\n\n")) {
        const fields = Object.fromEntries(
          rest
            .slice(0, at)
            .split("\n")
            .map((l) => [l.slice(0, l.indexOf(":")), l.slice(l.indexOf(":") + 2)]),
        );
        rest = rest.slice(at + 2);
        if (fields.event) this.seen.push({ id: fields.id!, event: fields.event, data: JSON.parse(fields.data!) });
        if (limit && this.seen.length >= limit) return this.#abort.abort();
      }
    }
  }
}
