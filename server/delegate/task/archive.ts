import { createReadStream } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath, rm, symlink } from "node:fs/promises";
import { dirname, join, posix, relative, sep } from "node:path";
import { PassThrough, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { extract, type Pack, pack } from "tar-stream";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { type NewEntry, putEntry } from "../../base/tar.ts";
import { type Folder, HardLinks, type TaskFile, taskFile, writerOf } from "./task-files.ts";

/** What an archive may unpack to, or be made of: far more than any source, far less than a disk. */
const BOUNDS = { entries: 100_000, bytes: 4 * 1024 * 1024 * 1024 };
const MAX_PATH = 1_024;
/** Linux has no longer links. */
const MAX_LINK = 4_095;

/** Where an archive goes, and the folders that are there for sure. */
interface Target {
  root: string;
  made: Set<string>;
}

class Refused extends Error {}

/** A sparse file can claim a terabyte and take no disk space: packing is bounded by the claimed size. */
class TooLarge extends Error {
  readonly reason = "ArtifactTooLarge";
}

/**
 * Unpacks an untrusted .tar or .tar.gz into a folder: files, folders and links that stay inside. Absolute names, `..`, devices and
 * links to elsewhere end it; owners are ignored, of the mode only the executable bit counts.
 */
export async function unpack(
  file: string,
  folder: string,
  signal: AbortSignal,
  bounds = BOUNDS,
): Promise<Outcome<void>> {
  const root = await realpath(folder);
  const target: Target = { root, made: new Set() };
  const links: { at: string; to: string; name: string }[] = [];
  let entries = 0;
  let bytes = 0;
  const tar = extract();
  const compressed = await gzipped(file).catch((error: Error) => error);
  if (compressed instanceof Error)
    return stop("ArchiveRefused", `the archive was not unpacked: it cannot be read: ${compressed.message}`);
  // Nothing is awaited between a stream and its pipeline: an error in between would have no listener.
  const reading = pipeline(createReadStream(file), compressed ? createGunzip() : new PassThrough(), tar, { signal });
  // The loop over the entries sees the error; without this it would be thrown a second time.
  reading.catch(() => undefined);
  try {
    for await (const entry of tar) {
      const { name, type, size = 0, mode = 0, linkname } = entry.header;
      if (++entries > bounds.entries) throw new Refused(`it has more than ${bounds.entries} entries`);
      bytes += size;
      // Links are kept until the end: a header may name a target of megabytes.
      if ((linkname?.length ?? 0) > MAX_LINK)
        throw new Refused(`the link ${JSON.stringify(name.slice(0, MAX_PATH))} has more than ${MAX_LINK} characters`);
      if (bytes > bounds.bytes) throw new Refused(`it unpacks to more than ${Math.round(bounds.bytes / 2 ** 20)} MiB`);
      const path = place(root, name);
      if (type === "directory") await folders(target, path);
      else if (type === "file" || type === "contiguous-file")
        await write(target, path, entry as AsyncIterable<unknown> as AsyncIterable<Uint8Array>, (mode & 0o100) !== 0);
      else if (type === "symlink") links.push({ at: path, to: linkname ?? "", name });
      else if (type === "link") await copy(target, place(root, linkname ?? ""), path, name);
      else throw new Refused(`${JSON.stringify(name)} is a ${type}, which is not taken`);
      entry.resume();
    }
    await reading;
    // Links come last, so that nothing is written through one.
    for (const link of links) await makeLink(target, link);
    for (const { at, name } of links) await checkLink(root, at, name);
    return done(undefined);
  } catch (error) {
    if (signal.aborted) return stop("Ended", "it was ended");
    const why = error instanceof Refused ? error.message : `it cannot be read: ${(error as Error).message}`;
    return stop("ArchiveRefused", `the archive was not unpacked: ${why}`);
  }
}

async function gzipped(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

function place(root: string, name: string): string {
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const wrong = name.startsWith("/") || name.length > MAX_PATH || /[\0\\]/.test(name) || parts.includes("..");
  if (wrong) throw new Refused(`the name ${JSON.stringify(name.slice(0, MAX_PATH))} does not stay inside`);
  return join(root, ...parts);
}

/**
 * Makes the folders down to a path; existing ones must be folders and not links. `made` are those known: nothing that is
 * unpacked takes the place of a folder, so an entry costs its own new folders only, however deep it is.
 */
async function folders({ root, made }: Target, path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; at !== root && !made.has(at); at = dirname(at)) missing.push(at);
  for (const at of missing.reverse()) {
    const there = await lstat(at).catch(() => undefined);
    if (!there) await mkdir(at, { mode: 0o755 });
    else if (!there.isDirectory()) throw new Refused(`${JSON.stringify(relative(root, at))} is a file and a folder`);
    made.add(at);
  }
}

async function write(target: Target, path: string, bytes: AsyncIterable<Uint8Array>, runs: boolean): Promise<void> {
  if (path === target.root) throw new Refused("a file has no name");
  await folders(target, dirname(path));
  await rm(path, { force: true });
  const file = await open(path, "wx", runs ? 0o755 : 0o644);
  await pipeline(bytes, file.createWriteStream());
}

// A hard link becomes a copy: nothing outside can be meant by it then.
async function copy(target: Target, from: string, to: string, name: string): Promise<void> {
  const there = await lstat(from).catch(() => undefined);
  if (!there?.isFile()) throw new Refused(`${JSON.stringify(name)} is a link to what is not a file of the archive`);
  const source = await open(from, "r");
  const bytes = source.createReadStream();
  await write(target, to, bytes, (there.mode & 0o100) !== 0).finally(() => bytes.destroy());
}

async function makeLink(target: Target, { at, to, name }: { at: string; to: string; name: string }): Promise<void> {
  const { root } = target;
  // `..` only at the beginning: after a name it may mean another folder than it seems to.
  const inner = posix.normalize(posix.join(relative(root, dirname(at)) || ".", to));
  if (
    to === "" ||
    to.startsWith("/") ||
    /[\0\\]/.test(to) ||
    /(^|\/)\.\.(\/|$)/.test(inner) ||
    /[^./][^/]*\/\.\.(\/|$)/.test(to)
  )
    throw new Refused(
      `the link ${JSON.stringify(name)} leads to ${JSON.stringify(to.slice(0, MAX_PATH))}, out of the archive`,
    );
  await folders(target, dirname(at));
  await rm(at, { force: true });
  await symlink(to, at);
}

async function checkLink(root: string, at: string, name: string): Promise<void> {
  const real = await realpath(at).catch(() => root);
  if (real !== root && !real.startsWith(root + sep)) {
    await rm(at, { force: true });
    throw new Refused(`the link ${JSON.stringify(name)} leads out of the archive`);
  }
}

/** What goes into an archive: a name, and a text, an open file, or an open folder with everything below it that `kept` accepts. */
export interface Packed {
  name: string;
  content: string | TaskFile | Folder;
  kept?: (name: string) => boolean;
}

export interface PackOptions {
  /** The workspace that the files are of: hard links to files outside of it are refused. */
  workspace: string;
  gzip?: boolean;
  signal: AbortSignal;
  /** The most bytes that the archive may have. */
  most?: number;
  bounds?: PackBounds;
}

/** `setting` is the one that `bytes` comes from. */
export type PackBounds = typeof BOUNDS & { setting?: string };

/** A folder that says it has more than the task's disk can only be made of holes. */
export const boundsFor = (diskBytes: number): PackBounds =>
  diskBytes && diskBytes < BOUNDS.bytes ? { ...BOUNDS, bytes: diskBytes, setting: "OUTPOST_TASK_DISK_MIB" } : BOUNDS;

/** Packs what a task left into an open file, in order of names and without owners and times, so that the same files give the same bytes. */
export async function packInto(
  file: FileHandle,
  parts: readonly Packed[],
  { workspace, gzip = true, signal, most = Number.POSITIVE_INFINITY, bounds = BOUNDS }: PackOptions,
): Promise<Outcome<void>> {
  const tar = pack();
  const writing = pipeline(tar, gzip ? createGzip() : new PassThrough(), bounded(most), writerOf(file), { signal });
  const counted = counter(bounds);
  const links = new HardLinks(workspace);
  const adding = async () => {
    // Before the first byte: reading 3 GiB of holes takes longer than most tasks may run.
    const judged = counter(bounds);
    for (const { name, content, kept = () => true } of parts)
      if (typeof content !== "string" && "names" in content)
        await judge({ kept, signal, counted: judged }, content, name);
    for (const { name, content, kept = () => true } of parts) {
      if (typeof content === "string") await addText(tar, name, content);
      else if ("names" in content) await addAll({ tar, links, kept, signal, counted }, content, name);
      else await addFile(tar, content, name, counted);
    }
    tar.finalize();
  };
  try {
    await Promise.all([writing, adding()]);
    return done(undefined);
  } catch (error) {
    tar.destroy();
    await writing.catch(() => undefined);
    const { message, reason } = error as Error & { reason?: string };
    return stop(signal.aborted ? "Ended" : (reason ?? "NotPacked"), `the folder could not be packed: ${message}`);
  }
}

interface Packing {
  tar: Pack;
  links: HardLinks;
  kept: (name: string) => boolean;
  signal: AbortSignal;
  counted: Counter;
}

/** Counts an entry and its bytes; throws where they are too many. */
type Counter = (name: string, size: number) => void;

function counter(bounds: PackBounds): Counter {
  const named = bounds.setting ? ` (${bounds.setting})` : "";
  let [entries, bytes] = [0, 0];
  return (name, size) => {
    entries++;
    bytes += size;
    if (entries > bounds.entries) throw new TooLarge(`it has more than ${bounds.entries} entries`);
    if (bytes > bounds.bytes)
      throw new TooLarge(`its files say that they have more than ${Math.round(bounds.bytes / 2 ** 20)} MiB${named}`);
    // Longer ones could not be unpacked again, and each level keeps a folder open.
    if (Buffer.byteLength(name) > MAX_PATH) throw new TooLarge(`it has a path of more than ${MAX_PATH} bytes`);
  };
}

function bounded(most: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      size += chunk.length;
      next(size > most ? new TooLarge(`the archive has more than ${Math.round(most / 2 ** 20)} MiB`) : null, chunk);
    },
  });
}

const EPOCH = new Date(0);

/** Counts what a folder says that it has, without reading any of it. */
async function judge(
  { kept, signal, counted }: Omit<Packing, "tar" | "links">,
  folder: Folder,
  below: string,
): Promise<void> {
  for (const name of await folder.names()) {
    if (!kept(name)) continue;
    signal.throwIfAborted();
    const inner = below ? `${below}/${name}` : name;
    const stat = await folder.find(name);
    if (!stat) continue;
    counted(inner, stat.isFile() ? stat.size : 0);
    if (!stat.isDirectory()) continue;
    const next = await folder.folder(name);
    await judge({ kept, signal, counted }, next, inner).finally(() => next.close());
  }
}

async function addAll(packing: Packing, folder: Folder, below: string): Promise<void> {
  const { tar, kept } = packing;
  for (const name of await folder.names()) {
    if (!kept(name)) continue;
    packing.signal.throwIfAborted();
    const inner = below ? `${below}/${name}` : name;
    const stat = await folder.find(name);
    if (!stat) continue;
    if (!stat.isFile()) packing.counted(inner, 0);
    const header: NewEntry = { name: inner, mode: stat.mode & 0o777, mtime: EPOCH };
    if (stat.isDirectory()) {
      await putEntry(tar, { ...header, type: "directory" });
      const next = await folder.folder(name);
      await addAll(packing, next, inner).finally(() => next.close());
    } else if (stat.isSymbolicLink())
      await putEntry(tar, { ...header, type: "symlink", linkname: await folder.link(name) });
    else if (stat.isFile()) {
      const file = await taskFile(await folder.file(name), packing.links, inner);
      await addFile(tar, file, inner, packing.counted).finally(() => file.close());
    }
  }
}

const addText = (tar: Pack, name: string, text: string) =>
  putEntry(
    tar,
    { name, mode: 0o600, mtime: EPOCH, size: Buffer.byteLength(text) },
    (entry) => void entry.end(Buffer.from(text)),
  );

/** A file that shrinks meanwhile ends the packing; one that grows is packed with its size at the start. */
async function addFile(tar: Pack, file: TaskFile, name: string, counted: Counter): Promise<void> {
  counted(name, file.size);
  const header: NewEntry = { name, mode: file.mode, mtime: EPOCH, size: file.size };
  await putEntry(tar, header, (entry, fail) => {
    if (file.size === 0) return void entry.end(undefined);
    const bytes = file.stream();
    entry.on("error", () => bytes.destroy());
    bytes.on("error", fail);
    bytes.pipe(entry as unknown as NodeJS.WritableStream);
  });
}
