import { opendir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { parseManifests } from "../../../kube/yaml.ts";
import { inside } from "../../inside.ts";
import type { Context } from "../kind.ts";

export interface ManifestParams {
  source?: Schemas["TaskSource"];
  path?: string;
  manifests?: string;
}

const MAX_FILES = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** All objects that a task names: those of `manifests`, and those of its source's files in the order of their names. */
export async function readManifests({ source, path = ".", manifests }: ManifestParams, context: Context): Promise<Outcome<KubeObject[]>> {
  const texts: { name: string; text: string }[] = [];
  if (source) {
    const folder = await context.source(source);
    if (folder.kind !== "done") return folder;
    const read = await readFiles(folder.value, path);
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

async function readFiles(folder: string, path: string): Promise<Outcome<{ name: string; text: string }[]>> {
  const root = await inside(folder, path);
  if (root.kind !== "done") return root;
  const found = (await stat(root.value)).isDirectory() ? await list(root.value) : [root.value];
  if (found.length > MAX_FILES) return stop("TooManyFiles", `${path} has more than ${MAX_FILES} files of manifests`);
  if (found.length === 0) return stop("NoManifests", `${path} has no file that ends in .yaml, .yml or .json`);
  const kustomization = found.find((file) => /(^|\/)kustomization\.ya?ml$/.test(file));
  if (kustomization)
    return stop(
      "KustomizationFound",
      `${relative(folder, kustomization)} is for Kustomize, which this kind does not run: render it first, in a shell.run whose artefact is this source, or sync it with an application`,
    );
  const texts: { name: string; text: string }[] = [];
  let bytes = 0;
  for (const file of found) {
    const name = relative(folder, file);
    const real = await inside(folder, name);
    if (real.kind !== "done") return real;
    const text = await readFile(real.value, "utf8");
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_BYTES) return stop("TooLarge", `the manifests of ${path} have more than ${MAX_BYTES / 2 ** 20} MiB`);
    texts.push({ name, text });
  }
  return done(texts);
}

/** Files of manifests below a folder, by name; hidden ones, as `.git`, are passed over. */
async function list(folder: string): Promise<string[]> {
  const found: string[] = [];
  const entries: { name: string; folder: boolean }[] = [];
  for await (const entry of await opendir(folder)) entries.push({ name: entry.name, folder: entry.isDirectory() });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (found.length > MAX_FILES) break;
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if (entry.folder) found.push(...(await list(path)));
    else if (/\.(ya?ml|json)$/.test(entry.name)) found.push(path);
  }
  return found;
}
