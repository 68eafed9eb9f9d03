import { EventEmitter } from "node:events";
import { Pool, ProxyAgent } from "undici";
import { guardedLookup, isMetadata } from "../base/address.ts";
import { again, done, type Failure, type Outcome } from "../base/outcome.ts";
import type { Secret } from "../base/secret.ts";
import { type KubeConfig, SignInFailed } from "./config.ts";
import { Discovery } from "./discovery.ts";
import { failureOf, KUBE } from "./errors.ts";
import type { KubeObject } from "./object.ts";
import { type Resource, resourcePath } from "./path.ts";

/** The name under which the controller owns every field that it sets, in `managedFields`. */
export const FIELD_MANAGER = "outpost-controller";

// 16 keep-alive connections reach what the API server of a small cluster can write (225 to 870 objects a second).
const CONNECTIONS = 16;
const DEADLINE_MS = 30_000;
// An object is at most 1.5 MB in etcd; a page of a list holds 500 of them and is seldom a hundredth of this.
const MAX_BODY = 256 * 1024 * 1024;
const PAGE = 500;
// Warnings about unknown fields are not read here, and for them the API server parses every body once more: a seventh of all that it
// allocates while objects are applied. What server-side apply refuses, it refuses all the same.
const QUIET = { fieldValidation: "Ignore" };

export interface ListResult {
  items: KubeObject[];
  resourceVersion: string;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Query = Record<string, string | number | boolean | undefined>;
interface Ask {
  query?: Query;
  body?: unknown;
  contentType?: string;
  accept?: string;
  deadlineMs?: number;
  signal?: AbortSignal;
}

/** A thin client of one API server: outcomes instead of exceptions, one pool for requests and one for watches. */
export class KubeClient {
  readonly config: KubeConfig;
  readonly discovery: Discovery;
  readonly #fieldManager: string;
  readonly #pool: Pool | ProxyAgent;
  readonly #streams: Pool | ProxyAgent;
  readonly #prefix: string;
  readonly #origin: string;
  /** When the API server said something last, by the clock; 0 for never. */
  contactAt = 0;
  /** Requests sent, by verb: the cost of a loop in one number. */
  readonly requests: Record<string, number> = {};

  constructor(config: KubeConfig, { fieldManager = FIELD_MANAGER }: { fieldManager?: string } = {}) {
    this.config = config;
    this.#fieldManager = fieldManager;
    const url = new URL(config.server);
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/\/+$/, "");
    const tls = {
      ca: config.ca,
      cert: config.cert,
      key: config.key?.reveal(),
      rejectUnauthorized: !config.insecure,
      servername: config.serverName,
    };
    // A cluster is registered by tenants, and a cloud's metadata is none.
    const lookup = guardedLookup(isMetadata, "it leads to a refused address");
    // Watches are silent for minutes, so only their pool goes without a body timeout.
    const open = (connections: number | null, bodyTimeout: number) => {
      const options = { connections, pipelining: 1, keepAliveTimeout: 60_000, headersTimeout: DEADLINE_MS, bodyTimeout };
      if (config.proxyUrl) {
        return new ProxyAgent({
          ...options,
          connections: connections ?? undefined,
          uri: config.proxyUrl,
          requestTls: tls,
          proxyTls: { lookup },
        });
      }
      return new Pool(this.#origin, { ...options, connect: { ...tls, lookup, timeout: 10_000 } });
    };
    this.#pool = open(CONNECTIONS, DEADLINE_MS);
    this.#streams = open(null, 0);
    this.discovery = new Discovery(this);
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#pool.destroy(), this.#streams.destroy()]);
  }

  get(resource: Resource, namespace: string | undefined, name: string): Promise<Outcome<KubeObject>> {
    return this.json("GET", resourcePath(resource, namespace, name));
  }

  /** Every object of a kind, page by page; the version is where a watch continues. */
  async list(
    resource: Resource,
    options: { namespace?: string; labelSelector?: string; fieldSelector?: string } = {},
  ): Promise<Outcome<ListResult>> {
    const { namespace, ...selectors } = options;
    const items: KubeObject[] = [];
    let next: string | undefined;
    do {
      const page = await this.json<ListPage>("GET", resourcePath(resource, namespace), {
        query: { ...selectors, limit: PAGE, continue: next },
      });
      if (page.kind !== "done") return page;
      const { value } = page;
      // Items of typed lists come without apiVersion and kind.
      const apiVersion = value.apiVersion;
      const kind = value.kind.replace(/List$/, "");
      for (const item of value.items ?? []) items.push({ ...item, apiVersion: item.apiVersion ?? apiVersion, kind: item.kind ?? kind });
      next = value.metadata.continue || undefined;
      if (!next) return done({ items, resourceVersion: value.metadata.resourceVersion });
    } while (next);
    return done({ items, resourceVersion: "" });
  }

  create(resource: Resource, object: KubeObject): Promise<Outcome<KubeObject>> {
    return this.json("POST", resourcePath(resource, object.metadata.namespace), {
      body: object,
      query: { fieldManager: this.#fieldManager, ...QUIET },
    });
  }

  update(resource: Resource, object: KubeObject): Promise<Outcome<KubeObject>> {
    return this.json("PUT", resourcePath(resource, object.metadata.namespace, object.metadata.name), {
      body: object,
      query: { fieldManager: this.#fieldManager, ...QUIET },
    });
  }

  /** Server-side apply. Conflicts are decided for us unless `force` is false: where Git is the truth, it is for the fields it names. */
  apply(resource: Resource, object: KubeObject, options: { dryRun?: boolean; force?: boolean } = {}): Promise<Outcome<KubeObject>> {
    return this.json("PATCH", resourcePath(resource, object.metadata.namespace, object.metadata.name), {
      body: object,
      contentType: "application/apply-patch+yaml",
      query: { fieldManager: this.#fieldManager, force: options.force ?? true, dryRun: options.dryRun ? "All" : undefined, ...QUIET },
    });
  }

  mergePatch(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    patch: unknown,
    subresource?: string,
  ): Promise<Outcome<KubeObject>> {
    return this.json("PATCH", resourcePath(resource, namespace, name) + (subresource ? `/${subresource}` : ""), {
      body: patch,
      contentType: "application/merge-patch+json",
      query: { fieldManager: this.#fieldManager, ...QUIET },
    });
  }

  patchStatus(resource: Resource, namespace: string | undefined, name: string, status: unknown): Promise<Outcome<KubeObject>> {
    return this.mergePatch(resource, namespace, name, { status }, "status");
  }

  /** `uid` makes it impossible to delete a newer object of the same name. */
  delete(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    options: { propagation?: "Foreground" | "Background" | "Orphan"; uid?: string } = {},
  ): Promise<Outcome<unknown>> {
    return this.json("DELETE", resourcePath(resource, namespace, name), {
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: options.propagation,
        preconditions: options.uid ? { uid: options.uid } : undefined,
      },
    });
  }

  /** One request and its JSON answer; any path, for the few that are no resource (`/version`, `/api`). */
  async json<T = KubeObject>(method: Method, path: string, ask: Ask = {}): Promise<Outcome<T>> {
    const deadlineMs = ask.deadlineMs ?? DEADLINE_MS;
    const deadline = new Deadline(deadlineMs, ask.signal);
    try {
      const answer = await this.#send(this.#pool, method, path, ask, deadline);
      const text = await bounded(answer.body);
      if (answer.statusCode >= 300) return failureOf(answer.statusCode, text);
      return done(JSON.parse(text) as T);
    } catch (error) {
      return this.#broken(error, deadline.over ? deadlineMs : undefined);
    } finally {
      deadline.clear();
    }
  }

  /** An answer that is no JSON, as a Pod's log is. */
  async text(path: string, query: Query = {}, signal?: AbortSignal): Promise<Outcome<string>> {
    const timeout = AbortSignal.timeout(DEADLINE_MS);
    try {
      const ask = { query, accept: "text/plain, application/json" };
      const answer = await this.#send(this.#pool, "GET", path, ask, signal ? AbortSignal.any([signal, timeout]) : timeout);
      const text = await bounded(answer.body);
      return answer.statusCode >= 300 ? failureOf(answer.statusCode, text) : done(text);
    } catch (error) {
      return this.#broken(error, timeout.aborted ? DEADLINE_MS : undefined);
    }
  }

  /** A watch's answer as a stream of lines; the caller ends it with `signal`. */
  async stream(path: string, query: Query, signal: AbortSignal): Promise<Outcome<AsyncIterable<Buffer>>> {
    try {
      const answer = await this.#send(this.#streams, "GET", path, { query }, signal);
      if (answer.statusCode >= 300) return failureOf(answer.statusCode, await bounded(answer.body));
      return done(this.#heard(answer.body));
    } catch (error) {
      return this.#broken(error, undefined);
    }
  }

  async #send(pool: Pool | ProxyAgent, method: Method, path: string, ask: Ask, signal: AbortSignal | Deadline) {
    const token = await this.config.token?.();
    const answer = await this.#sendWith(token, pool, method, path, ask, signal);
    // It may have been withdrawn, or the file that it came from changed: a new one is tried once.
    const next = answer.statusCode === 401 && token ? await this.config.token!(token) : token;
    if (next === token) return answer;
    await answer.body.dump();
    return this.#sendWith(next, pool, method, path, ask, signal);
  }

  async #sendWith(
    token: Secret | undefined,
    pool: Pool | ProxyAgent,
    method: Method,
    path: string,
    ask: Ask,
    signal: AbortSignal | Deadline,
  ) {
    const headers: Record<string, string> = { accept: ask.accept ?? "application/json", "user-agent": "outpost" };
    const { basic } = this.config;
    if (token) headers.authorization = `Bearer ${token.reveal()}`;
    else if (basic) headers.authorization = `Basic ${Buffer.from(`${basic.username}:${basic.password.reveal()}`).toString("base64")}`;
    if (this.config.impersonate) headers["impersonate-user"] = this.config.impersonate;
    if (ask.body !== undefined) headers["content-type"] = ask.contentType ?? "application/json";
    this.requests[method] = (this.requests[method] ?? 0) + 1;
    const answer = await pool.request({
      origin: this.#origin,
      path: this.#prefix + path + queryString(ask.query),
      method,
      headers,
      body: ask.body === undefined ? undefined : JSON.stringify(ask.body),
      signal,
    });
    this.contactAt = Date.now();
    return answer;
  }

  async *#heard(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      this.contactAt = Date.now();
      yield chunk;
    }
  }

  #broken(error: unknown, deadlineMs: number | undefined): Failure {
    if (error instanceof SignInFailed) return error.failure;
    if (deadlineMs !== undefined) return again(KUBE.timeout, `${this.#origin} did not answer within ${deadlineMs / 1000} s`);
    const { message, code } = error as NodeJS.ErrnoException;
    return again(KUBE.unavailable, `${this.#origin} cannot be reached: ${message || code || "unknown error"}`);
  }
}

/**
 * When a request ends at the latest, or with the caller's signal. An emitter, which undici takes as well: `AbortSignal.timeout` keeps each
 * request's timer for the whole time, 15,000 of them at 500 requests a second.
 */
class Deadline extends EventEmitter {
  aborted = false;
  over = false;
  readonly #timer: NodeJS.Timeout;
  readonly #given: AbortSignal | undefined;
  readonly #end = () => {
    this.aborted = true;
    this.emit("abort");
  };

  constructor(ms: number, given: AbortSignal | undefined) {
    super();
    this.#given = given;
    this.aborted = given?.aborted === true;
    given?.addEventListener("abort", this.#end, { once: true });
    this.#timer = setTimeout(() => {
      this.over = true;
      this.#end();
    }, ms);
    this.#timer.unref();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#given?.removeEventListener("abort", this.#end);
  }
}

interface ListPage {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion: string; continue?: string };
  items?: KubeObject[];
}

function queryString(query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return pairs.length ? `?${pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&")}` : "";
}

async function bounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error(`the answer has more than ${MAX_BODY} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]!.toString("utf8") : Buffer.concat(chunks).toString("utf8");
}
