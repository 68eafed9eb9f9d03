import type { IncomingMessage, ServerResponse } from "node:http";
import type { Places } from "../../../base/places.ts";

// A well-meaning client needs this much at most to see that it has its answer already.
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_MS = 2_000;

/**
 * Answers before the body has arrived. Closing at once would have the kernel reset the connection, and the client would see that instead of
 * the answer; so the rest of the body is thrown away for a moment. Only so many connections may linger: beyond that they are closed at once.
 */
export function answerEarly(
  req: IncomingMessage,
  res: ServerResponse,
  text: string,
  { places, network }: { places: Places; network: string },
): void {
  res.setHeader("Connection", "close");
  res.setHeader("Content-Length", Buffer.byteLength(text));
  const leave = places.tryTake(network);
  if (!leave) {
    res.end(text);
    // Written answers still go out; what the client sends is not waited for.
    req.socket.destroySoon();
    return;
  }
  res.write(text);
  let size = 0;
  const timer = setTimeout(end, MAX_MS);
  function end(): void {
    clearTimeout(timer);
    leave!();
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
