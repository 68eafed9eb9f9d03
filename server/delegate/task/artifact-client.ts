import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Schemas } from "../../../openapi/client.ts";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import type { WorkerTask } from "../../link/exchange.ts";
import type { Session } from "../../link/session.ts";
import { patiently } from "../config/retry.ts";
import type { Bounds } from "../config/settings.ts";
import type { Workspace } from "../workspace.ts";
import { boundsFor, type Packed, type PackOptions, packInto } from "./archive.ts";
import { createTaskFile, findTaskPath, HardLinks, scratchFile, type TaskFile, taskFile } from "./task-files.ts";

/** What the service keeps of one file. */
export const MAX_ARTIFACT = 64 * 1024 * 1024;
// 64 MiB over a slow line.
const DEADLINE_MS = 300_000;

export interface ArtifactOptions {
  session: Session;
  task: WorkerTask;
  workspace: Workspace;
  bounds: Pick<Bounds, "diskBytes">;
  signal: AbortSignal;
}

/** What a task left, to be kept: a path below a folder of its workspace, or parts that make an archive. */
export type Kept = { folder: string; path: string } | { parts: readonly Packed[]; gzip?: boolean };

/** Keeps a file, or a folder as .tar.gz, with the service as the task's artefact. */
export async function keepArtifact(
  name: string,
  kept: Kept,
  options: ArtifactOptions,
): Promise<Outcome<Schemas["TaskArtifact"]>> {
  const taken = await takeKept(kept, options.workspace.dir, options.signal, options.bounds.diskBytes);
  if (taken.kind !== "done") return taken;
  try {
    return await send(name, taken.value, options);
  } finally {
    await taken.value.close();
  }
}

/** The file to be kept, open: that of the task itself, or an archive of its folder that has no name anywhere. */
export async function takeKept(
  kept: Kept,
  workspace: string,
  signal: AbortSignal,
  diskBytes = 0,
): Promise<Outcome<TaskFile>> {
  const bounds = boundsFor(diskBytes);
  if ("parts" in kept) return packed(kept.parts, { workspace, signal, bounds, gzip: kept.gzip ?? true });
  const found = await findTaskPath(workspace, kept.folder, kept.path);
  if (found.kind !== "done") return found;
  if (found.value.file) return done(found.value.file);
  const { folder } = found.value;
  return packed([{ name: "", content: folder }], { workspace, signal, bounds }).finally(() => folder.close());
}

async function packed(parts: readonly Packed[], options: PackOptions): Promise<Outcome<TaskFile>> {
  const to = await scratchFile(options.workspace);
  const made = await packInto(to, parts, { most: MAX_ARTIFACT, ...options });
  if (made.kind === "done") return done(await taskFile(to, new HardLinks(options.workspace), "the archive"));
  await to.close();
  return made;
}

async function send(
  name: string,
  file: TaskFile,
  { session, task, signal }: ArtifactOptions,
): Promise<Outcome<Schemas["TaskArtifact"]>> {
  const { size } = file;
  if (size > MAX_ARTIFACT)
    return stop(
      "ArtifactTooLarge",
      `${name} has ${Math.ceil(size / 2 ** 20)} MiB; an artefact has at most ${MAX_ARTIFACT / 2 ** 20}`,
    );
  const sha256 = await file.digest("sha256");
  const route = `/v1/worker/tasks/${encodeURIComponent(task.task)}/artifacts/${encodeURIComponent(name)}`;
  const ask = {
    query: { fence: String(task.fence), sha256 },
    file: { size, open: file.stream },
    deadlineMs: DEADLINE_MS,
    signal,
  };
  return patiently(() => session.send<Schemas["TaskArtifact"]>("PUT", route, ask), signal);
}

/** Puts an artefact of any task of this scope into a file. */
export function getArtifact(
  ref: Schemas["ArtifactRef"],
  to: string,
  { session, task, workspace, signal }: ArtifactOptions,
): Promise<Outcome<void>> {
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
          await pipeline(body, count, (await createTaskFile(workspace.dir, to)).createWriteStream());
          return done(undefined);
        } catch (error) {
          return again(
            "ArtifactNotRead",
            `the artefact ${ref.name} of ${ref.task} could not be read: ${(error as Error).message}`,
          );
        }
      }),
    signal,
  );
}
