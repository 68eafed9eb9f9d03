import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Outcome } from "../../base/outcome.ts";
import type { Secret } from "../../base/secret.ts";
import { Box } from "../cache/box.ts";
import type { RepoApi } from "./types.ts";
import { CALL_PATH, type Call, decodeCall, FRESH_MS, MAX_CALL_BYTES, WIRE } from "./wire.ts";

/**
 * The repo server's only operation: a sealed call, a sealed answer. Who does not hold the shared secret cannot ask, read a
 * credential that passes by, or give a false answer; the network needs no TLS for it.
 */
export function repoServer(door: RepoApi, secret: Secret): Server {
  const box = new Box(secret, "repo");
  const server = createServer((request, response) => {
    void answer(request, response, door, box).catch(() => response.destroy());
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  server.maxHeadersCount = 50;
  return server;
}

async function answer(request: IncomingMessage, response: ServerResponse, door: RepoApi, box: Box): Promise<void> {
  const url = request.url ?? "";
  if (request.method !== "POST" || !/^\/v\d+\/call$/.test(url)) return void response.writeHead(404).end();
  if (url !== CALL_PATH)
    return void response
      .writeHead(409)
      .end(`it speaks version ${WIRE} of the calls, not ${url.slice(1, -"/call".length)}: upgrade both\n`);
  const time = String(request.headers["x-outpost-time"] ?? "");
  if (Math.abs(Date.now() - Number(time)) > FRESH_MS)
    return void response.writeHead(401).end("the clocks differ by more than 5 minutes\n");
  const body = await read(request);
  if (!body) return void response.writeHead(413).end();
  const opened = box.open(body, `call ${time}`);
  if (!opened) return void response.writeHead(401).end("not sealed with the shared secret\n");
  const call = decodeCall(opened.toString("utf8"));
  const outcome = await pass(call, door);
  const nonce = body.subarray(0, 12).toString("hex");
  response
    .writeHead(200, { "content-type": "application/octet-stream" })
    .end(box.seal(JSON.stringify(outcome), `answer ${nonce}`));
}

function pass(call: Call, door: RepoApi): Promise<Outcome<unknown>> {
  if (call.call === "render") return door.render(call.request);
  if (call.call === "look") return door.look(call.request);
  if (call.call === "revision") return door.revision(call.request);
  if (call.call === "survey") return door.survey(call.request);
  if (call.call === "probe") return door.probe(call.repo);
  return call.call === "charts" ? door.charts(call.repo) : door.refs(call.repo);
}

async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_CALL_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
