import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { OperationId } from "../../../openapi/contract/operations.ts";
import type { operations } from "../../../openapi/contract/types.ts";
import type { Caller } from "../access/authenticate.ts";
import type { Scope } from "../domain/scope.ts";

type Params<Op extends OperationId, In extends "path" | "query"> = operations[Op]["parameters"] extends {
  [K in In]?: infer P;
}
  ? NonNullable<P>
  : Record<never, never>;
type BodyOf<Op extends OperationId> = operations[Op] extends { requestBody?: infer R }
  ? NonNullable<R> extends { content: infer C }
    ? C[keyof C]
    : undefined
  : undefined;

/** Header fields of an answer. */
export type Headers = Record<string, string>;

type ReplyFor<Status, Response> = Response extends { content: { "application/json": infer Body } }
  ? { status: Status; body: Body; headers?: Headers }
  : Response extends
        | { content: { "text/event-stream": unknown } }
        | { content: { "application/octet-stream": unknown } }
        | { content: { "application/x-ndjson": unknown } }
    ? { status: Status; stream: (res: ServerResponse) => Promise<void> }
    : Response extends { content: Record<string, unknown> }
      ?
          | { status: Status; text: string; type: string }
          | { status: Status; stream: (res: ServerResponse) => Promise<void> }
      : { status: Status; headers?: Headers };

type Responses<Op extends OperationId> = operations[Op]["responses"];

/** The answers that the contract allows for an operation; problems are thrown. */
export type Reply<Op extends OperationId> = {
  [S in keyof Responses<Op> & number]: ReplyFor<S, Responses<Op>[S]>;
}[keyof Responses<Op> & number];

/** One request, validated: what a handler may know of it. */
export interface Call<Op extends OperationId> {
  operation: Op;
  params: Params<Op, "path">;
  query: Params<Op, "query">;
  /** `{}` for a missing optional body. */
  body: BodyOf<Op>;
  /** The bytes of a body that the handler reads by itself, within bounds of its own, and the fields that come with them. */
  upload?: { bytes: Readable; announced?: number | undefined; headers: IncomingHttpHeaders };
  headers: {
    ifMatch?: string | undefined;
    ifNoneMatch?: string | undefined;
    idempotencyKey?: string | undefined;
    lastEventId?: string | undefined;
  };
  caller: Caller | undefined;
  /** The account and the `org` and `project` of the query. */
  scope: Scope;
  requestId: string;
  /** The client's address. */
  address: string;
  /** What counts as one client: its address, or the /64 network of an IPv6 address. */
  network: string;
  /** Address of the service: OUTPOST_PUBLIC_URL, else that of the connection. Never the caller's own text. */
  origin: string;
  /** Aborted when the client is gone or the server stops. */
  signal: AbortSignal;
  /** For a handler that goes on without its body: the next large one may come. */
  bodyTaken(): void;
}

export type Handler<Op extends OperationId> = (call: Call<Op>) => Promise<Reply<Op>>;

/** An operation without a handler, or a handler without an operation, does not compile. */
export type Handlers = { [Op in OperationId]: Handler<Op> };

/** What code that serves every operation knows of a call. */
export type AnyCall = Omit<Call<OperationId>, "params" | "query" | "body"> & {
  params: Record<string, string>;
  query: Record<string, any>;
  body: any;
};
export type AnyReply = {
  status: number;
  headers?: Headers;
  body?: unknown;
  text?: string;
  type?: string;
  stream?: (res: ServerResponse) => Promise<void>;
};
