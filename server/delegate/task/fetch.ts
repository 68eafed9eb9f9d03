import { readFileSync } from "node:fs";
import { type Readable, Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { rootCertificates } from "node:tls";
import { EnvHttpProxyAgent, request } from "undici";
import { ADDRESS_REFUSED, guardedLookup, isMetadata } from "../../base/cloud/address.ts";
import { again, done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import { faultOf, LAYER } from "../../link/transport/fault.ts";
import { proxyOf, proxySettings } from "../../link/transport/proxy.ts";

export interface FetchAsk {
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  headers?: Record<string, string>;
  body?: string | Buffer | { open(): Readable; size: number };
  /** PEM, beside the usual roots and the delegate's own. */
  caCertificate?: string;
  deadlineMs?: number;
  /** A longer answer is refused; with `cut` only its beginning is read. */
  maxBytes?: number;
  cut?: boolean;
  /** Opens a file for the body of a 2xx; the answer's own is empty then. */
  to?: () => Promise<Writable>;
  /** `manual` (default) gives the redirect itself; `sameHost` follows it while scheme, host and port stay. */
  redirect?: "manual" | "sameHost";
}

export interface FetchAnswer {
  status: number;
  /** Names in lower case; several values of one name are joined with commas. */
  headers: Record<string, string>;
  body: Buffer;
}

export type Fetch = (url: string, ask?: FetchAsk) => Promise<Outcome<FetchAnswer>>;

const DEADLINE_MS = 30_000;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_REDIRECTS = 5;

/** A name is resolved once, and the checked address is the one that is connected to. */
const guarded = guardedLookup(isMetadata, "it leads to a cloud's metadata");

export interface FetchOptions {
  env: NodeJS.ProcessEnv;
  /** The delegate's certificates, with the usual roots. */
  caBundle(): string | undefined;
  signal: AbortSignal;
}

/** Requests of a task's kind: through the delegate's proxy, with its certificates, bounded, and never with one host's credentials to another. */
export function makeFetch(options: FetchOptions): { fetch: Fetch; close(): Promise<void> } {
  const agents = new Map<string, EnvHttpProxyAgent>();
  const proxies = proxySettings(options.env);
  const open = options.env.OUTPOST_ALLOW_METADATA === "true";
  const agentFor = (caCertificate = "") => {
    const known = agents.get(caCertificate);
    if (known) return known;
    const bundle = options.caBundle();
    const roots = bundle ? [readFileSync(bundle, "utf8")] : [...rootCertificates];
    const ca = bundle || caCertificate ? [...roots, ...(caCertificate ? [caCertificate] : [])] : undefined;
    const connect = { timeout: 10_000, ...(open ? {} : { lookup: guarded }), ...(ca ? { ca } : {}) };
    const made = new EnvHttpProxyAgent({
      ...proxies,
      connect,
      ...(ca ? { requestTls: { ca }, proxyTls: { ca } } : {}),
    });
    agents.set(caCertificate, made);
    return made;
  };
  return {
    fetch: (url, ask = {}) => follow(url, ask, open, (to, now) => once(to, now, agentFor(ask.caCertificate), options)),
    close: async () => {
      for (const agent of agents.values()) await agent.destroy().catch(() => undefined);
      agents.clear();
    },
  };
}

type Once = (url: URL, ask: FetchAsk) => Promise<Outcome<FetchAnswer>>;

async function follow(address: string, ask: FetchAsk, open: boolean, send: Once): Promise<Outcome<FetchAnswer>> {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    // Who meant to sign in with it has his password there.
    return stop(
      "AddressInvalid",
      `${JSON.stringify(address.replace(/[?#].*|.*@/gs, "***").slice(0, 200))} is not an address`,
    );
  }
  let now = ask;
  for (let redirects = 0; ; redirects++) {
    if (!open && isMetadata(url.hostname)) return metadata(url);
    const answer = await send(url, now);
    if (answer.kind !== "done" || ask.redirect !== "sameHost") return answer;
    const { status, headers } = answer.value;
    if (![301, 302, 303, 307, 308].includes(status) || headers.location === undefined) return answer;
    if (!URL.canParse(headers.location, url.href)) return answer;
    const next = new URL(headers.location, url);
    if (next.origin !== url.origin)
      return stop(
        "RedirectRefused",
        `${url.origin} redirects to ${next.origin}; only redirects to the same host are followed`,
      );
    if (redirects === MAX_REDIRECTS)
      return stop("RedirectRefused", `${url.origin} redirects more than ${MAX_REDIRECTS} times`);
    if (status === 303 || (status < 303 && now.method === "POST")) {
      const { body: _, ...rest } = now;
      now = { ...rest, method: now.method === "HEAD" ? "HEAD" : "GET" };
    }
    url = next;
  }
}

const metadata = (url: URL) =>
  stop(
    "AddressRefused",
    `${url.hostname} is where a cloud gives a machine its credentials; tasks may not ask it (OUTPOST_ALLOW_METADATA)`,
  );

async function once(
  url: URL,
  ask: FetchAsk,
  dispatcher: EnvHttpProxyAgent,
  options: FetchOptions,
): Promise<Outcome<FetchAnswer>> {
  const { method = "GET", body, deadlineMs = DEADLINE_MS, maxBytes = MAX_BYTES } = ask;
  const timeout = AbortSignal.timeout(deadlineMs);
  const file = body !== undefined && typeof body !== "string" && !Buffer.isBuffer(body) ? body : undefined;
  const headers = {
    "user-agent": "outpost-delegate",
    ...ask.headers,
    ...(file ? { "content-length": String(file.size) } : {}),
  };
  try {
    const answer = await request(url, {
      dispatcher,
      method,
      headers,
      signal: AbortSignal.any([options.signal, timeout]),
      headersTimeout: deadlineMs,
      bodyTimeout: deadlineMs,
      ...(body === undefined ? {} : { body: file ? file.open() : (body as string | Buffer) }),
    });
    const head = { status: answer.statusCode, headers: joined(answer.headers) };
    if (ask.to && head.status >= 200 && head.status < 300) return await save(answer.body, ask.to, maxBytes, url, head);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxBytes) continue;
      if (ask.cut) break;
      return stop("AnswerTooLarge", `${url.origin} answered with more than ${maxBytes} bytes`);
    }
    return done({ ...head, body: Buffer.concat(chunks).subarray(0, maxBytes) });
  } catch (error) {
    if (options.signal.aborted) return stop("Ended", "it was ended");
    return faultIn(url, timeout.aborted ? new DOMException("deadline", "TimeoutError") : error, options);
  }
}

type Head = Omit<FetchAnswer, "body">;

async function save(
  body: Readable,
  to: () => Promise<Writable>,
  maxBytes: number,
  url: URL,
  head: Head,
): Promise<Outcome<FetchAnswer>> {
  let size = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      size += chunk.length;
      next(size > maxBytes ? new Error("too large") : null, chunk);
    },
  });
  try {
    await pipeline(body, count, await to());
    return done({ ...head, body: Buffer.alloc(0) });
  } catch (error) {
    if (size > maxBytes) return stop("AnswerTooLarge", `${url.origin} answered with more than ${maxBytes} bytes`);
    throw error;
  }
}

function faultIn(url: URL, error: unknown, { env, caBundle }: FetchOptions): Failure {
  const { code, cause, message } = error as Error & { code?: unknown; cause?: { code?: string } };
  if (code === ADDRESS_REFUSED || cause?.code === ADDRESS_REFUSED) return metadata(url);
  if (code === "UND_ERR_INVALID_ARG")
    return stop("RequestInvalid", `the request to ${url.origin} cannot be sent: ${message}`);
  const fault = faultOf(error, {
    origin: url.origin,
    proxy: proxyOf(url.origin, proxySettings(env)),
    caFile: caBundle(),
  });
  // An untrusted certificate will not become trusted in a minute.
  return fault.reason === LAYER.tls ? stop(fault.reason, fault.message) : again(fault.reason, fault.message);
}

function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const all = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value].flat().join(", ")] as const],
  );
  return Object.fromEntries(all);
}
