import { Agent, request } from "undici";
import { ADDRESS_REFUSED, guardedLookup, isLoopback, isMetadata } from "../../../base/cloud/address.ts";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO } from "../types.ts";
import { redactUrl } from "../url.ts";

const DEADLINE_MS = 15_000;
const MAX_BYTES = 2_000_000;
const MAX_REDIRECTS = 3;
const KEPT_MS = 120_000;
const MAX_KEPT = 200;

/**
 * Value files from elsewhere: `https` and `http` alone, without credentials, bounded, and never from this machine or from where clouds
 * hand out its credentials, also not by a name or a redirect that leads there.
 */
export class RemoteValues {
  readonly #agent: Agent;
  readonly #refused: (address: string) => boolean;
  readonly #kept = new Map<string, { content: Buffer; at: number }>();

  constructor(allowLocal = false) {
    this.#refused = (address) => isMetadata(address) || (!allowLocal && isLoopback(address));
    this.#agent = new Agent({
      connect: { timeout: 10_000, lookup: guardedLookup(this.#refused, "it leads to a refused address") },
    });
  }

  /** The content; one that was fetched in the last two minutes will do unless it has to be `fresh`. */
  async get(given: string, fresh: boolean): Promise<Outcome<Buffer>> {
    const kept = this.#kept.get(given);
    if (kept && !fresh && Date.now() - kept.at < KEPT_MS) return done(kept.content);
    const got = await this.#follow(given);
    if (got.kind !== "done") return got;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(given, { content: got.value, at: Date.now() });
    return got;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #follow(given: string): Promise<Outcome<Buffer>> {
    const shown = redactUrl(given).slice(0, 200);
    let url: URL | undefined = URL.canParse(given) ? new URL(given) : undefined;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      if (!url || !["https:", "http:"].includes(url.protocol))
        return stop(REPO.urlRefused, `values file ${shown}: only https and http are read`);
      if (url.username || url.password)
        return stop(REPO.urlRefused, `values file ${shown}: an address with credentials is refused`);
      if (this.#refused(url.hostname)) return stop(REPO.urlRefused, `values file ${shown}: its address is refused`);
      const answer = await this.#once(url, shown);
      if (answer.kind !== "done" || Buffer.isBuffer(answer.value)) return answer as Outcome<Buffer>;
      const next: URL | undefined = URL.canParse(answer.value.location, url.href)
        ? new URL(answer.value.location, url)
        : undefined;
      if (url.protocol === "https:" && next?.protocol === "http:")
        return stop(REPO.urlRefused, `values file ${shown}: it redirects from https to http`);
      url = next;
    }
    return stop(REPO.urlRefused, `values file ${shown}: it redirects more than ${MAX_REDIRECTS} times`);
  }

  async #once(url: URL, shown: string): Promise<Outcome<Buffer | { location: string }>> {
    try {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const answer = await request(url, {
        dispatcher: this.#agent,
        signal,
        headersTimeout: DEADLINE_MS,
        bodyTimeout: DEADLINE_MS,
      });
      const { location } = answer.headers;
      if ([301, 302, 303, 307, 308].includes(answer.statusCode) && typeof location === "string") {
        await answer.body.dump();
        return done({ location });
      }
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > MAX_BYTES)
          return stop(REPO.tooLarge, `values file ${shown} has more than ${MAX_BYTES / 1_000_000} MB`);
        chunks.push(chunk);
      }
      if (answer.statusCode === 200) return done(Buffer.concat(chunks));
      const said = `values file ${shown}: ${url.host} answered ${answer.statusCode}`;
      return answer.statusCode >= 500 || answer.statusCode === 429
        ? again(REPO.unreachable, said)
        : stop(REPO.path, said);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === ADDRESS_REFUSED) return stop(REPO.urlRefused, `values file ${shown}: its address is refused`);
      return again(REPO.unreachable, `values file ${shown} cannot be fetched: ${code || message}`);
    }
  }
}
