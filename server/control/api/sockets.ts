import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { Problem } from "../domain/problem.ts";

/** Answers as a Problem what Node's parser refuses before there is a request. */
export function answerBrokenRequests(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Gone, or an answer is half written: there is nothing sound to add.
    if (error.code === "ECONNRESET" || !socket.writable || (socket as { _httpMessage?: unknown })._httpMessage) {
      socket.destroy();
      return;
    }
    write(socket, problemFor(error));
  });
  // Without these listeners Node closes the connection with no word, or answers outside the contract.
  server.on("connect", (_req, socket: Duplex) =>
    write(socket, new Problem("method_not_allowed", "This is no proxy.", { headers: { Allow: "GET" } })),
  );
  server.on("checkExpectation", (_req: IncomingMessage, res) => {
    const problem = new Problem("invalid_request", "The Expect header has something else than 100-continue.");
    const body = JSON.stringify(problem.body(randomUUID()));
    res.writeHead(problem.status, {
      "Content-Type": "application/problem+json",
      "Content-Length": Buffer.byteLength(body),
      Connection: "close",
    });
    res.end(body);
  });
}

function problemFor(error: NodeJS.ErrnoException): Problem {
  if (error.code === "HPE_HEADER_OVERFLOW") return new Problem("header_fields_too_large", "The header fields may have 16 KiB together.");
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return new Problem("request_timeout", "The request did not arrive in time.");
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
