import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { type Pack, pack as tarPack } from "tar-stream";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { putEntry } from "../../../base/tar.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { REPO } from "../types.ts";
import type { Budget } from "./extract.ts";

// The same files are the same archive.
const EPOCH = new Date(0);

/** Where the files of a tree go, and how many more may go there. */
interface Packing {
  tree: Tree;
  tar: Pack;
  budget: Budget;
}

/** Files and folders of a tree as a compressed archive; a link is the file or folder that it leads to inside the repository. */
export async function pack(tree: Tree, paths: readonly string[], budget: Budget): Promise<Outcome<Buffer>> {
  const tar = tarPack();
  // Speed counts more than size: the way is a socket of the same machine.
  const gzip = createGzip({ level: 1 });
  const zipped = buffer(tar.pipe(gzip));
  for (const path of paths) {
    const put = await add({ tree, tar, budget }, path, 0);
    if (put.kind === "done") continue;
    tar.destroy();
    gzip.destroy();
    await zipped.catch(() => undefined);
    return put;
  }
  tar.finalize();
  return done(await zipped);
}

async function add(packing: Packing, path: string, depth: number): Promise<Outcome<void>> {
  const { tree, tar } = packing;
  if (depth > BOUNDS.depth)
    return stop(REPO.tooLarge, `path ${path} has more than ${BOUNDS.depth} levels, or its links form a circle`);
  const found = await tree.find(path);
  if (found.kind !== "done") return found;
  if (found.value.kind === "blob") return addFile(packing, path, { sha: found.value.sha });
  if (path) await putEntry(tar, { name: `${path}/`, type: "directory", mode: 0o755, mtime: EPOCH });
  const entries = await tree.list(found.value.sha);
  if (entries.kind !== "done") return entries;
  for (const { name, kind, sha, executable } of entries.value) {
    if (kind === "submodule") continue;
    const inner = path ? `${path}/${name}` : name;
    const put =
      kind === "blob" ? await addFile(packing, inner, { sha, executable }) : await add(packing, inner, depth + 1);
    // A link that leads nowhere is left out; a read of it gives the error.
    if (put.kind !== "done" && !(kind === "link" && put.reason === REPO.path)) return put;
  }
  return done(undefined);
}

async function addFile(
  { tree, tar, budget }: Packing,
  path: string,
  { sha, executable = false }: { sha: string; executable?: boolean },
): Promise<Outcome<void>> {
  if (--budget.files < 0) return stop(REPO.tooLarge, `the source has more than ${BOUNDS.files} files`);
  const blob = await tree.blob(sha, path);
  if (blob.kind !== "done") return blob;
  budget.bytes -= blob.value.length;
  if (budget.bytes < 0) return stop(REPO.tooLarge, `the source has more than ${BOUNDS.totalBytes / 1_000_000} MB`);
  const header = { name: path, size: blob.value.length, mode: executable ? 0o755 : 0o644, mtime: EPOCH };
  await putEntry(tar, header, (entry) => void entry.end(blob.value));
  return done(undefined);
}
