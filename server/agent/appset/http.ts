import { Agent, fetch } from "undici";
import { ADDRESS_REFUSED, guardedLookup, refusedFrom } from "../../base/address.ts";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import { redactUrl } from "../repo/url.ts";

export const HTTP = {
  refused: "ProviderRefused",
  unreachable: "ProviderUnreachable",
  notFound: "ProviderNotFound",
  tooLarge: "ProviderAnswerTooLarge",
} as const;

export interface Ask {
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  body?: unknown;
  deadlineMs?: number;
  /** PEM of who may sign the other side's certificate. */
  ca?: string;
  insecure?: boolean;
}

export interface Answer<T> {
  body: T;
  /** Where the next page is. */
  next?: string;
  headers: Headers;
}
type Headers = { get(name: string): string | null };

const MAX_BYTES = 20_000_000;
const REFUSED = "it leads to a refused address";

/** Asks a service for JSON. No redirect is followed: the token is for the address that was given. */
export async function ask<T>(
  url: string,
  { method = "GET", headers = {}, body, deadlineMs = 30_000, ca, insecure }: Ask = {},
): Promise<Outcome<Answer<T>>> {
  const shown = redactUrl(url.replace(/[?#].*/, ""));
  if (!/^https?:\/\//.test(url)) return stop(HTTP.refused, `${shown} is no address`);
  if (!URL.canParse(url)) return stop(HTTP.refused, `${shown} is no address`);
  const { hostname, username, password } = new URL(url);
  if (username || password) return stop(HTTP.refused, `${shown} has credentials in it: name the Secret that holds them`);
  const refused = refusedFrom(hostname);
  if (refused(hostname)) return stop(HTTP.refused, `${shown} is at a refused address`);
  const connect = { lookup: guardedLookup(refused, REFUSED), ...(ca ? { ca } : {}), rejectUnauthorized: !insecure };
  const dispatcher = new Agent({ connect });
  try {
    const answer = await fetch(url, {
      method,
      headers: {
        accept: "application/json",
        "user-agent": "outpost",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "manual",
      signal: AbortSignal.timeout(deadlineMs),
      dispatcher,
    });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of answer.body ?? []) {
      size += chunk.length;
      if (size > MAX_BYTES) return stop(HTTP.tooLarge, `${shown} answered more than ${MAX_BYTES} bytes`);
      chunks.push(chunk);
    }
    const said = Buffer.concat(chunks).toString("utf8");
    if (answer.status === 404) return stop(HTTP.notFound, `${shown} answered 404: it does not exist, or the token may not see it`);
    if (answer.status === 429 || answer.status >= 500) return again(HTTP.unreachable, `${shown} answered ${answer.status}`);
    if (answer.status < 200 || answer.status >= 300) {
      const limited = answer.headers.get("x-ratelimit-remaining") === "0";
      return (limited ? again : stop)(
        HTTP.refused,
        `${shown} answered ${answer.status}${limited ? ": its limit of requests is used up" : ""}`,
      );
    }
    const next = /<([^>]+)>;\s*rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
    return done({ body: JSON.parse(said) as T, headers: answer.headers, ...(next ? { next } : {}) });
  } catch (error) {
    if (error instanceof SyntaxError) return stop(HTTP.refused, `${shown} did not answer with JSON`);
    const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    if (cause?.code === ADDRESS_REFUSED) return stop(HTTP.refused, `${shown} leads to a refused address`);
    return again(HTTP.unreachable, `${shown} cannot be reached: ${cause?.message || message}`);
  } finally {
    void dispatcher.destroy();
  }
}

const MAX_PAGES = 100;

/** All pages of a list. A page on another host would get the token: it is refused. */
export async function askAll<T>(url: string, options: Ask = {}): Promise<Outcome<T[]>> {
  const all: T[] = [];
  let at: string | undefined = url;
  for (let page = 0; at; page++) {
    if (page >= MAX_PAGES) return stop(HTTP.tooLarge, `${url.replace(/\?.*/, "")} has more than ${MAX_PAGES} pages`);
    const answer: Outcome<Answer<T[]>> = await ask<T[]>(at, options);
    if (answer.kind !== "done") return answer;
    if (!Array.isArray(answer.value.body)) return stop(HTTP.refused, `${url.replace(/\?.*/, "")} did not answer with a list`);
    all.push(...answer.value.body);
    at =
      answer.value.next && new URL(answer.value.next, at).origin === new URL(url).origin ? new URL(answer.value.next, at).href : undefined;
  }
  return done(all);
}
