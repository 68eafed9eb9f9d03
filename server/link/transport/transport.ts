import { readFileSync, statSync } from "node:fs";
import type { Readable } from "node:stream";
import { rootCertificates } from "node:tls";
import { EnvHttpProxyAgent, request } from "undici";
import { readJson } from "../../base/json/nesting.ts";
import { again, done, type Failure, later, type Outcome, stop } from "../../base/outcome.ts";
import { follow } from "../../base/process/signal.ts";
import { faultOf, LAYER, type Route } from "./fault.ts";
import { type ProxySettings, proxyOf, proxySettings } from "./proxy.ts";
import { retryAfterMs } from "./retry.ts";

export interface Ask {
  query?: Record<string, string>;
  body?: unknown;
  /** Bytes instead of a JSON body; opened again for each request. */
  file?: { open(): Readable; size: number };
  headers?: Record<string, string>;
  bearer?: string;
  deadlineMs?: number;
  signal?: AbortSignal;
}

export interface TransportOptions {
  endpoint: string;
  env?: NodeJS.ProcessEnv;
  userAgent: string;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Answer = [status: number, headers: Record<string, string | undefined>, body: Readable];

const DEADLINE_MS = 15_000;
// A first exchange may bring thousands of objects; anything longer is not from the service.
const MAX_ANSWER = 64 * 1024 * 1024;

/** Requests to the service over HTTP(S): through the environment's proxy, with its private CA, bounded, and failing with a named layer. */
export class Transport {
  readonly endpoint: string;
  readonly route: Route;
  readonly #options: TransportOptions;
  readonly #proxies: ProxySettings;
  readonly #prefix: string;
  #agent: EnvHttpProxyAgent | undefined;
  #caRead = 0;
  /** Seconds by which the service's clock is ahead of this machine's, from its last answer. */
  clockSkewSeconds = 0;

  constructor(options: TransportOptions) {
    const url = new URL(options.endpoint);
    if (url.protocol !== "https:" && url.protocol !== "http:")
      throw new Error(`the endpoint ${options.endpoint} is neither http:// nor https://`);
    this.#options = options;
    this.endpoint = options.endpoint;
    this.#prefix = url.pathname.replace(/\/+$/, "");
    this.#proxies = proxySettings(options.env ?? process.env);
    this.route = {
      origin: url.origin,
      proxy: proxyOf(url.origin, this.#proxies),
      caFile: options.env?.OUTPOST_CA_FILE,
    };
  }

  async close(): Promise<void> {
    await this.#agent?.destroy().catch(() => undefined);
    this.#agent = undefined;
  }

  /** Sends one request; 2xx JSON is `done`, a problem's code is the failure's reason. */
  call<T>(method: Method, path: string, ask: Ask = {}): Promise<Outcome<T>> {
    return this.#send(method, path, ask, async (status, headers, body) =>
      this.#read<T>(status, headers, await bounded(body)),
    );
  }

  /** As `call`, for answers that are bytes: `take` gets those of a 2xx, and should end early when there are too many. */
  fetch<T>(path: string, ask: Ask, take: (body: Readable) => Promise<Outcome<T>>): Promise<Outcome<T>> {
    const headers = { accept: "application/octet-stream, application/problem+json", ...ask.headers };
    return this.#send("GET", path, { ...ask, headers }, async (status, headers, body) => {
      const bytes = status === 200 && headers["content-type"]?.startsWith("application/octet-stream");
      return bytes ? take(body) : this.#read<T>(status, headers, await bounded(body));
    });
  }

  async #send<T>(
    method: Method,
    path: string,
    ask: Ask,
    read: (...answer: Answer) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    const deadlineMs = ask.deadlineMs ?? DEADLINE_MS;
    // A third of a lease need not be a whole number, and only those are taken.
    const ending = new AbortController();
    const timer = setTimeout(
      () => ending.abort(new DOMException("deadline", "TimeoutError")),
      Math.ceil(deadlineMs),
    ).unref();
    const leave = ask.signal && follow(ending, ask.signal);
    const headers: Record<string, string> = {
      accept: "application/json",
      "user-agent": this.#options.userAgent,
      ...ask.headers,
    };
    if (ask.bearer) headers.authorization = `Bearer ${ask.bearer}`;
    if (ask.body !== undefined) headers["content-type"] = "application/json";
    if (ask.file)
      Object.assign(headers, { "content-type": "application/octet-stream", "content-length": String(ask.file.size) });
    const json = ask.body === undefined ? undefined : JSON.stringify(ask.body);
    const body = ask.file ? ask.file.open() : json;
    try {
      const answer = await request(
        `${this.route.origin}${this.#prefix}${path}${ask.query ? `?${new URLSearchParams(ask.query)}` : ""}`,
        {
          dispatcher: this.#dispatcher(),
          method,
          headers,
          signal: ending.signal,
          headersTimeout: deadlineMs,
          bodyTimeout: deadlineMs,
          ...(body === undefined ? {} : { body }),
        },
      );
      return await read(answer.statusCode, answer.headers as Record<string, string | undefined>, answer.body);
    } catch (error) {
      if (ask.signal?.aborted) return again("Cancelled", "the request was cancelled");
      return faultOf(ending.signal.aborted ? ending.signal.reason : error, this.route);
    } finally {
      clearTimeout(timer);
      leave?.();
    }
  }

  #read<T>(status: number, headers: Record<string, string | undefined>, text: string): Outcome<T> {
    const date = headers.date ? Date.parse(headers.date) : Number.NaN;
    if (Number.isFinite(date)) this.clockSkewSeconds = Math.round((date - Date.now()) / 1000);
    if (status === 204) return done(undefined as T);
    const type = headers["content-type"]?.split(";")[0]?.trim() ?? "none";
    const parsed = /[/+]json$/.test(type) ? parse(text) : undefined;
    if (status >= 200 && status < 300) {
      return parsed === undefined ? this.#foreign(status, type) : done(parsed as T);
    }
    const after = retryAfterMs(headers["retry-after"]);
    const problem =
      type === "application/problem+json" && parsed && typeof parsed === "object"
        ? (parsed as { code?: unknown; detail?: unknown })
        : undefined;
    if (problem && typeof problem.code === "string")
      return problemOf(status, problem.code, String(problem.detail ?? problem.code), after);
    if (status === 407)
      return again(
        LAYER.proxy,
        `the proxy ${this.route.proxy ?? ""} asks for a user name and password: put them into HTTP_PROXY or HTTPS_PROXY`,
      );
    if (status === 429 || status === 503)
      return later(after ?? 1_000, LAYER.http, `${this.route.origin} answered ${status}: it is busy or restarting`);
    if (status >= 500)
      return again(
        LAYER.http,
        `${this.route.origin} answered ${status}, not in Outpost's words: a gateway before it answered instead`,
      );
    return this.#foreign(status, type);
  }

  #foreign(status: number, type: string): Failure {
    const who = this.route.proxy
      ? `the proxy ${this.route.proxy} or a sign-in page`
      : "a proxy, a sign-in page or another program";
    return again(
      LAYER.foreign,
      `${this.endpoint} answered ${status} with ${type}, which Outpost never does: ${who} answered instead; look at OUTPOST_ENDPOINT and the proxy`,
    );
  }

  // The CA file is read again when it has changed: certificates are rotated under running workers.
  #dispatcher(): EnvHttpProxyAgent {
    const caFile = this.#options.env?.OUTPOST_CA_FILE;
    const changed = caFile ? statSync(caFile).mtimeMs : 1;
    if (this.#agent && this.#caRead === changed) return this.#agent;
    const old = this.#agent;
    const ca = caFile ? [...rootCertificates, readFileSync(caFile, "utf8")] : undefined;
    const connect = { timeout: 10_000, keepAlive: true, ...(ca ? { ca } : {}) };
    this.#agent = new EnvHttpProxyAgent({
      ...this.#proxies,
      connect,
      ...(ca ? { requestTls: { ca }, proxyTls: { ca } } : {}),
      keepAliveTimeout: 10_000,
    });
    this.#caRead = changed;
    void old?.close().catch(() => undefined);
    return this.#agent;
  }
}

function problemOf(status: number, code: string, detail: string, after: number | undefined): Failure {
  if (status === 429 || status === 503) return later(after ?? 1_000, code, detail);
  if (status >= 500 || status === 408 || code === "session_expired") return again(code, detail);
  return stop(code, detail);
}

function parse(text: string): unknown {
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}

async function bounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Error(`the answer has more than ${MAX_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
