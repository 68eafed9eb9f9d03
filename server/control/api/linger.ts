import type { IncomingMessage, ServerResponse } from "node:http";

// As much and as long as a client that means well needs to see that it has an answer already.
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_MS = 2_000;

/**
 * Answers before the body has come. Closing at once would have the kernel reset the connection, and the client would see that instead of
 * the answer; so what still comes is thrown away for a moment.
 */
export function answerEarly(req: IncomingMessage, res: ServerResponse, text: string): void {
  res.setHeader("Connection", "close");
  res.setHeader("Content-Length", Buffer.byteLength(text));
  res.write(text);
  let size = 0;
  const timer = setTimeout(end, MAX_MS);
  function end(): void {
    clearTimeout(timer);
    res.end();
  }
  req.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_BYTES) end();
  });
  req.once("end", end);
  req.once("close", end);
  req.resume();
}
