import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { REPO } from "../types.ts";
import type { Budget } from "./extract.ts";

const BLOCK = 512;
const zip = promisify(gzip);

/** Files and folders of a tree as a compressed archive; a link is the file or folder that it leads to inside the repository. */
export async function pack(tree: Tree, paths: readonly string[], budget: Budget): Promise<Outcome<Buffer>> {
  const parts: Buffer[] = [];
  for (const path of paths) {
    const put = await add(tree, path, parts, budget, 0);
    if (put.kind !== "done") return put;
  }
  // Speed counts more than size: the way is a socket of the same machine.
  return done(await zip(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]), { level: 1 }));
}

async function add(tree: Tree, path: string, parts: Buffer[], budget: Budget, depth: number): Promise<Outcome<void>> {
  if (depth > BOUNDS.depth)
    return stop(REPO.tooLarge, `path ${path} has more than ${BOUNDS.depth} levels, or its links form a circle`);
  const found = await tree.find(path);
  if (found.kind !== "done") return found;
  if (found.value.kind === "blob") return addFile(tree, found.value.sha, path, false, parts, budget);
  if (path) parts.push(...header(`${path}/`, 0, "5", 0o755));
  const entries = await tree.list(found.value.sha);
  if (entries.kind !== "done") return entries;
  for (const { name, kind, sha, executable } of entries.value) {
    if (kind === "submodule") continue;
    const inner = path ? `${path}/${name}` : name;
    const put =
      kind === "blob"
        ? await addFile(tree, sha, inner, executable, parts, budget)
        : await add(tree, inner, parts, budget, depth + 1);
    // A link that leads nowhere is left out; whoever needs it will say so.
    if (put.kind !== "done" && !(kind === "link" && put.reason === REPO.path)) return put;
  }
  return done(undefined);
}

async function addFile(
  tree: Tree,
  sha: string,
  path: string,
  executable: boolean,
  parts: Buffer[],
  budget: Budget,
): Promise<Outcome<void>> {
  if (--budget.files < 0) return stop(REPO.tooLarge, `the source has more than ${BOUNDS.files} files`);
  const blob = await tree.blob(sha, path);
  if (blob.kind !== "done") return blob;
  budget.bytes -= blob.value.length;
  if (budget.bytes < 0) return stop(REPO.tooLarge, `the source has more than ${BOUNDS.totalBytes / 1_000_000} MB`);
  parts.push(...header(path, blob.value.length, "0", executable ? 0o755 : 0o644), ...padded(blob.value));
  return done(undefined);
}

/** A long name goes before, in a record of its own. */
function header(name: string, size: number, type: string, mode: number): Buffer[] {
  const bytes = Buffer.from(name);
  if (bytes.length <= 99) return [block(bytes, size, type, mode)];
  const record = pax("path", name);
  return [
    block(Buffer.from("pax"), record.length, "x", 0o644),
    ...padded(record),
    block(bytes.subarray(0, 99), size, type, mode),
  ];
}

function pax(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length++;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function block(name: Buffer, size: number, type: string, mode: number): Buffer {
  const made = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number) =>
    made.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
  name.copy(made, 0);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  made.write("        ", 148, "latin1");
  made.write(type, 156, "latin1");
  made.write("ustar\u000000", 257, "latin1");
  const sum = made.reduce((total, byte) => total + byte, 0);
  made.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return made;
}

const padded = (content: Buffer): Buffer[] => [content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
