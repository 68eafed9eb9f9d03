import { createHash } from "node:crypto";
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import { encodeAnnouncements } from "../repo/plugin/announcement.ts";
import {
  DIGEST_HEADER,
  decodeRequest,
  encodeManifests,
  encodeSupported,
  encodeTraits,
  frame,
  MAX_ARCHIVE,
  type ManifestMetadata,
  METHODS,
  STATUS,
  unframe,
} from "../repo/plugin/wire.ts";
import type { PluginConfig } from "./config.ts";
import { announce, generate, type Job, type Limits, matches, WORK } from "./work.ts";

// Variables and the name of a folder.
const MAX_METADATA = 1_000_000;
const MAX_PARTS = MAX_ARCHIVE / 1_000;
// At most so many renderings at once; later callers are told to come again.
const MAX_JOBS = 16;

/** Serves one plugin, as a sidecar's only operation: files in, objects out. */
export function pluginServer(
  config: PluginConfig,
  limits: Limits,
  log: (fields: object, message: string) => void,
): Http2Server {
  const server = createServer({ settings: { maxConcurrentStreams: MAX_JOBS } });
  let jobs = 0;
  server.on("stream", (stream, headers) => {
    const method = String(headers[":path"] ?? "");
    stream.on("error", () => {});
    if (jobs >= MAX_JOBS) return void answer(stream, again(WORK.failed, "too many renderings at once"), config);
    jobs++;
    void work(stream, headers, method)
      .catch((error: Error): Outcome<Buffer> => stop(WORK.failed, error.message))
      .then((outcome) => {
        if (outcome.kind !== "done") log({ method, reason: outcome.reason }, outcome.message);
        answer(stream, outcome, config);
      })
      .finally(() => jobs--);
  });
  return server;

  async function work(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    method: string,
  ): Promise<Outcome<Buffer>> {
    if (headers["content-type"]?.startsWith("application/grpc") !== true) return stop(WORK.refused, "is not gRPC");
    if (method === METHODS.check)
      return done(
        encodeTraits({ discovers: config.discover !== undefined, wantsGitCredentials: config.provideGitCreds }),
      );
    if (method !== METHODS.match && method !== METHODS.generate && method !== METHODS.parameters)
      return stop("Unimplemented", `there is no ${method.slice(0, 200)}`);
    const abort = new AbortController();
    // The caller has gone.
    stream.once("close", () => abort.abort());
    const job = await receive(stream, abort.signal);
    if (job.kind !== "done") return job;
    const mine = { ...limits, deadlineMs: Math.min(limits.deadlineMs, timeout(headers["grpc-timeout"])) };
    if (method === METHODS.match) {
      const matched = await matches(config, job.value, mine);
      return matched.kind === "done" ? done(encodeSupported(matched.value)) : matched;
    }
    if (method === METHODS.parameters) {
      const announced = await announce(config, job.value, mine);
      return announced.kind === "done" ? done(encodeAnnouncements(announced.value)) : announced;
    }
    const made = await generate(config, job.value, mine);
    return made.kind === "done" ? done(encodeManifests([made.value])) : made;
  }
}

async function receive(stream: ServerHttp2Stream, signal: AbortSignal): Promise<Outcome<Job>> {
  let metadata: ManifestMetadata | undefined;
  const parts: Buffer[] = [];
  let [size, count] = [0, 0];
  for await (const message of unframe(stream as AsyncIterable<Buffer>, MAX_METADATA)) {
    const request = decodeRequest(message);
    if ("metadata" in request) {
      if (metadata) return stop(WORK.refused, "the files are described twice");
      metadata = request.metadata;
      if (metadata.size > MAX_ARCHIVE) return stop(WORK.tooLarge, `the files have more than ${MAX_ARCHIVE} bytes`);
      continue;
    }
    size += request.chunk.length;
    if (!metadata || size > metadata.size) return stop(WORK.refused, "the files are more than was said");
    if (++count > MAX_PARTS) return stop(WORK.tooLarge, "the files come in too many parts");
    parts.push(request.chunk);
  }
  const archive = Buffer.concat(parts);
  if (
    !metadata ||
    archive.length !== metadata.size ||
    createHash("sha256").update(archive).digest("hex") !== metadata.checksum
  )
    return stop(WORK.refused, "the files are not those that were described");
  return done({ archive, path: metadata.appRelPath, env: metadata.env, signal });
}

function answer(stream: ServerHttp2Stream, outcome: Outcome<Buffer>, config: PluginConfig): void {
  if (stream.destroyed) return;
  const failed = outcome.kind === "done" ? undefined : outcome;
  const trailers = {
    "grpc-status": String(failed ? codeOf(failed) : STATUS.ok),
    ...(failed ? { "grpc-message": encodeURIComponent(failed.message.slice(0, 4_000)) } : {}),
  };
  stream.respond(
    { ":status": 200, "content-type": "application/grpc", [DIGEST_HEADER]: config.digest },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(outcome.kind === "done" ? frame(outcome.value) : undefined);
}

function codeOf({ kind, reason }: { kind: string; reason: string }): number {
  if (kind === "again") return STATUS.unavailable;
  const codes: Record<string, number> = {
    [WORK.deadline]: STATUS.deadline,
    [WORK.tooLarge]: STATUS.exhausted,
    [WORK.refused]: STATUS.invalid,
    Unimplemented: STATUS.unimplemented,
  };
  return codes[reason] ?? STATUS.internal;
}

/** `500m`: a number and a unit, as gRPC writes how long the caller waits. */
function timeout(header: string | string[] | undefined): number {
  const match = /^(\d{1,8})([HMSmun])$/.exec(String(header ?? ""));
  const unit: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };
  return match ? Number(match[1]) * unit[match[2]!]! : Number.POSITIVE_INFINITY;
}
