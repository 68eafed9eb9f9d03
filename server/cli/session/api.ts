import type { Problem } from "../../../openapi/client.ts";
import { type OperationId, type OperationRow, operations } from "../../../openapi/contract/operations.ts";
import { EXIT, Failure, problemFailure } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { forPeople } from "./people.ts";
import type { Target } from "./settings.ts";
import { transport } from "./transport.ts";

export interface CallArgs {
  path?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  body?: unknown;
  /** Another scope than the one of the command line, for an object read from a file. */
  scope?: Scope;
}
export interface Scope {
  org?: string | undefined;
  project?: string | undefined;
}

/** With so many ids a misspelt one is compared. */
const MOST_IDS = 200;
// The service itself waits up to 20 s for an agent's answer.
const CALL_DEADLINE_MS = 45_000;
/** A download of the largest file there is over a slow line. */
export const MAX_WAIT_MS = 600_000;

/** The contract's operations, called by id. Anything but a success is thrown as a Failure that carries the Problem. */
export class Api {
  readonly target: Target;
  readonly #io: Io;
  constructor(target: Target, io: Io) {
    this.target = target;
    this.#io = io;
  }

  get scope(): Scope {
    return { org: this.target.org, project: this.target.project };
  }

  async call<T>(id: OperationId, args: CallArgs = {}): Promise<T> {
    const answer = await this.send(id, args, AbortSignal.timeout(CALL_DEADLINE_MS));
    const text = await answer.text();
    const type = answer.headers.get("content-type") ?? "";
    return (type.includes("json") && text ? JSON.parse(text) : text) as T;
  }

  /** Sends a request and returns the successful response with an unread body. */
  async send(id: OperationId, args: CallArgs, deadline: AbortSignal): Promise<Response> {
    const row: OperationRow = operations[id];
    if (!this.target.apiKey)
      throw new Failure(`not signed in to ${this.target.endpoint}`, EXIT.denied, {
        hint: "outpost login ENDPOINT, or set OUTPOST_API_KEY",
      });
    const fetch = await transport(this.#io);
    const url = this.#url(row, args);
    const headers: Record<string, string> = {
      authorization: `Bearer ${this.target.apiKey}`,
      "user-agent": "outpost-cli",
      ...args.headers,
    };
    if (args.body !== undefined)
      headers["content-type"] ??= row.method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const signal = AbortSignal.any([deadline, this.#io.signal]);
    let answer: Response;
    try {
      const init: RequestInit = { method: row.method, headers, signal, redirect: "error" };
      if (args.body !== undefined) init.body = JSON.stringify(args.body);
      answer = await fetch(url, init);
    } catch (error) {
      throw this.#unreachable(error as Error, deadline);
    }
    if (answer.ok) return answer;
    const scope = args.scope ?? this.scope;
    throw await forPeople(await refusal(answer), {
      row,
      path: args.path,
      scope,
      ids: (list) => this.#ids(list, scope),
    });
  }

  async #ids(list: OperationId, scope: Scope): Promise<string[]> {
    const page = await this.call<{ items?: { id: string }[] }>(list, { query: { limit: MOST_IDS }, scope });
    return (page.items ?? []).map(({ id }) => id);
  }

  #url(row: OperationRow, args: CallArgs): string {
    const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(args.path?.[name] ?? ""));
    const query = new URLSearchParams();
    const scope = args.scope ?? this.scope;
    const levels = row.scoped ? (row.scopes ?? ["account", "org", "project"]) : [];
    if (scope.org && levels.includes("org")) query.set("org", scope.org);
    if (scope.project && levels.includes("project")) query.set("project", scope.project);
    for (const [name, value] of Object.entries(args.query ?? {}))
      if (value !== undefined) query.set(name, String(value));
    return `${this.target.endpoint.replace(/\/+$/, "")}${path}${query.size ? `?${query}` : ""}`;
  }

  #unreachable(error: Error, deadline: AbortSignal): Failure {
    if (this.#io.signal.aborted) return new Failure("interrupted", EXIT.interrupted);
    if (deadline.aborted) return new Failure(`${this.target.endpoint} did not answer in time`, EXIT.timeout);
    const cause = (error.cause ?? error) as Error & { code?: string };
    const why = NETWORK[cause.code ?? ""] ?? (cause.message || cause.code || error.message);
    return new Failure(`${this.target.endpoint} cannot be reached: ${why}`, EXIT.unreachable, {
      hint: "check the address, the proxy variables and OUTPOST_CA_FILE",
    });
  }
}

async function refusal(answer: Response): Promise<Failure> {
  const text = await answer.text();
  if (answer.headers.get("content-type")?.includes("json")) {
    const body = JSON.parse(text) as Problem;
    if (body.code && body.detail) return problemFailure(body);
  }
  // Not the service but something between: a proxy, a load balancer, another program on that port.
  return new Failure(`the answer is HTTP ${answer.status} and not from an Outpost service`, EXIT.unreachable, {
    hint: "check the address and the proxy between",
  });
}

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "the name is not known",
};
