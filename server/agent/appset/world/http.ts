import { Agent, fetch } from "undici";
import { ADDRESS_REFUSED, guardedLookup, refusedFrom } from "../../../base/cloud/address.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { again, done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { redactUrl } from "../../repo/url.ts";

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
  /** The host's own name of an error, from what it says with one; it is shown. */
  code?(said: string): string | undefined;
  /** Error names that mean "not found"; without them each 404 does. */
  missing?: RegExp;
  /** Header fields that sign this very request. */
  sign?: ((url: string, headers: Record<string, string>, body: string) => Promise<Record<string, string>>) | undefined;
}

export interface HostAnswer<T> {
  body: T;
  /** Where the next page is. */
  next?: string;
  headers: Headers;
  /** Bytes of it. */
  size: number;
}
type Headers = { get(name: string): string | null };

const MAX_BYTES = 20_000_000;
const REFUSED = "it leads to a refused address";

/** Asks a service for JSON. No redirect is followed: the token is for the address that was given. */
export async function ask<T>(url: string, options: Ask = {}): Promise<Outcome<HostAnswer<T>>> {
  const { method = "GET", body, deadlineMs = 30_000, ca, insecure } = options;
  const shown = redactUrl(url.replace(/[?#].*/, ""));
  if (!/^https?:\/\//.test(url)) return stop(HTTP.refused, `${shown} is not an address`);
  if (!URL.canParse(url)) return stop(HTTP.refused, `${shown} is not an address`);
  const { hostname, username, password } = new URL(url);
  if (username || password)
    return stop(HTTP.refused, `${shown} has credentials in it: name the Secret that holds them`);
  const refused = refusedFrom(hostname);
  if (refused(hostname)) return stop(HTTP.refused, `${shown} is at a refused address`);
  const connect = { lookup: guardedLookup(refused, REFUSED), ...(ca ? { ca } : {}), rejectUnauthorized: !insecure };
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers = {
    accept: "application/json",
    "user-agent": "outpost",
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...options.headers,
  };
  const dispatcher = new Agent({ connect });
  try {
    const answer = await fetch(url, {
      method,
      headers: { ...headers, ...(await options.sign?.(url, headers, text)) },
      ...(body === undefined ? {} : { body: text }),
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
    const failed = failure(shown, answer.status, said, answer.headers, options);
    if (failed) return failed;
    if (answer.status === 204) return done({ body: undefined as T, headers: answer.headers, size });
    const next = /<([^>]+)>;\s*rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
    return done({ body: readJson(said) as T, headers: answer.headers, size, ...(next ? { next } : {}) });
  } catch (error) {
    if (error instanceof SyntaxError) return stop(HTTP.refused, `${shown} did not answer with JSON`);
    const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
    if (cause?.code === ADDRESS_REFUSED) return stop(HTTP.refused, `${shown} leads to a refused address`);
    return again(HTTP.unreachable, `${shown} cannot be reached: ${cause?.message || message}`);
  } finally {
    void dispatcher.destroy();
  }
}

function failure(
  shown: string,
  status: number,
  said: string,
  headers: Headers,
  { code, missing }: Ask,
): Failure | undefined {
  // 203 is what Azure DevOps shows its page for signing in with.
  if (status >= 200 && status < 300 && status !== 203) return undefined;
  const name = code?.(said);
  const named = name ? ` (${name})` : "";
  // Hosts answer "not found" in JSON. A proxy before a host that is down may answer 404 in another form, which proves nothing.
  if (!missing && status === 404 && !/^\s*[{[]/.test(said))
    return again(
      HTTP.unreachable,
      `${shown} answered 404, but not in JSON: it may be down behind what answers for it, or its address wrong`,
    );
  if (missing ? name !== undefined && missing.test(name) : status === 404)
    return stop(HTTP.notFound, `${shown} answered ${status}${named}: it does not exist, or the token may not see it`);
  if (status === 429 || status >= 500 || /Throttl|TooManyRequests/.test(name ?? ""))
    return again(HTTP.unreachable, `${shown} answered ${status}${named}`);
  if (status === 203) return stop(HTTP.refused, `${shown} answered 203: it rejects the token`);
  const limited = headers.get("x-ratelimit-remaining") === "0";
  return (limited ? again : stop)(
    HTTP.refused,
    `${shown} answered ${status}${named}${limited ? ": its limit of requests is used up" : ""}`,
  );
}

export const MAX_PAGES = 100;
const MAX_ALL_BYTES = 100_000_000;

/** What one page holds, and where the next one is. */
export interface Page<T> {
  items: T[] | undefined;
  next?: string | undefined;
}

/**
 * Where a list goes on. A host that is asked by another address than the one it knows of itself names that one, where the token must not go: the same
 * list is asked for at the address that was given. Anything else elsewhere is refused, as what was read so far is no answer.
 */
function continued(next: string, at: string, shown: string): Outcome<string> {
  const [here, there] = [new URL(at), URL.parse(next, at)];
  if (there?.origin === here.origin) return done(there.href);
  if (there?.pathname === here.pathname) return done(`${here.origin}${here.pathname}${there.search}`);
  return stop(HTTP.refused, `${shown} goes on at another host, which is not asked: its own address may be set wrongly`);
}

/** All pages of a list. */
export async function askPages<B, T>(
  url: string,
  options: Ask,
  read: (answer: HostAnswer<B>, at: string) => Page<T>,
): Promise<Outcome<T[]>> {
  const shown = redactUrl(url.replace(/[?#].*/, ""));
  const all: T[] = [];
  let at: string | undefined = url;
  let size = 0;
  for (let page = 0; at; page++) {
    if (page >= MAX_PAGES) return stop(HTTP.tooLarge, `${shown} has more than ${MAX_PAGES} pages`);
    const answer: Outcome<HostAnswer<B>> = await ask<B>(at, options);
    if (answer.kind !== "done") return answer;
    size += answer.value.size;
    if (size > MAX_ALL_BYTES) return stop(HTTP.tooLarge, `${shown} has pages of more than ${MAX_ALL_BYTES} bytes`);
    const { items, next } = read(answer.value, at);
    if (!Array.isArray(items) || items.includes(null as T))
      return stop(HTTP.refused, `${shown} did not answer with a list`);
    for (const item of items) all.push(item);
    const following: Outcome<string | undefined> = next === undefined ? done(undefined) : continued(next, at, shown);
    if (following.kind !== "done") return following;
    at = following.value;
  }
  return done(all);
}

/** The same of a host that answers with lists, and says in a header where they go on. */
export const askAll = <T>(url: string, options: Ask = {}): Promise<Outcome<T[]>> =>
  askPages<T[], T>(url, options, ({ body, next }) => ({ items: body, next }));
