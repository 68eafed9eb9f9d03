import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { Secret } from "../../../base/secret.ts";
import { KUBE } from "../../../kube/errors.ts";

// One rendering; a chart that asks more is no chart that looks something up.
const MAX_REQUESTS = 500;
const MAX_BYTES = 50_000_000;
const DEADLINE_MS = 10_000;
const PASSED = new Set(["labelSelector", "fieldSelector", "limit", "continue"]);
const CODES: Record<string, number> = {
  [KUBE.forbidden]: 403,
  [KUBE.notFound]: 404,
  [KUBE.namespaceNotFound]: 404,
  [KUBE.kindNotFound]: 404,
  [KUBE.invalid]: 400,
  [KUBE.gone]: 410,
  [KUBE.rateLimited]: 429,
};

/** Who may read what a rendering reads: a client of the cluster, or one that judges each request first. */
export interface Eyes {
  json(method: "GET", path: string, ask: { deadlineMs: number }): Promise<Outcome<unknown>>;
}

/** A loopback address at which a cluster can be read. Only callers that were given the address can use it. */
export interface Reader {
  /** Holds a secret in its path: clients of Kubernetes send a token to a server with TLS alone. */
  address: Secret;
  /** The first error that prevented an answer. */
  failure(): Failure | undefined;
  close(): Promise<void>;
}

/**
 * Lets one rendering read what the client's user may read: objects, lists and which kinds there are, by GET alone, for as long as the
 * rendering lasts. Behind it nothing knows a credential of the cluster.
 */
export async function openReader(client: Eyes): Promise<Reader> {
  const door = `/${randomBytes(32).toString("hex")}`;
  const state: { requests: number; bytes: number; failure?: Failure } = { requests: 0, bytes: 0 };
  const server = createServer((request, response) => {
    const target = request.url ?? "";
    if (!timingSafeEqual(Buffer.from(target.slice(0, door.length).padEnd(door.length), "latin1"), Buffer.from(door))) {
      response.writeHead(401).end();
      request.resume();
      return;
    }
    void pass(client, request, target.slice(door.length), response, state).catch(() => response.destroy());
  });
  server.requestTimeout = DEADLINE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: new Secret(`http://127.0.0.1:${port}${door}`),
    failure: () => state.failure,
    close: () => closed(server),
  };
}

async function pass(
  client: Eyes,
  request: IncomingMessage,
  target: string,
  response: ServerResponse,
  state: { requests: number; bytes: number; failure?: Failure },
): Promise<void> {
  request.resume();
  const head = request.method === "HEAD";
  if (request.method !== "GET" && !head) return refuse(response, 405, "only GET and HEAD are passed on");
  const path = readable(target);
  if (path === undefined) return refuse(response, 403, "only objects, lists and kinds are passed on");
  if (++state.requests > MAX_REQUESTS) return refuse(response, 429, `a rendering may ask ${MAX_REQUESTS} times`);
  const answer = await client.json("GET", path, { deadlineMs: DEADLINE_MS });
  if (answer.kind !== "done") {
    const code = CODES[answer.reason] ?? 503;
    // That there is no such object is an answer.
    if (code !== 404) state.failure ??= answer;
    return refuse(response, code, answer.message);
  }
  const body = Buffer.from(JSON.stringify(answer.value));
  state.bytes += body.length;
  if (state.bytes > MAX_BYTES) {
    state.failure ??= stop(KUBE.tooLarge, `a rendering may read ${MAX_BYTES} bytes of the cluster`);
    return refuse(response, 413, state.failure.message);
  }
  response
    .writeHead(200, { "content-type": "application/json", "content-length": body.length })
    .end(head ? undefined : body);
}

const REASONS: Record<number, string> = {
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  429: "TooManyRequests",
};

function refuse(response: ServerResponse, code: number, message: string): void {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: REASONS[code] ?? "",
    code,
  };
  response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(status));
}

/**
 * The path of a list, an object, or of what kinds there are; nothing else: a connection to a Pod, a proxy or a log is a GET too. Only the
 * parameters that choose objects are kept, so nothing is watched.
 */
export function readable(target: string): string | undefined {
  if (target.length > 4_000 || !target.startsWith("/") || target.startsWith("//")) return undefined;
  const at = target.indexOf("?");
  const path = at < 0 ? target : target.slice(0, at);
  if (!/^(\/[A-Za-z0-9._:~-]+)+$/.test(path)) return undefined;
  const segments = path.slice(1).split("/");
  if (segments.some((segment) => segment === "." || segment === "..")) return undefined;
  const [root, ...rest] = segments;
  if (root === "version" ? rest.length > 0 : root !== "api" && root !== "apis") return undefined;
  const inside = rest.slice(root === "apis" ? 2 : 1);
  // namespaces/NS/things/NAME, or things/NAME; a namespace itself is a thing too.
  const named = inside[0] === "namespaces" && inside.length > 2 ? inside.slice(2) : inside;
  if (named.length > 2) return undefined;
  const query = new URLSearchParams(at < 0 ? "" : target.slice(at + 1));
  for (const name of [...query.keys()]) if (!PASSED.has(name)) query.delete(name);
  const kept = query.toString();
  return kept ? `${path}?${kept}` : path;
}

/** The resource that a path returned by `readable` refers to; undefined for discovery and version requests. */
export function placeOf(
  path: string,
): { group: string; version: string; plural: string; namespace?: string } | undefined {
  const [root, ...rest] = path.split("?", 1)[0]!.slice(1).split("/");
  const [group, version, ...inside] = root === "api" ? ["", ...rest] : rest;
  if (inside[0] === undefined || group === undefined || version === undefined) return undefined;
  const [plural, namespace] = inside;
  if (plural === "namespaces" && inside.length > 2)
    return { group, version, plural: inside[2]!, namespace: namespace! };
  return { group, version, plural };
}

async function closed(server: Server): Promise<void> {
  const done = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await done;
}
