import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Problem } from "../../domain/problem.ts";

/** Answers as a Problem what Node's parser refuses before there is a request. */
export function answerBrokenRequests(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Gone, or an answer is half written: there is nothing sound to add.
    if (
      error.code === "ECONNRESET" ||
      !socket.writable ||
      (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent
    ) {
      socket.destroy();
      return;
    }
    write(socket, problemFor(error));
  });
  // Without these listeners Node closes the connection with no word, or answers outside the contract.
  server.on("connect", (_req, socket: Duplex) =>
    write(socket, new Problem("method_not_allowed", "This is not a proxy.", { headers: { Allow: "GET" } })),
  );
  server.on("checkExpectation", (_req: IncomingMessage, res) => {
    const problem = new Problem("invalid_request", "The Expect header must be 100-continue.");
    const body = JSON.stringify(problem.body(randomUUID()));
    res.writeHead(problem.status, {
      "Content-Type": "application/problem+json",
      "Content-Length": Buffer.byteLength(body),
      Connection: "close",
    });
    res.end(body);
  });
}

/**
 * Closes connections on which no request is in work. Node's closeIdleConnections passes over one that was opened ahead and has not
 * sent anything yet, as clients with connection pools do.
 */
export function trackIdle(server: Server): () => void {
  const busy = new Map<Socket, number>();
  server.on("connection", (socket: Socket) => {
    busy.set(socket, 0);
    socket.once("close", () => busy.delete(socket));
  });
  server.on("request", (req: IncomingMessage, res: ServerResponse) => {
    const { socket } = req;
    busy.set(socket, (busy.get(socket) ?? 0) + 1);
    res.once("close", () => {
      if (busy.has(socket)) busy.set(socket, (busy.get(socket) ?? 1) - 1);
    });
  });
  return () => {
    for (const [socket, requests] of busy) if (requests === 0) socket.destroySoon();
  };
}

function problemFor(error: NodeJS.ErrnoException): Problem {
  if (error.code === "HPE_HEADER_OVERFLOW")
    return new Problem("header_fields_too_large", "All header fields together may have at most 16 KiB.");
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new Problem("request_timeout", "The request did not arrive in time.");
  return new Problem("invalid_request", "This is not an HTTP/1.1 request.");
}

function write(socket: Duplex, problem: Problem): void {
  const body = JSON.stringify(problem.body(randomUUID()));
  const extra = Object.entries(problem.details.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
  const reason = problem.body("").title;
  socket.on("error", () => {});
  socket.end(
    `HTTP/1.1 ${problem.status} ${reason}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n${extra.join("")}\r\n${body}`,
  );
}
