import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";

/** Longest request accepted; it is also the longest that Terraform sends. */
const maxBody = 256 * 1024 * 1024;
const unimplemented = 12;
const internal = 13;

/** One unary handler: the bytes of a request in, the bytes of an answer out. */
export type Unary = (body: Buffer) => Promise<Buffer>;

/** Serves one gRPC call on an HTTP/2 stream. `find` gives the handler of a path, "open" to keep the stream open, or nothing. */
export function serveCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  find: (path: string) => Unary | "open" | undefined,
): void {
  // A stream that Terraform gives up must not end the process.
  stream.on("error", () => {});
  const found = find(headers[constants.HTTP2_HEADER_PATH] as string);
  if (!found) {
    fail(stream, unimplemented, "not implemented");
    return;
  }
  if (found === "open") {
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.resume();
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxBody) chunks.push(chunk);
  });
  stream.on("end", () => {
    const message = frameIn(Buffer.concat(chunks));
    if (size > maxBody || !message) fail(stream, internal, "not one uncompressed gRPC message");
    else
      found(message).then(
        (answer) => reply(stream, answer),
        (error: Error) => fail(stream, internal, error.message),
      );
  });
}

/** The message in a length-prefixed frame; undefined when it is compressed or not exactly one. */
function frameIn(body: Buffer): Buffer | undefined {
  if (body.length < 5 || body[0] !== 0 || body.readUInt32BE(1) !== body.length - 5) return undefined;
  return body.subarray(5);
}

function reply(stream: ServerHttp2Stream, message: Buffer): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
}

function fail(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond(
    {
      ":status": 200,
      "content-type": "application/grpc",
      "grpc-status": String(status),
      "grpc-message": encodeURIComponent(message),
    },
    { endStream: true },
  );
}
