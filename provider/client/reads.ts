import type { Client, Limit, Place, Reply, Stored } from "./client.ts";

/** What waits for its turn in one scope of one collection. */
interface Waiting {
  readonly place: Place;
  readonly limit: Limit;
  readonly answer: (reply: Reply<Stored> | Promise<Reply<Stored>>) => void;
}

/** Ids in one list. An id has at most 63 characters, and the service bounds a filter to 200 values and 8,192 characters. */
const MOST_IDS = 100;
/** Ids that need no quotes in a filter. The service has no others. */
const PLAIN = /^[A-Za-z0-9._-]+$/;

/**
 * Reads objects for a refresh. While one request of a scope and collection runs, the reads that arrive are collected and then asked for in one
 * list: Terraform reads ten objects at a time, and a list of ten costs the service as much as one object. What a list does not have is
 * asked for by itself, so each answer and each refusal is that of `Client.get`.
 */
export class Reads {
  readonly #client: Client;
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(client: Client) {
    this.#client = client;
  }

  get(place: Place, limit: Limit): Promise<Reply<Stored>> {
    const scope = JSON.stringify([place.collection, place.org ?? "", place.project ?? ""]);
    return new Promise((answer) => {
      const one: Waiting = { place, limit, answer };
      const waiting = this.#waiting.get(scope);
      if (waiting) waiting.push(one);
      else {
        this.#waiting.set(scope, []);
        void this.#drain(scope, [one]);
      }
    });
  }

  /** Asks for one batch after the other until nothing of the scope waits. */
  async #drain(scope: string, first: Waiting[]): Promise<void> {
    for (let batch = first; batch.length > 0; batch = this.#waiting.get(scope)!.splice(0, MOST_IDS))
      await this.#ask(batch);
    this.#waiting.delete(scope);
  }

  async #ask(batch: Waiting[]): Promise<void> {
    const found = batch.length > 1 ? await this.#list(batch) : new Map<string, Stored>();
    const single = batch.filter(({ place, answer }) => {
      const body = found.get(place.id);
      if (body) answer({ ok: true, status: 200, body, repeated: false });
      return !body;
    });
    // Not awaited one by one; a failure goes to the caller.
    const asked = single.map(({ place, limit, answer }) => {
      const reply = this.#client.get(place, limit);
      answer(reply);
      return reply;
    });
    await Promise.allSettled(asked);
  }

  /** What the service has of a batch; nothing if it does not answer the list. */
  async #list(batch: Waiting[]): Promise<Map<string, Stored>> {
    const { place, limit } = batch[0]!;
    const { collection, org, project } = place;
    const ids = batch.map((one) => one.place.id);
    if (!ids.every((id) => PLAIN.test(id))) return new Map();
    const query = new URLSearchParams({
      ...(org ? { org } : {}),
      ...(project ? { project } : {}),
      limit: String(ids.length),
      filter: `id in (${ids.join(",")})`,
    });
    const page = await this.#client
      .call<{ items?: Stored[] }>("GET", `/v1/${collection}?${query}`, limit)
      .catch(() => undefined);
    return new Map((page?.ok ? (page.body.items ?? []) : []).map((item) => [item.id, item]));
  }
}

const readers = new WeakMap<Client, Reads>();
/** The reads of one session of the provider. */
export function readsOf(client: Client): Reads {
  const found = readers.get(client) ?? new Reads(client);
  readers.set(client, found);
  return found;
}
