import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { realpath, rm, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Schemas } from "../../openapi/client.ts";
import { again, done, type Outcome, stop } from "../base/outcome.ts";
import type { WorkerTask } from "../link/exchange.ts";
import type { Session } from "../link/session.ts";
import { packFolder } from "./archive.ts";
import { patiently } from "./patience.ts";
import type { Workspace } from "./workspace.ts";

/** What the service keeps of one file. */
export const MAX_ARTIFACT = 64 * 1024 * 1024;
// 64 MiB over a slow line.
const DEADLINE_MS = 300_000;

export interface ArtifactOptions {
  session: Session;
  task: WorkerTask;
  workspace: Workspace;
  signal: AbortSignal;
}

/** Keeps a file, or a folder as .tar.gz, with the service as the task's artefact. */
export async function keepArtifact(name: string, path: string, options: ArtifactOptions): Promise<Outcome<Schemas["TaskArtifact"]>> {
  const { workspace, signal } = options;
  const file = await realpath(path).catch(() => undefined);
  if (file === undefined) return stop("PathNotFound", `there is no ${path} to keep as ${name}`);
  if (!file.startsWith(workspace.dir + sep)) return stop("PathRefused", `${path} is not kept as ${name}: it leads out of the task's files`);
  const found = await stat(file);
  if (!found.isFile() && !found.isDirectory()) return stop("PathRefused", `${path} is neither a file nor a folder`);
  const packed = found.isDirectory() ? join(workspace.dir, `keep-${name}`) : undefined;
  if (packed) {
    const done = await packFolder(file, packed, signal);
    if (done.kind !== "done") return done;
  }
  try {
    return await send(name, packed ?? file, options);
  } finally {
    if (packed) await rm(packed, { force: true });
  }
}

async function send(name: string, file: string, { session, task, signal }: ArtifactOptions): Promise<Outcome<Schemas["TaskArtifact"]>> {
  const { size } = await stat(file);
  if (size > MAX_ARTIFACT)
    return stop("ArtifactTooLarge", `${name} has ${Math.ceil(size / 2 ** 20)} MiB; an artefact has at most ${MAX_ARTIFACT / 2 ** 20}`);
  const sha256 = await digestOf(file, "sha256");
  const route = `/v1/worker/tasks/${encodeURIComponent(task.task)}/artifacts/${encodeURIComponent(name)}`;
  const bytes = { size, open: () => createReadStream(file) };
  const ask = { query: { fence: String(task.fence), sha256 }, file: bytes, deadlineMs: DEADLINE_MS, signal };
  return patiently(() => session.send<Schemas["TaskArtifact"]>("PUT", route, ask), signal);
}

/** Puts an artefact of any task of this scope into a file. */
export function getArtifact(ref: Schemas["ArtifactRef"], to: string, { session, task, signal }: ArtifactOptions): Promise<Outcome<void>> {
  const { org, project } = task.scope ?? {};
  const query = { ...(org ? { org } : {}), ...(project ? { project } : {}) };
  const route = `/v1/tasks/${encodeURIComponent(ref.task)}/artifacts/${encodeURIComponent(ref.name)}`;
  const ask = { query, deadlineMs: DEADLINE_MS, signal, ...(task.token ? { bearer: task.token } : {}) };
  return patiently(
    () =>
      session.transport.fetch<void>(route, ask, async (body) => {
        let size = 0;
        const count = new Transform({
          transform(chunk: Buffer, _encoding, next) {
            size += chunk.length;
            next(size > MAX_ARTIFACT ? new Error(`more than ${MAX_ARTIFACT} bytes came`) : null, chunk);
          },
        });
        try {
          await pipeline(body, count, createWriteStream(to, { mode: 0o600 }));
          return done(undefined);
        } catch (error) {
          return again("ArtifactNotRead", `the artefact ${ref.name} of ${ref.task} could not be read: ${(error as Error).message}`);
        }
      }),
    signal,
  );
}

/** The digest of a file, as hex. */
export async function digestOf(file: string, algorithm: "md5" | "sha1" | "sha256" | "sha512"): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
