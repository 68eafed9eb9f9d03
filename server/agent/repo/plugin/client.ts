import { createHash } from "node:crypto";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as dial } from "node:net";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { REPO } from "../types.ts";
import { type Announcement, decodeAnnouncements } from "./announcement.ts";
import {
  DIGEST_HEADER,
  decodeManifests,
  decodeSupported,
  decodeTraits,
  encodeFile,
  encodeMetadata,
  frame,
  MAX_ARCHIVE,
  MAX_MESSAGE,
  METHODS,
  type PluginTraits,
  STATUS,
  unframe,
  type Variable,
} from "./wire.ts";

// Of the whole call, the time of the sidecar's own commands included.
const DEADLINE_MS = 120_000;
const CHECK_MS = 5_000;

/** The files of a source for a plugin. */
export interface Bundle {
  archive: Buffer;
  app: string;
  path: string;
  env: Variable[];
}

export interface Traits extends PluginTraits {
  /** Of its configuration; a sidecar made for Argo CD tells none. */
  digest: string;
}

/** One sidecar, through its socket. Each call has a connection of its own: they are rare, and a sidecar may restart at any time. */
export class PluginClient {
  readonly name: string;
  readonly #socket: string;

  constructor(name: string, socket: string) {
    this.name = name;
    this.#socket = socket;
  }

  async traits(): Promise<Outcome<Traits>> {
    const answer = await this.#call(METHODS.check, [Buffer.alloc(0)], CHECK_MS);
    return answer.kind === "done"
      ? done({ ...decodeTraits(answer.value.message), digest: answer.value.digest })
      : answer;
  }

  /** Whether the plugin takes the application's folder for one of its own. */
  async matches(bundle: Bundle): Promise<Outcome<boolean>> {
    const answer = await this.#call(METHODS.match, messages(bundle), DEADLINE_MS);
    return answer.kind === "done" ? done(decodeSupported(answer.value.message)) : answer;
  }

  async generate(bundle: Bundle): Promise<Outcome<string[]>> {
    const answer = await this.#call(METHODS.generate, messages(bundle), DEADLINE_MS);
    return answer.kind === "done" ? done(decodeManifests(answer.value.message)) : answer;
  }

  /** The parameters that the plugin takes for a folder: those of its file, and those that its command finds. */
  async parameters(bundle: Bundle): Promise<Outcome<Announcement[]>> {
    const answer = await this.#call(METHODS.parameters, messages(bundle), DEADLINE_MS);
    return answer.kind === "done" ? done(decodeAnnouncements(answer.value.message)) : answer;
  }

  async #call(
    method: string,
    requests: Iterable<Buffer>,
    deadlineMs: number,
  ): Promise<Outcome<{ message: Buffer; digest: string }>> {
    const socket = dial(this.#socket);
    let session: ClientHttp2Session | undefined;
    const away = (why: string) => again(REPO.plugin, `plugin ${this.name} cannot be asked: ${why}`);
    let passed = false;
    const timer = setTimeout(() => {
      passed = true;
      session?.destroy();
      socket.destroy();
    }, deadlineMs);
    try {
      session = connect("http://localhost", { createConnection: () => socket });
      const failed = new Promise<never>((_, reject) => {
        session!.once("error", reject);
        session!.once("close", () => reject(new Error("the connection was closed")));
      });
      failed.catch(() => {});
      const got = await Promise.race([exchange(session, method, requests, deadlineMs), failed]);
      if (got.status === STATUS.ok)
        return got.message ? done({ message: got.message, digest: got.digest }) : away("it gave no answer");
      const message = `plugin ${this.name}: ${got.text.slice(0, 2_000)}`;
      if (got.status === STATUS.unavailable) return again(REPO.plugin, message);
      return stop(
        got.status === STATUS.exhausted || got.status === STATUS.deadline ? REPO.tooLarge : REPO.plugin,
        message,
      );
    } catch (error) {
      if (passed) return stop(REPO.tooLarge, `plugin ${this.name} did not answer within ${deadlineMs / 1_000} seconds`);
      const { message, code } = error as NodeJS.ErrnoException;
      return away(message || code || "unknown error");
    } finally {
      clearTimeout(timer);
      session?.destroy();
      socket.destroy();
    }
  }
}

function* messages({ archive, app, path, env }: Bundle): Generator<Buffer> {
  if (archive.length > MAX_ARCHIVE) throw new Error(`the files have more than ${MAX_ARCHIVE} bytes`);
  const checksum = createHash("sha256").update(archive).digest("hex");
  yield encodeMetadata({ appName: app, appRelPath: path, checksum, size: archive.length, env });
  yield* encodeFile(archive);
}

interface Got {
  status: number;
  text: string;
  message?: Buffer;
  digest: string;
}

async function exchange(
  session: ClientHttp2Session,
  method: string,
  requests: Iterable<Buffer>,
  deadlineMs: number,
): Promise<Got> {
  const stream = session.request({
    ":method": "POST",
    ":path": method,
    "content-type": "application/grpc",
    te: "trailers",
    "grpc-timeout": `${deadlineMs}m`,
  });
  const got: Got = { status: -1, text: "", digest: "" };
  const told = (headers: Record<string, unknown>) => {
    if (headers["grpc-status"] !== undefined) got.status = Number(headers["grpc-status"]);
    if (headers["grpc-message"] !== undefined) got.text = decode(String(headers["grpc-message"]));
    const digest = headers[DIGEST_HEADER];
    if (typeof digest === "string" && /^[0-9a-f]{1,128}$/.test(digest)) got.digest = digest;
  };
  stream.on("response", told);
  stream.on("trailers", told);
  const ended = new Promise<void>((resolve, reject) => {
    stream.once("error", reject);
    stream.once("close", resolve);
  });
  ended.catch(() => {});
  const send = async () => {
    for (const request of requests) {
      // A sidecar may refuse before it has read all.
      if (stream.destroyed || stream.writableEnded) return;
      if (!stream.write(frame(request)))
        await Promise.race([new Promise((resolve) => stream.once("drain", resolve)), ended]);
    }
    stream.end();
  };
  const sending = send();
  for await (const message of unframe(stream as AsyncIterable<Buffer>, MAX_MESSAGE))
    got.message ??= Buffer.from(message);
  await Promise.all([sending, ended]);
  if (got.status === -1) throw new Error("the answer has no status");
  return got;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
