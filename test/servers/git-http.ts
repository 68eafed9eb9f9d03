import { spawn } from "node:child_process";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Where `git http-backend` lives beside git's other programs; it is git itself that knows. */
export interface Backend {
  root: string;
  user?: string;
}

/** The CGI environment of one request (RFC 3875, and what git-http-backend(1) adds). */
export function cgiEnvironment(request: IncomingMessage, backend: Backend): NodeJS.ProcessEnv {
  const url = new URL(request.url ?? "/", "http://localhost");
  const header = (name: string) => request.headers[name]?.toString();
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HOME: "/nonexistent",
    GIT_CONFIG_NOSYSTEM: "1",
    // The repositories may belong to another user than the one who serves them.
    GIT_CONFIG_COUNT: "2",
    GIT_CONFIG_KEY_0: "safe.directory",
    GIT_CONFIG_VALUE_0: "*",
    GIT_CONFIG_KEY_1: "http.receivepack",
    GIT_CONFIG_VALUE_1: "true",
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_PROJECT_ROOT: backend.root,
    GATEWAY_INTERFACE: "CGI/1.1",
    SERVER_PROTOCOL: `HTTP/${request.httpVersion}`,
    REQUEST_METHOD: request.method,
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REMOTE_ADDR: request.socket.remoteAddress,
    REMOTE_USER: backend.user,
    CONTENT_TYPE: header("content-type"),
    // Absent when git streams a large pack in chunks; the backend then reads to the end of input.
    CONTENT_LENGTH: header("content-length"),
    // The backend itself unpacks gzip bodies when it is told of them.
    HTTP_CONTENT_ENCODING: header("content-encoding"),
    GIT_PROTOCOL: header("git-protocol"),
  };
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}

/** Streams one request through `git http-backend`; the child ends when the client goes away. */
export function serveGit(request: IncomingMessage, response: ServerResponse, backend: Backend): void {
  const child = spawn("git", ["http-backend"], {
    env: cgiEnvironment(request, backend),
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {});
  request.pipe(child.stdin);
  response.on("close", () => child.kill());
  child.once("error", (error) => response.writeHead(500).end(error.message));

  let head = Buffer.alloc(0);
  const onHead = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const parsed = cgiHead(head);
    if (!parsed) return;
    child.stdout.off("data", onHead);
    response.writeHead(parsed.status, parsed.headers);
    response.write(parsed.rest);
    child.stdout.pipe(response);
  };
  child.stdout.on("data", onHead);
  child.stdout.on("end", () => {
    if (!response.headersSent) response.writeHead(502).end("git http-backend gave no answer\n");
  });
}

/** Splits a CGI answer into status, headers and the first bytes of the body; undefined until the head is whole. */
export function cgiHead(bytes: Buffer): { status: number; headers: Record<string, string>; rest: Buffer } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const headers: Record<string, string> = {};
  let status = 200;
  for (const line of bytes.subarray(0, end).toString("latin1").split("\r\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === "status") status = Number.parseInt(value, 10);
    else headers[name] = value;
  }
  return { status, headers, rest: bytes.subarray(end + 4) };
}
