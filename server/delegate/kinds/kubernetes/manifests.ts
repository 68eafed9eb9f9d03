import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { parseManifests } from "../../../kube/yaml.ts";
import type { TaskContext } from "../../kind.ts";
import { type Folder, findTaskPath, openTaskFile } from "../../task/task-files.ts";

export interface ManifestParams {
  source?: Schemas["TaskSource"];
  path?: string;
  manifests?: string;
}

// Each level keeps a folder open.
const MAX_DEPTH = 64;
const MAX_FILES = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** All objects that a task names: those of `manifests`, and those of its source's files in the order of their names. */
export async function readManifests(
  { source, path = ".", manifests }: ManifestParams,
  context: TaskContext,
): Promise<Outcome<KubeObject[]>> {
  const texts: { name: string; text: string }[] = [];
  if (source) {
    const folder = await context.source(source);
    if (folder.kind !== "done") return folder;
    const read = await readFiles(context.workspace.dir, folder.value, path);
    if (read.kind !== "done") return read;
    texts.push(...read.value);
  }
  if (manifests !== undefined) texts.push({ name: "manifests", text: manifests });
  const objects: KubeObject[] = [];
  for (const { name, text } of texts) {
    const parsed = parseManifests(text, name);
    if (parsed.kind !== "done") return parsed;
    objects.push(...parsed.value);
  }
  return done(objects);
}

async function readFiles(
  workspace: string,
  folder: string,
  path: string,
): Promise<Outcome<{ name: string; text: string }[]>> {
  const root = await findTaskPath(workspace, folder, path);
  if (root.kind !== "done") return root;
  const found: string[] = [];
  let whole = true;
  if (root.value.folder) whole = await list(root.value.folder, path, found).finally(() => root.value.folder!.close());
  else {
    await root.value.file.close();
    found.push(path);
  }
  if (found.length > MAX_FILES) return stop("TooManyFiles", `${path} has more than ${MAX_FILES} files of manifests`);
  if (!whole) return stop("TooDeep", `${path} has folders more than ${MAX_DEPTH} deep`);
  if (found.length === 0) return stop("NoManifests", `${path} has no file that ends in .yaml, .yml or .json`);
  const kustomization = found.find((file) => /(^|\/)kustomization\.ya?ml$/.test(file));
  if (kustomization)
    return stop(
      "KustomizationFound",
      `${kustomization} is for Kustomize, which this kind does not run: render it first, in a shell.run whose artefact is this source, or sync it with an application`,
    );
  const texts: { name: string; text: string }[] = [];
  let bytes = 0;
  for (const name of found) {
    const file = await openTaskFile(workspace, folder, name);
    if (file.kind !== "done") return file;
    bytes += file.value.size;
    const text = bytes > MAX_BYTES ? "" : await file.value.text(MAX_BYTES);
    await file.value.close();
    if (bytes > MAX_BYTES)
      return stop("TooLarge", `the manifests of ${path} have more than ${MAX_BYTES / 2 ** 20} MiB`);
    texts.push({ name, text });
  }
  return done(texts);
}

/** Files of manifests below a folder, by name; hidden ones, as `.git`, are skipped. Links to files count as files, to folders not. False when it is too deep. */
async function list(folder: Folder, path: string, found: string[], depth = 0): Promise<boolean> {
  for (const name of await folder.names()) {
    if (found.length > MAX_FILES) return true;
    if (name.startsWith(".")) continue;
    const inner = join(path, name);
    if ((await folder.find(name))?.isDirectory()) {
      if (depth >= MAX_DEPTH) return false;
      const next = await folder.folder(name);
      if (!(await list(next, inner, found, depth + 1).finally(() => next.close()))) return false;
    } else if (/\.(ya?ml|json)$/.test(name)) found.push(inner);
  }
  return true;
}
