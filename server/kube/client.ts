import { type Dispatcher, Pool, ProxyAgent } from "undici";
import { guardedLookup, isMetadata } from "../base/cloud/address.ts";
import { again, done, type Failure, type Outcome } from "../base/outcome.ts";
import { FairSlots } from "../base/process/fair-slots.ts";
import type { Secret } from "../base/secret.ts";
import { type KubeConfig, SignInFailed } from "./config.ts";
import { Discovery } from "./discovery.ts";
import { failureOf, KUBE } from "./errors.ts";
import { DeadlineOver, exchange } from "./exchange.ts";
import type { KubeObject } from "./object.ts";
import { type Resource, resourcePath } from "./path.ts";
import { readAnswer } from "./read.ts";

/** The name in `managedFields` of all that this program writes, but for what it applies. */
export const FIELD_MANAGER = "outpost-controller";
/**
 * The name under which desired state is applied. It is Argo CD's own, so that either engine can remove what the other one applied: server-side
 * apply takes away only fields that its own manager has.
 */
export const APPLIER = "argocd-controller";

// 16 keep-alive connections reach what the API server of a small cluster can write (225 to 870 objects a second).
const CONNECTIONS = 16;
const DEADLINE_MS = 30_000;
const PAGE = 500;
const MAX_REFUSAL = 100_000;
// Warnings about unknown fields are not read here, and for them the API server parses every body once more: a seventh of all that it
// allocates while objects are applied. What server-side apply refuses, it refuses all the same.
const QUIET = { fieldValidation: "Ignore" };

export interface ListResult {
  items: KubeObject[];
  resourceVersion: string;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Query = Record<string, string | number | boolean | undefined>;
/** Lists of this form have only the metadata of their items. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json";

interface Ask {
  query?: Query;
  body?: unknown;
  contentType?: string;
  accept?: string;
  deadlineMs?: number;
  signal?: AbortSignal;
}

interface Lane {
  of: KubeClient;
  name: string;
}

/** A thin client of one API server: outcomes instead of exceptions, one pool for requests and one for watches. */
export class KubeClient {
  readonly config: KubeConfig;
  readonly discovery: Discovery;
  /** Whether every write is only tried: the API server answers as if, and stores nothing. */
  readonly tryOnly: boolean;
  readonly #fieldManager: string;
  readonly #applier: string;
  readonly #pool: Pool | ProxyAgent;
  readonly #streams: Pool | ProxyAgent;
  readonly #prefix: string;
  readonly #origin: string;
  readonly #contact: { at: number };
  readonly #turns: { slots?: FairSlots };
  readonly #lane: string;
  readonly #isWhole: boolean;
  /** Requests sent, by verb: the cost of a loop in one number. */
  readonly requests: Record<string, number>;

  constructor(
    config: KubeConfig,
    { fieldManager, lane, tryOnly }: { fieldManager?: string; lane?: Lane; tryOnly?: boolean } = {},
  ) {
    this.config = config;
    const whole = lane?.of;
    this.tryOnly = tryOnly ?? whole?.tryOnly ?? false;
    this.#fieldManager = fieldManager ?? (whole ? whole.#fieldManager : FIELD_MANAGER);
    this.#applier = fieldManager ?? (whole ? whole.#applier : APPLIER);
    this.#isWhole = whole === undefined;
    this.#lane = lane?.name ?? "";
    this.#contact = whole ? whole.#contact : { at: 0 };
    this.#turns = whole ? whole.#turns : {};
    this.requests = whole ? whole.requests : {};
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
    // Tenants register clusters, and a cloud's metadata address must not be one.
    const lookup = guardedLookup(isMetadata, "it leads to a refused address");
    // Watches are silent for minutes, so only their pool goes without a body timeout.
    const open = (connections: number | null, bodyTimeout: number) => {
      const options = {
        connections,
        pipelining: 1,
        keepAliveTimeout: 60_000,
        headersTimeout: DEADLINE_MS,
        bodyTimeout,
      };
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
    this.#pool = whole ? whole.#pool : open(CONNECTIONS, DEADLINE_MS);
    this.#streams = whole ? whole.#streams : open(null, 0);
    this.discovery = whole ? whole.discovery : new Discovery(this);
  }

  /**
   * The same client for one of several that use it: with the same connections, for which their requests take turns. As long as nobody asks for one,
   * requests go as they come.
   */
  lane(name: string): KubeClient {
    this.#turns.slots ??= new FairSlots(CONNECTIONS);
    return new KubeClient(this.config, { lane: { of: this, name } });
  }

  /** When the API server said something last, by the clock; 0 for never. */
  get contactAt(): number {
    return this.#contact.at;
  }

  async close(): Promise<void> {
    if (!this.#isWhole) return;
    await Promise.allSettled([this.#pool.destroy(), this.#streams.destroy()]);
  }

  get(resource: Resource, namespace: string | undefined, name: string): Promise<Outcome<KubeObject>> {
    return this.json("GET", resourcePath(resource, namespace, name));
  }

  /** Every object of a kind, page by page; the version is where a watch continues. */
  async list(
    resource: Resource,
    options: { namespace?: string; labelSelector?: string; fieldSelector?: string; metadataOnly?: boolean } = {},
  ): Promise<Outcome<ListResult>> {
    const { namespace, metadataOnly, ...selectors } = options;
    const items: KubeObject[] = [];
    let next: string | undefined;
    do {
      const page = await this.json<ListPage>("GET", resourcePath(resource, namespace), {
        query: { ...selectors, limit: PAGE, continue: next },
        accept: metadataOnly ? METADATA_ONLY : undefined,
      });
      if (page.kind !== "done") return page;
      const { value } = page;
      for (const item of value.items ?? [])
        items.push(metadataOnly ? typed(item, resource) : { ...item, ...typeOf(item, value) });
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
  apply(
    resource: Resource,
    object: KubeObject,
    options: { dryRun?: boolean; force?: boolean } = {},
  ): Promise<Outcome<KubeObject>> {
    return this.json("PATCH", resourcePath(resource, object.metadata.namespace, object.metadata.name), {
      body: object,
      contentType: "application/apply-patch+yaml",
      query: {
        fieldManager: this.#applier,
        force: options.force ?? true,
        dryRun: options.dryRun ? "All" : undefined,
        ...QUIET,
      },
    });
  }

  mergePatch(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    patch: unknown,
    { subresource, manager = this.#fieldManager }: { subresource?: string; manager?: string } = {},
  ): Promise<Outcome<KubeObject>> {
    return this.json("PATCH", resourcePath(resource, namespace, name) + (subresource ? `/${subresource}` : ""), {
      body: patch,
      contentType: "application/merge-patch+json",
      query: { fieldManager: manager, ...QUIET },
    });
  }

  patchStatus(
    resource: Resource,
    namespace: string | undefined,
    name: string,
    status: unknown,
  ): Promise<Outcome<KubeObject>> {
    return this.mergePatch(resource, namespace, name, { status }, { subresource: "status" });
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
    const text = await this.#ask(method, path, ask);
    if (text.kind !== "done") return text;
    try {
      return done(readAnswer(text.value) as T);
    } catch (error) {
      // Something in between answers, as a page to sign in does.
      return this.#broken(error);
    }
  }

  /** An answer that is no JSON, as a Pod's log is. */
  text(path: string, query: Query = {}, signal?: AbortSignal): Promise<Outcome<string>> {
    return this.#ask("GET", path, { query, accept: "text/plain, application/json", signal });
  }

  /** A watch's answer as a stream of lines; the caller ends it with `signal`. */
  async stream(path: string, query: Query, signal: AbortSignal): Promise<Outcome<AsyncIterable<Buffer>>> {
    try {
      const answer = await this.#signedIn(async (token) => {
        const opened = await this.#streams.request({ ...this.#request(token, "GET", path, { query }), signal });
        if (opened.statusCode < 300) return { status: opened.statusCode, body: opened.body };
        return { status: opened.statusCode, text: await beginning(opened.body) };
      });
      return answer.body ? done(this.#heard(answer.body)) : failureOf(answer.status, answer.text);
    } catch (error) {
      return this.#broken(error);
    }
  }

  async #ask(method: Method, path: string, ask: Ask): Promise<Outcome<string>> {
    const limits = { deadlineMs: ask.deadlineMs ?? DEADLINE_MS, signal: ask.signal };
    try {
      const send = () =>
        this.#signedIn((token) => exchange(this.#pool, this.#request(token, method, path, ask), limits));
      const { slots } = this.#turns;
      const { status, text } = await (slots ? slots.run(this.#lane, send) : send());
      return status >= 300 ? failureOf(status, text) : done(text);
    } catch (error) {
      return this.#broken(error, limits.deadlineMs);
    }
  }

  async #signedIn<T extends { status: number }>(send: (token: Secret | undefined) => Promise<T>): Promise<T> {
    const token = await this.config.token?.();
    const answer = await send(token);
    this.#contact.at = Date.now();
    // It may have been withdrawn, or the file that it came from changed: a new one is tried once.
    const next = answer.status === 401 && token ? await this.config.token!(token) : token;
    return next === token ? answer : send(next);
  }

  #request(
    token: Secret | undefined,
    method: Method,
    path: string,
    given: Ask,
  ): Dispatcher.DispatchOptions & { origin: string } {
    const ask = this.tryOnly && method !== "GET" ? tried(method, given) : given;
    const headers: Record<string, string> = { accept: ask.accept ?? "application/json", "user-agent": "outpost" };
    const { basic } = this.config;
    if (token) headers.authorization = `Bearer ${token.reveal()}`;
    else if (basic)
      headers.authorization = `Basic ${Buffer.from(`${basic.username}:${basic.password.reveal()}`).toString("base64")}`;
    if (this.config.impersonate) headers["impersonate-user"] = this.config.impersonate;
    if (ask.body !== undefined) headers["content-type"] = ask.contentType ?? "application/json";
    this.requests[method] = (this.requests[method] ?? 0) + 1;
    const body = ask.body === undefined ? undefined : JSON.stringify(ask.body);
    return { origin: this.#origin, path: this.#prefix + path + queryString(ask.query), method, headers, body };
  }

  async *#heard(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      this.#contact.at = Date.now();
      yield chunk;
    }
  }

  #broken(error: unknown, deadlineMs = DEADLINE_MS): Failure {
    if (error instanceof SignInFailed) return error.failure;
    if (error instanceof DeadlineOver)
      return again(KUBE.timeout, `${this.#origin} did not answer within ${deadlineMs / 1000} s`);
    const { message, code } = error as NodeJS.ErrnoException;
    return again(KUBE.unavailable, `${this.#origin} cannot be reached: ${message || code || "unknown error"}`);
  }
}

/** A write that stores nothing. Of a deletion only the body counts, where it has one. */
function tried(method: Method, ask: Ask): Ask {
  if (method !== "DELETE") return { ...ask, query: { ...ask.query, dryRun: "All" } };
  return {
    ...ask,
    body: { apiVersion: "v1", kind: "DeleteOptions", ...(ask.body as object | undefined), dryRun: ["All"] },
  };
}

interface ListPage {
  apiVersion: string;
  kind: string;
  metadata: { resourceVersion: string; continue?: string };
  items?: KubeObject[];
}

/** Items of typed lists come without apiVersion and kind. */
const typeOf = (item: KubeObject, { apiVersion, kind }: ListPage) => ({
  apiVersion: item.apiVersion ?? apiVersion,
  kind: item.kind ?? kind.replace(/List$/, ""),
});

const typed = ({ metadata }: KubeObject, { group, version, kind }: Resource): KubeObject => ({
  apiVersion: group ? `${group}/${version}` : version,
  kind,
  metadata,
});

function queryString(query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return pairs.length ? `?${pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&")}` : "";
}

/** Why a watch is refused fits into a few hundred bytes. */
async function beginning(body: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of body) {
    text += chunk.toString("utf8");
    if (text.length > MAX_REFUSAL) break;
  }
  return text;
}
