import type { components } from "../../openapi/contract/types.ts";
import { accountOfKey } from "../../openapi/known-agents.ts";
import type { Log } from "../protocol/log.ts";
import { exchange, type HttpAnswer } from "./http.ts";
import { pause } from "./pause.ts";

export type Problem = components["schemas"]["Problem"];

/** The wire shape of every noun. */
export interface Stored {
  readonly id: string;
  readonly org?: string;
  readonly project?: string;
  readonly uid: string;
  readonly generation: number;
  readonly version: string;
  readonly createdAt?: string;
  readonly deletionRequestedAt?: string;
  readonly spec: Record<string, unknown>;
  readonly status: Record<string, unknown>;
}

/** Where an object is. */
export interface Place {
  readonly collection: string;
  readonly id: string;
  readonly org?: string | undefined;
  readonly project?: string | undefined;
}

export type Reply<T> =
  | { readonly ok: true; readonly status: number; readonly body: T; readonly repeated: boolean }
  | { readonly ok: false; readonly status: number; readonly problem: Problem; readonly repeated: boolean };

/** How far a call may go: until when it is tried again, and what stops it. */
export interface Limit {
  readonly deadline: number;
  readonly signal: AbortSignal;
}

export interface ClientOptions {
  readonly endpoint: string;
  readonly apiKey: string;
  readonly account?: string | undefined;
  readonly ca?: string | undefined;
  /** Milliseconds that one request may take. */
  readonly requestTimeout: number;
  readonly userAgent: string;
  readonly log: Log;
  /** Take over what exists already and is exactly what was to be created: an apply that was killed left it. */
  readonly recover?: boolean;
}

const again = new Set([429, 502, 503, 504]);
/** What a broken or missing connection says. Anything else (a wrong certificate, say) will not get better by waiting. */
const broken = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "ECONNABORTED",
]);

/** An unchanged answer. */
const TEXTS = "application/yaml, text/plain, application/problem+json";

/** A service that never answered is mostly a wrong address: it is not waited for as long as one that is away for a moment. */
const firstContact = 20_000;

/** A service, as one session of the provider sees it. */
export class Client {
  readonly #options: ClientOptions;
  #reached = false;
  readonly #since = Date.now();
  #account: Promise<Reply<{ account: string }>> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
  }
  get endpoint(): string {
    return this.#options.endpoint;
  }
  get recovers(): boolean {
    return this.#options.recover === true;
  }
  /** The account that the key is for, as the key itself says. */
  get keyAccount(): string {
    return accountOfKey(this.#options.apiKey);
  }
  get(place: Place, limit: Limit): Promise<Reply<Stored>> {
    return this.call<Stored>("GET", path(place), limit);
  }
  /** A part below an object that is not an object itself. */
  read<T>(place: Place, action: string, limit: Limit): Promise<Reply<T>> {
    return this.call<T>("GET", path(place, action), limit);
  }
  /** `ifMatch` is a version; its entity tag is the same in quotes. */
  put(
    place: Place,
    spec: object,
    condition: { ifMatch?: string; ifNoneMatch?: "*"; move?: boolean; adopt?: boolean },
    limit: Limit,
  ): Promise<Reply<Stored>> {
    const { ifMatch, ifNoneMatch, move, adopt } = condition;
    const query = { ...(move ? { move: "true" } : {}), ...(adopt ? { adopt: "true" } : {}) };
    const headers = {
      ...(ifMatch === undefined ? {} : { "if-match": JSON.stringify(ifMatch) }),
      ...(ifNoneMatch ? { "if-none-match": ifNoneMatch } : {}),
    };
    return this.call<Stored>("PUT", path(place, "", query), limit, { spec }, headers);
  }
  delete(place: Place, query: Record<string, string>, limit: Limit): Promise<Reply<Stored | undefined>> {
    return this.call<Stored | undefined>("DELETE", path(place, "", query), limit);
  }
  /** A POST to a sub-resource; `key` makes it safe to send again. */
  post<T>(place: Place, action: string, body: object, limit: Limit, key?: string): Promise<Reply<T>> {
    return this.call<T>("POST", path(place, action), limit, body, key ? { "idempotency-key": key } : {});
  }
  /** A POST whose answer is a text and no JSON. */
  text(
    place: Place,
    action: string,
    body: object,
    query: Record<string, string>,
    limit: Limit,
  ): Promise<Reply<string>> {
    return this.call<string>("POST", path(place, action, query), limit, body, { accept: TEXTS });
  }
  /** The account of the API key, asked for once. */
  async account(limit: Limit): Promise<Reply<{ account: string }>> {
    if (!this.#account) {
      const asked = this.call<{ account: string }>("GET", "/v1/whoami", limit);
      this.#account = asked;
      const reply = await asked;
      // A failure is not kept, so that the next call asks again.
      if (!reply.ok) this.#account = undefined;
      return reply;
    }
    return this.#account;
  }

  /** One call, again and again while the service cannot be reached, until the deadline. */
  async call<T>(
    method: string,
    path: string,
    limit: Limit,
    body?: object,
    extra: Record<string, string> = {},
  ): Promise<Reply<T>> {
    const { endpoint, apiKey, ca, requestTimeout, userAgent, log } = this.#options;
    const headers: Record<string, string> = {
      authorization: `Bearer ${apiKey}`,
      accept: "application/json, application/problem+json",
      "user-agent": userAgent,
      ...extra,
    };
    if (body !== undefined) headers["content-type"] = "application/json";
    const url = new URL(`${endpoint}${path}`);
    for (let attempt = 0; ; attempt++) {
      limit.signal.throwIfAborted();
      const left = limit.deadline - Date.now();
      const timeout = Math.max(1_000, Math.min(requestTimeout, left));
      let last: Reply<T>;
      let wait = backoff(attempt);
      try {
        const answer = await exchange({
          method,
          url,
          headers,
          body: body && JSON.stringify(body),
          ca,
          timeout,
          signal: limit.signal,
        });
        last = replyOf<T>(answer, attempt > 0, headers.accept === TEXTS);
        this.#reached = true;
        if (last.ok || !again.has(last.status)) return last;
        wait = Math.max(wait, retryAfter(answer, last.problem));
      } catch (error) {
        limit.signal.throwIfAborted();
        last = {
          ok: false,
          status: 0,
          problem: unreachable(endpoint, error as NodeJS.ErrnoException),
          repeated: attempt > 0,
        };
        if (!broken.has((error as NodeJS.ErrnoException).code ?? "")) return last;
      }
      const end = this.#reached ? limit.deadline : Math.min(limit.deadline, this.#since + firstContact);
      if (Date.now() + wait >= end) return last;
      log("warn", `${method} ${path}: ${last.problem.detail}; again in ${Math.round(wait)} ms`);
      await pause(wait, limit.signal);
    }
  }
}

function path({ collection, id, org, project }: Place, action = "", query: Record<string, string> = {}): string {
  const search = new URLSearchParams({ ...(org ? { org } : {}), ...(project ? { project } : {}), ...query }).toString();
  return `/v1/${collection}/${encodeURIComponent(id)}${action}${search && `?${search}`}`;
}

/** 0.25 s, growing to 10 s, each with up to half of it at random, so that many resources do not come back at once. */
const backoff = (attempt: number): number => Math.min(10_000, 250 * 2 ** attempt) * (0.75 + Math.random() / 2);

function retryAfter({ headers }: HttpAnswer, problem: Problem): number {
  const seconds = Number(headers["retry-after"] ?? problem.retryAfterSeconds ?? 0);
  return Number.isFinite(seconds) ? Math.min(seconds, 60) * 1000 : 0;
}

function replyOf<T>({ status, headers, body }: HttpAnswer, repeated: boolean, texts: boolean): Reply<T> {
  const type = headers["content-type"] ?? "";
  if (texts && status === 200 && /^(application\/yaml|text\/plain)\b/.test(type))
    return { ok: true, status, body: body as T, repeated };
  const json: unknown = /[/+]json\b/.test(type) && body !== "" ? parse(body) : undefined;
  if (status === 204 || status === 304) return { ok: true, status, body: undefined as T, repeated };
  if (status >= 200 && status < 300 && json !== undefined) return { ok: true, status, body: json as T, repeated };
  const problem = isProblem(json) ? json : foreign(status, type);
  return { ok: false, status: status >= 200 && status < 300 ? 0 : status, problem, repeated };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

const isProblem = (json: unknown): json is Problem =>
  typeof json === "object" && json !== null && typeof (json as Problem).detail === "string";

const made = (status: number, code: string, title: string, detail: string): Problem => ({
  type: "about:blank",
  title,
  status,
  code,
  detail,
});

/** An answer that is not the service's: mostly a proxy's. */
const foreign = (status: number, type: string): Problem =>
  made(
    status,
    "foreign_answer",
    "Not an answer of the service",
    `Status ${status} with ${type || "no content type"}: is \`endpoint\` the service's address, and no proxy in between?`,
  );

function unreachable(endpoint: string, error: NodeJS.ErrnoException): Problem {
  return made(
    0,
    "unreachable",
    "The service cannot be reached",
    `${endpoint} cannot be reached: ${error.message || error.code || "unknown reason"}. Check that the service runs, and \`endpoint\` in the provider block or OUTPOST_ENDPOINT.`,
  );
}
