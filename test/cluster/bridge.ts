/**
 * Unix sockets cross network namespaces, addresses do not. So each side of the node keeps an HTTP server on a unix socket that
 * takes `CONNECT host:port` (a tunnel into its own network) and small JSON calls; both sides are this one file.
 */
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import { connect, createServer as createListener, type Server as Listener, type Socket } from "node:net";
import type { Duplex } from "node:stream";

/** Where a tunnel ends. */
export interface Target {
  host: string;
  port: number;
}

/** JSON calls by name; the value is the answer, an exception becomes a 400 with its message. */
export type Calls = Record<string, (body: Record<string, unknown>) => unknown>;

/** A tunnel that is not open by then fails; the far end is on this machine. */
const OPEN_MS = 10_000;
/** Control messages are a few lines; more than this is not one of ours. */
const BODY_BYTES = 64 << 10;

/** Copies both ways until both have ended; an error on one side ends the other. */
export function join(a: Duplex, b: Duplex): void {
  const end = () => {
    a.destroy();
    b.destroy();
  };
  a.on("error", end).on("close", end);
  b.on("error", end).on("close", end);
  a.pipe(b);
  b.pipe(a);
}

/** Opens a tunnel through the socket of the other side. */
export function tunnel(socketPath: string, target: Target): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const asked = request({
      socketPath,
      method: "CONNECT",
      path: `${target.host}:${target.port}`,
      timeout: OPEN_MS,
      agent: false,
    });
    asked.once("connect", (answer, socket: Socket, head) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        return reject(
          new Error(`tunnel to ${target.host}:${target.port}: ${answer.statusCode} ${answer.statusMessage}`),
        );
      }
      if (head.length) socket.unshift(head);
      socket.setTimeout(0);
      resolve(socket);
    });
    asked.once("timeout", () => asked.destroy(new Error(`tunnel to ${target.host}:${target.port}: no answer`)));
    asked.once("error", reject);
    asked.end();
  });
}

/** Serves tunnels to where `allow` says yes, and the calls. */
export function serveBridge(
  socketPath: string,
  allow: (target: Target) => boolean,
  calls: Calls = {},
): Promise<Server> {
  const server = createServer(async (message, response) => {
    try {
      const call = calls[(message.url ?? "").slice(1)];
      if (!call) return void response.writeHead(404).end();
      response.end(JSON.stringify((await call(await body(message))) ?? {}));
    } catch (error) {
      response.writeHead(400).end(error instanceof Error ? error.message : String(error));
    }
  });
  server.on("connect", (message: IncomingMessage, near: Socket, head: Buffer) => {
    const target = parseTarget(message.url ?? "");
    near.on("error", () => {});
    const refuse = (status: string) => near.end(`HTTP/1.1 ${status}\r\n\r\n`);
    if (!target || !allow(target)) return refuse("403 Forbidden");
    const far = connect({ ...target, allowHalfOpen: true, noDelay: true });
    const failed = () => refuse("502 Bad Gateway");
    far.setTimeout(OPEN_MS, () => far.destroy(new Error("timeout")));
    far.once("error", failed);
    far.once("connect", () => {
      far.off("error", failed);
      far.setTimeout(0);
      near.write("HTTP/1.1 200 OK\r\n\r\n");
      if (head.length) far.write(head);
      join(near, far);
    });
  });
  return listen(server, { path: socketPath });
}

/** Listens on an address and sends every connection through a tunnel. */
export function listenThrough(at: Target, socketPath: string, target: Target): Promise<Listener> {
  const server = createListener({ allowHalfOpen: true, noDelay: true }, (near) => {
    near.on("error", () => {});
    tunnel(socketPath, target).then(
      (far) => join(near, far),
      () => near.resetAndDestroy(),
    );
  });
  return listen(server, at);
}

/** Calls the other side by name. */
export function call<T = unknown>(
  socketPath: string,
  name: string,
  message: unknown = {},
  deadlineMs = OPEN_MS,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { socketPath, method: "POST", path: `/${name}`, timeout: deadlineMs, agent: false },
      async (answer) => {
        const text = await read(answer).catch((error: Error) => error.message);
        if (answer.statusCode === 200) resolve(JSON.parse(text) as T);
        else reject(new Error(text || `${name}: ${answer.statusCode}`));
      },
    );
    asked.once("timeout", () => asked.destroy(new Error(`${name}: no answer within ${deadlineMs} ms`)));
    asked.once("error", reject);
    asked.end(JSON.stringify(message));
  });
}

/** `host:port`, also with an IPv6 host in brackets. */
export function parseTarget(text: string): Target | undefined {
  const match = /^(?:\[([0-9a-f:]+)\]|([^:/\s]+)):(\d{1,5})$/i.exec(text);
  const port = Number(match?.[3]);
  return match && port > 0 && port < 65536 ? { host: (match[1] ?? match[2])!, port } : undefined;
}

function listen<S extends Listener>(server: S, at: { path: string } | Target): Promise<S> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => resolve(server));
  });
}

async function body(message: IncomingMessage): Promise<Record<string, unknown>> {
  return JSON.parse((await read(message)) || "{}");
}

async function read(message: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of message) {
    text += chunk;
    if (text.length > BODY_BYTES) throw new Error("message too long");
  }
  return text;
}
