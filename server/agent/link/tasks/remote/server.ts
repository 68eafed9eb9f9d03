import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type Outcome, stop } from "../../../../base/outcome.ts";
import type { Secret } from "../../../../base/secret.ts";
import type { Log } from "../../../../link/log.ts";
import { Box } from "../../../cache/box.ts";
import type { QueryApi } from "../../queries/task.ts";
import {
  ALIVE_MS,
  boundOfCall,
  boundOfFrame,
  type Call,
  FRESH_MS,
  type Frame,
  lengthOf,
  MAX_CALL_BYTES,
  PATH,
} from "./wire.ts";

/** The link asks 16 questions and reads 8 logs at once; one that takes over from another may overlap with it. */
const MAX_AT_ONCE = 48;

/**
 * The controller's only operation for others: a sealed question about the cluster, a sealed answer. A caller without the shared secret
 * can neither ask nor read an answer, so the network needs no TLS for it. Nothing behind it writes.
 */
export function readsServer(door: QueryApi, secret: Secret, log: Log): Server {
  const box = new Box(secret, "reads");
  const running = { count: 0 };
  const server = createServer((request, response) => {
    void answer(request, response, { door, box, log, running }).catch(() => response.destroy());
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  server.maxHeadersCount = 50;
  return server;
}

interface Parts {
  door: QueryApi;
  box: Box;
  log: Log;
  running: { count: number };
}

async function answer(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  const { box, running } = parts;
  if (request.method !== "POST" || request.url !== PATH) return void response.writeHead(404).end();
  const time = String(request.headers["x-outpost-time"] ?? "");
  // Not a number counts as too old.
  if (!(Math.abs(Date.now() - Number(time)) <= FRESH_MS))
    return void response.writeHead(401).end("the clocks differ by more than 5 minutes\n");
  const body = await bodyOf(request);
  if (!body) return void response.writeHead(413).end();
  const opened = box.open(body, boundOfCall(time));
  if (!opened) return void response.writeHead(401).end("not sealed with the shared secret\n");
  response.writeHead(200, { "content-type": "application/octet-stream" });
  let number = 0;
  const send = (frame: Frame): boolean => {
    const sealed = box.seal(JSON.stringify(frame), boundOfFrame(body, number++));
    response.write(lengthOf(sealed));
    return response.write(sealed);
  };
  const alive = setInterval(() => send({ alive: true }), ALIVE_MS);
  running.count++;
  try {
    const end =
      running.count > MAX_AT_ONCE
        ? stop("TooManyQuestions", `the controller answers ${MAX_AT_ONCE} questions already; ask again later`)
        : await carryOut(JSON.parse(opened.toString("utf8")) as Call, response, send, parts);
    if (!response.destroyed) send({ end });
  } finally {
    running.count--;
    clearInterval(alive);
    response.end();
  }
}

async function carryOut(
  { call, account, question }: Call,
  response: ServerResponse,
  send: (frame: Frame) => boolean,
  { door, log }: Parts,
): Promise<Outcome<unknown>> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const tell = (stream: "system" | "stdout", text: string): Promise<void> | undefined =>
    send({ line: [stream, text] }) || response.destroyed ? undefined : drained(response);
  try {
    return call === "logs"
      ? await door.logs(account, question, tell, gone.signal)
      : await door.answer(account, question, gone.signal);
  } catch (error) {
    log.error({ task: question.task, kind: question.kind, error: (error as Error).stack }, "a question threw");
    return stop("InternalError", "a defect of the controller; its log has more");
  }
}

/** Resolves when the caller has taken the written bytes, or has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      response.off("drain", finish);
      response.off("close", finish);
      resolve();
    };
    response.once("drain", finish);
    response.once("close", finish);
  });
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_CALL_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
