import { matchGlob } from "../../../base/lang/glob.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { parseJson, parseSome } from "../../../kube/yaml.ts";
import type { BuildEnv } from "../files/env.ts";
import { withFolder } from "../files/extract.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { type DirectoryParameters, REPO } from "../types.ts";
import { type JsonnetSource, placeJsonnet, planJsonnet, renderJsonnet } from "./jsonnet.ts";

const SKIP = /^# \+argocd:skip-file-rendering\b/m;
// The same limit as Argo CD's for all manifests of one directory.
const MAX_MANIFEST_BYTES = 10_000_000;

export interface ManifestFile {
  path: string;
  sha: string;
}

export interface DirectorySource {
  /** The directory, from the root of the repository. */
  root: string;
  files: ManifestFile[];
  /** Only when there is Jsonnet among them. */
  jsonnet?: JsonnetSource;
}

/** What a directory source reads: its manifests, and all that its Jsonnet files may import. */
export async function planDirectory(
  tree: Tree,
  path: string,
  options: DirectoryParameters,
  env: BuildEnv,
): Promise<Outcome<DirectorySource>> {
  const base = await tree.find(path);
  if (base.kind !== "done") return base;
  const root = base.value.path;
  const files = await directoryFiles(tree, path, options);
  if (files.kind !== "done") return files;
  const programs = files.value.filter((file) => file.path.endsWith(".jsonnet")).map((file) => join(root, file.path));
  if (!programs.length) return done({ root, files: files.value });
  const jsonnet = await planJsonnet(tree, { path: root, files: programs }, options.jsonnet ?? {}, env);
  return jsonnet.kind === "done" ? done({ root, files: files.value, jsonnet: jsonnet.value }) : jsonnet;
}

/** The files a directory source reads, in order of path: what they hold decides the result, and nothing else does. */
export async function directoryFiles(
  tree: Tree,
  path: string,
  options: DirectoryParameters,
): Promise<Outcome<ManifestFile[]>> {
  const base = await tree.find(path);
  if (base.kind !== "done") return base;
  if (base.value.kind !== "tree") return stop(REPO.path, `path ${path} is a file; give the directory that holds it`);
  const root = base.value.path;
  const files: ManifestFile[] = [];
  const pending: { sha: string; under: string; depth: number }[] = [{ sha: base.value.sha, under: "", depth: 0 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (next.depth > BOUNDS.depth) return stop(REPO.tooLarge, `path ${path} has more than ${BOUNDS.depth} levels`);
    const entries = await tree.list(next.sha);
    if (entries.kind !== "done") return entries;
    for (const entry of entries.value) {
      const relative = next.under + entry.name;
      if (entry.kind === "tree") {
        if (options.recurse) pending.push({ sha: entry.sha, under: `${relative}/`, depth: next.depth + 1 });
        continue;
      }
      if (entry.kind === "submodule" || !/\.(ya?ml|json|jsonnet)$/.test(entry.name) || !selected(relative, options)) {
        // A link that leaves the repository is refused even when it is not read: it is there for a reason.
        if (entry.kind === "link") {
          const target = await tree.find(join(root, relative));
          if (target.kind !== "done" && target.reason === REPO.escape) return target;
        }
        continue;
      }
      let sha = entry.sha;
      if (entry.kind === "link") {
        const target = await tree.find(join(root, relative));
        // A link to nothing is not a manifest; one that leads out, or in circles, is an error.
        if (target.kind !== "done" && target.reason === REPO.path) continue;
        if (target.kind !== "done") return target;
        if (target.value.kind === "tree") continue;
        sha = target.value.sha;
      }
      files.push({ path: relative, sha });
      if (files.length > BOUNDS.files) return stop(REPO.tooLarge, `path ${path} has more than ${BOUNDS.files} files`);
    }
  }
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  return done(files);
}

function selected(path: string, { include, exclude }: DirectoryParameters): boolean {
  if (exclude && matchGlob(exclude, path)) return false;
  return !include || matchGlob(include, path);
}

const join = (a: string, b: string): string => (a ? `${a}/${b}` : b);

/** The objects of these files. A file that looks like a manifest and does not parse is an error; any other file is left alone. */
export async function renderDirectory(
  tree: Tree,
  { root, files, jsonnet }: DirectorySource,
): Promise<Outcome<KubeObject[]>> {
  const plain = files.filter((file) => !file.path.endsWith(".jsonnet"));
  const objects = await plainObjects(tree, plain);
  if (objects.kind !== "done" || !jsonnet) return objects;
  return withFolder(async (folder) => {
    const placed = await placeJsonnet(tree, jsonnet, folder);
    if (placed.kind !== "done") return placed;
    for (const { path } of files.filter((file) => file.path.endsWith(".jsonnet"))) {
      const rendered = await renderJsonnet(folder, join(root, path), jsonnet);
      if (rendered.kind !== "done") return rendered;
      objects.value.push(...rendered.value);
    }
    return objects;
  });
}

async function plainObjects(tree: Tree, files: readonly ManifestFile[]): Promise<Outcome<KubeObject[]>> {
  const blobs = await Promise.all(files.map((file) => tree.blob(file.sha, file.path)));
  const objects: KubeObject[] = [];
  let size = 0;
  for (const [i, blob] of blobs.entries()) {
    const { path } = files[i]!;
    if (blob.kind !== "done") return blob;
    size += blob.value.length;
    if (size > MAX_MANIFEST_BYTES)
      return stop(REPO.tooLarge, `the manifests have more than ${MAX_MANIFEST_BYTES / 1_000_000} MB together`);
    const text = decode(blob.value);
    if (SKIP.test(text)) continue;
    // Parsing is synchronous: between files others get their turn.
    if (i % 20 === 19) await new Promise((resolve) => setImmediate(resolve));
    if (path.endsWith(".json")) {
      const parsed = parseJson(text, path, { nameless: true });
      if (parsed.kind !== "done") return parsed;
      for (const object of parsed.value) objects.push(object);
      continue;
    }
    const { objects: some, failure } = parseSome(text, path, { nameless: true });
    // A file that begins with an object was meant as manifests; one without objects may be any file.
    if (failure && (some.length > 0 || ["apiVersion:", "kind:", "metadata:"].every((word) => text.includes(word))))
      return failure;
    if (!failure) for (const object of some) objects.push(object);
  }
  return done(objects);
}

/** UTF-8, or UTF-16 with a byte order mark as Windows editors write it. */
function decode(content: Buffer): string {
  if (content[0] === 0xff && content[1] === 0xfe) return content.subarray(2).toString("utf16le");
  if (content[0] === 0xfe && content[1] === 0xff) {
    const even = content.subarray(2, 2 + ((content.length - 2) & ~1));
    return Buffer.from(even).swap16().toString("utf16le");
  }
  return content.toString("utf8").replace(/^\uFEFF/, "");
}
