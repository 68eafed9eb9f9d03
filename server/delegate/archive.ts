import { createReadStream, createWriteStream } from "node:fs";
import { lstat, mkdir, open, opendir, readlink, realpath, rm, symlink } from "node:fs/promises";
import { dirname, join, posix, relative, sep } from "node:path";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { extract, type Header, pack } from "tar-stream";
import { done, type Outcome, stop } from "../base/outcome.ts";

/** What an archive may unpack to: far more than any source, far less than a disk. */
const BOUNDS = { entries: 100_000, bytes: 4 * 1024 * 1024 * 1024 };
const MAX_PATH = 1_024;

type NewEntry = Partial<Header> & Pick<Header, "name">;

class Refused extends Error {}

/**
 * Unpacks a .tar or .tar.gz that nobody vouches for into a folder: files, folders and links that stay inside. Absolute names, `..`, devices and
 * links to elsewhere end it; owners are left out, of the mode only whether it can be run counts.
 */
export async function unpack(file: string, folder: string, signal: AbortSignal, bounds = BOUNDS): Promise<Outcome<void>> {
  const root = await realpath(folder);
  const links: { at: string; to: string; name: string }[] = [];
  let entries = 0;
  let bytes = 0;
  const tar = extract();
  const reading = pipeline(createReadStream(file), (await gzipped(file)) ? createGunzip() : new PassThrough(), tar, { signal });
  // Whoever iterates sees the error; without this it would be thrown a second time.
  reading.catch(() => undefined);
  try {
    for await (const entry of tar) {
      const { name, type, size = 0, mode = 0, linkname } = entry.header;
      if (++entries > bounds.entries) throw new Refused(`it has more than ${bounds.entries} entries`);
      bytes += size;
      if (bytes > bounds.bytes) throw new Refused(`it unpacks to more than ${Math.round(bounds.bytes / 2 ** 20)} MiB`);
      const path = place(root, name);
      if (type === "directory") await folders(root, path);
      else if (type === "file" || type === "contiguous-file")
        await write(root, path, entry as AsyncIterable<unknown> as AsyncIterable<Uint8Array>, (mode & 0o100) !== 0);
      else if (type === "symlink") links.push({ at: path, to: linkname ?? "", name });
      else if (type === "link") await copy(root, place(root, linkname ?? ""), path, name);
      else throw new Refused(`${JSON.stringify(name)} is a ${type}, which is not taken`);
      entry.resume();
    }
    await reading;
    // Links come last, so that nothing is written through one.
    for (const link of links) await makeLink(root, link);
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

/** Makes the folders down to a path; what is there already must be a folder, and no link to one. */
async function folders(root: string, path: string): Promise<void> {
  let at = root;
  for (const part of relative(root, path).split(sep).filter(Boolean)) {
    at = join(at, part);
    const there = await lstat(at).catch(() => undefined);
    if (!there) await mkdir(at, { mode: 0o755 });
    else if (!there.isDirectory()) throw new Refused(`${JSON.stringify(relative(root, at))} is a file and a folder`);
  }
}

async function write(root: string, path: string, bytes: AsyncIterable<Uint8Array>, runs: boolean): Promise<void> {
  if (path === root) throw new Refused("a file has no name");
  await folders(root, dirname(path));
  await rm(path, { force: true });
  const file = await open(path, "wx", runs ? 0o755 : 0o644);
  await pipeline(bytes, file.createWriteStream());
}

// A hard link becomes a copy: nothing outside can be meant by it then.
async function copy(root: string, from: string, to: string, name: string): Promise<void> {
  const there = await lstat(from).catch(() => undefined);
  if (!there?.isFile()) throw new Refused(`${JSON.stringify(name)} is a link to what is no file of the archive`);
  const source = await open(from, "r");
  await write(root, to, source.createReadStream(), (there.mode & 0o100) !== 0);
}

async function makeLink(root: string, { at, to, name }: { at: string; to: string; name: string }): Promise<void> {
  // `..` only at the beginning: after a name it may mean another folder than it seems to.
  const inner = posix.normalize(posix.join(relative(root, dirname(at)) || ".", to));
  if (to === "" || to.startsWith("/") || /[\0\\]/.test(to) || /(^|\/)\.\.(\/|$)/.test(inner) || /[^./][^/]*\/\.\.(\/|$)/.test(to))
    throw new Refused(`the link ${JSON.stringify(name)} leads to ${JSON.stringify(to.slice(0, MAX_PATH))}, out of the archive`);
  await folders(root, dirname(at));
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

/** Packs a folder as .tar.gz (or as .tar), in order of names and without owners and times, so that the same files give the same bytes. */
export async function packFolder(folder: string, file: string, signal: AbortSignal, gzip = true): Promise<Outcome<void>> {
  const tar = pack();
  const writing = pipeline(tar, gzip ? createGzip() : new PassThrough(), createWriteStream(file, { mode: 0o600 }), { signal });
  try {
    await Promise.all([writing, addAll(tar, folder).then(() => tar.finalize())]);
    return done(undefined);
  } catch (error) {
    tar.destroy();
    await writing.catch(() => undefined);
    return stop(signal.aborted ? "Ended" : "NotPacked", `the folder could not be packed: ${(error as Error).message}`);
  }
}

async function addAll(tar: ReturnType<typeof pack>, root: string, below = ""): Promise<void> {
  const names: string[] = [];
  for await (const entry of await opendir(join(root, below))) names.push(entry.name);
  for (const name of names.sort()) {
    const inner = below ? `${below}/${name}` : name;
    const path = join(root, inner);
    const stat = await lstat(path);
    const header: NewEntry = { name: inner, mode: stat.mode & 0o777, mtime: new Date(0) };
    if (stat.isDirectory()) {
      await add(tar, { ...header, type: "directory" });
      await addAll(tar, root, inner);
    } else if (stat.isSymbolicLink()) await add(tar, { ...header, type: "symlink", linkname: await readlink(path) });
    else if (stat.isFile()) await addFile(tar, { ...header, size: stat.size }, path);
  }
}

const add = (tar: ReturnType<typeof pack>, header: NewEntry) =>
  new Promise<void>((resolve, reject) => {
    tar.entry(header, (error) => (error ? reject(error) : resolve()));
  });

async function addFile(tar: ReturnType<typeof pack>, header: NewEntry, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const entry = tar.entry(header, (error) => (error ? reject(error) : resolve()));
    const bytes = createReadStream(path, { end: Math.max(0, header.size! - 1) });
    bytes.on("error", reject);
    if (header.size === 0) entry.end(undefined);
    else bytes.pipe(entry as unknown as NodeJS.WritableStream);
  });
}
