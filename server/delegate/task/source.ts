import { rename, rm } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Schemas } from "../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { TaskContext } from "../kind.ts";
import { unpack } from "./archive.ts";
import { cloneGit } from "./git.ts";
import { makeTaskFolder, putTaskFile } from "./task-files.ts";

/** Puts what a kind works on into a new folder below the task's work folder; without a source that is the work folder itself. */
export async function takeSource(
  source: Schemas["TaskSource"] | undefined,
  name: string,
  context: TaskContext,
): Promise<Outcome<string>> {
  if (!source) return done(context.workspace.work);
  const folder = join(context.workspace.work, name);
  const { dir } = context.workspace;
  await makeTaskFolder(dir, folder, 0o755);
  if (source.git) {
    const cloned = await cloneGit(source.git, folder, context);
    return cloned.kind === "done" ? done(cloned.value.path) : cloned;
  }
  if (source.artifact) return artifact(source.artifact, folder, context);
  for (const [path, text] of Object.entries(source.files ?? {})) {
    if (isAbsolute(path) || path.split("/").includes("..") || path.includes("\0"))
      return stop("PathRefused", `${JSON.stringify(path)} leads out of the task's files`);
    await putTaskFile(dir, join(folder, path), text, text.startsWith("#!") ? 0o755 : 0o644);
  }
  return done(folder);
}

async function artifact(ref: Schemas["ArtifactRef"], folder: string, context: TaskContext): Promise<Outcome<string>> {
  const file = join(context.workspace.dir, `artifact-${ref.name}`);
  const got = await context.download(ref, file);
  if (got.kind !== "done") return stop(got.reason, `the source could not be fetched: ${got.message}`);
  if (!/\.(tgz|tar\.gz)$/.test(ref.name)) {
    await rename(file, join(folder, ref.name));
    return done(folder);
  }
  const unpacked = await unpack(file, folder, context.signal);
  await rm(file, { force: true });
  return unpacked.kind === "done"
    ? done(folder)
    : stop(unpacked.reason, `${ref.name} of ${ref.task}: ${unpacked.message}`);
}
