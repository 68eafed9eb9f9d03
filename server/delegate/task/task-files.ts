import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, opendir, readlink, rmdir, unlink } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { done, type Outcome, stop } from "../../base/outcome.ts";

/**
 * A task's folder, read and written from outside its sandbox. A task may leave anything there: links, pipes, devices, second names of
 * files that are not its own. So no path is opened as a whole: each name is opened in the folder before it, which is held open, and never
 * through a link. The same open file is checked, read and sent.
 */

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;
const MAX_LINKS = 40;
const PART = 256 * 1024;
/** Names that are looked at to find all names of one file. */
const MAX_NAMES = 500_000;
/** Folders one below the other that are held open: as deep as an archive goes. A task can make them a hundred thousand deep. */
const MAX_DEPTH = 512;

class Refused extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

const leaves = (path: string) => new Refused("PathRefused", `${JSON.stringify(path)} leads out of the task's files`);
const missing = (path: string) =>
  new Refused("PathNotFound", `there is no ${JSON.stringify(path)} among the task's files`);

/** One file of a task, open. The same bytes are checked, digested and sent. */
export interface TaskFile {
  size: number;
  /** Permission bits. */
  mode: number;
  /** All of it, from its beginning, as often as it is asked for; never more than `size`, also when it grows. */
  stream(): Readable;
  digest(algorithm: "md5" | "sha1" | "sha256" | "sha512"): Promise<string>;
  /** At most so many bytes from its beginning. */
  text(maxBytes: number): Promise<string>;
  close(): Promise<void>;
}

/** A folder that is held open. */
export class Folder {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #device: number;

  private constructor(path: string, handle: FileHandle, device: number) {
    this.path = path;
    this.#handle = handle;
    this.#device = device;
  }

  /** A folder that the delegate itself made. */
  static async own(path: string): Promise<Folder> {
    const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    return new Folder(path, handle, (await handle.stat()).dev);
  }

  /** The path of a name in it that leads there whatever has become of the folders on the way. Other systems have no such paths. */
  #at(name: string): string {
    return process.platform === "linux" ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.path, name);
  }

  find = (name: string) => lstat(this.#at(name)).catch(() => undefined);
  link = (name: string) => readlink(this.#at(name));

  async folder(name: string): Promise<Folder> {
    const handle = await open(this.#at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const { dev } = await handle.stat();
    if (dev === this.#device) return new Folder(join(this.path, name), handle, dev);
    await handle.close();
    throw new Refused("PathRefused", `${JSON.stringify(name)} is on another file system`);
  }

  async names(): Promise<string[]> {
    const names: string[] = [];
    for await (const entry of await opendir(this.#at("."))) names.push(entry.name);
    return names.sort();
  }

  /** An ordinary file. Pipes, devices and sockets are not even opened. */
  async file(name: string): Promise<FileHandle> {
    const found = await this.find(name);
    if (!found) throw missing(name);
    if (!found.isFile()) throw new Refused("PathRefused", `${JSON.stringify(name)} is not an ordinary file`);
    const handle = await open(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const opened = await handle.stat();
    if (opened.isFile() && opened.ino === found.ino) return handle;
    await handle.close();
    throw new Refused("PathRefused", `${JSON.stringify(name)} was replaced while it was opened`);
  }

  async make(name: string, mode: number): Promise<Folder> {
    const found = await this.find(name);
    if (found && !found.isDirectory()) await unlink(this.#at(name));
    if (!found?.isDirectory()) await mkdir(this.#at(name), { mode });
    return this.folder(name);
  }

  /** A new file in the place of whatever is there; with `gone` it has no name any more. */
  async create(name: string, mode: number, gone = false): Promise<FileHandle> {
    const found = await this.find(name);
    if (found?.isDirectory()) await rmdir(this.#at(name));
    else if (found) await unlink(this.#at(name));
    const handle = await open(this.#at(name), (gone ? O_RDWR : O_WRONLY) | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    await handle.chmod(mode);
    if (gone) await unlink(this.#at(name));
    return handle;
  }

  close = () => this.#handle.close();
}

/** The folders from a workspace to a place in it, one below the other; a link among them is refused. */
async function descend<T>(
  workspace: string,
  parts: readonly string[],
  use: (folder: Folder) => Promise<T>,
  make?: number,
): Promise<T> {
  const held = [await Folder.own(workspace)];
  try {
    for (const part of parts)
      held.push(await (make === undefined ? held.at(-1)!.folder(part) : held.at(-1)!.make(part, make)));
    return await use(held.at(-1)!);
  } finally {
    for (const folder of held) await folder.close();
  }
}

/** Names from the workspace to a path in it. */
function partsTo(workspace: string, path: string): string[] {
  const parts = relative(workspace, path).split(sep).filter(Boolean);
  if (parts.includes("..") || path.includes("\0")) throw leaves(path);
  return parts;
}

export type Found = { file: TaskFile; folder?: never } | { folder: Folder; file?: never };

/**
 * What a task left under a path below a folder of its workspace. Links are followed by hand, as long as they stay below that folder. The
 * caller closes what it gets.
 */
export function findTaskPath(workspace: string, folder: string, path: string): Promise<Outcome<Found>> {
  return outcome(path, () =>
    descend(workspace, partsTo(workspace, folder), async (root) => {
      if (path.includes("\0")) throw new Refused("PathRefused", "a path holds a NUL character");
      const held = [root];
      try {
        return await walk(workspace, path, held);
      } finally {
        for (const one of held.slice(1)) await one.close();
      }
    }),
  );
}

async function walk(workspace: string, path: string, held: Folder[]): Promise<Found> {
  const todo = path.split("/").filter((part) => part !== "" && part !== ".");
  if (path.startsWith("/")) throw leaves(path);
  for (let links = 0; todo.length; ) {
    const name = todo.shift()!;
    const at = held.at(-1)!;
    if (name === "..") {
      if (held.length === 1) throw leaves(path);
      await held.pop()!.close();
      continue;
    }
    const found = await at.find(name);
    if (!found) throw missing(path);
    if (found.isSymbolicLink()) {
      if (++links > MAX_LINKS)
        throw new Refused("PathRefused", `${JSON.stringify(path)} leads through more than ${MAX_LINKS} links`);
      const to = await at.link(name);
      if (to.startsWith("/")) throw leaves(path);
      todo.unshift(...to.split("/").filter((part) => part !== "" && part !== "."));
    } else if (found.isDirectory() && held.length > MAX_DEPTH)
      throw new Refused(
        "PathRefused",
        `${JSON.stringify(path.slice(0, 200))} leads through more than ${MAX_DEPTH} folders`,
      );
    else if (found.isDirectory()) held.push(await at.folder(name));
    else if (todo.length) throw missing(path);
    else return { file: await taskFile(await at.file(name), new HardLinks(workspace), path) };
  }
  // Held once more: the caller has it for longer.
  const last = held.at(-1)!;
  return { folder: await last.folder(".") };
}

/** The file under a path, as `findTaskPath` finds it. */
export async function openTaskFile(workspace: string, folder: string, path: string): Promise<Outcome<TaskFile>> {
  const found = await findTaskPath(workspace, folder, path);
  if (found.kind !== "done") return found;
  if (found.value.file) return done(found.value.file);
  await found.value.folder.close();
  return stop("PathRefused", `${JSON.stringify(path)} is a folder, not a file`);
}

/** The beginning of a file that a task wrote; undefined when there is no such file, or another thing in its place. */
export async function readTaskFile(workspace: string, path: string, maxBytes: number): Promise<string | undefined> {
  const opened = await openTaskFile(workspace, workspace, relative(workspace, path));
  if (opened.kind !== "done") return undefined;
  try {
    return await opened.value.text(maxBytes);
  } finally {
    await opened.value.close();
  }
}

/** An open file as one of a task's. A file with several names counts only when all of them are in the task's workspace. */
export async function taskFile(handle: FileHandle, links: HardLinks, name: string): Promise<TaskFile> {
  const { size, mode, nlink, ino, dev } = await handle.stat();
  if (nlink > 1 && (await links.of(ino, dev)) < nlink) {
    await handle.close();
    throw new Refused("PathRefused", `${JSON.stringify(name)} is a hard link to a file that is not the task's`);
  }
  const stream = () => Readable.from(bytesOf(handle, size), { objectMode: false });
  return {
    size,
    mode: mode & 0o777,
    stream,
    digest: async (algorithm) => {
      const hash = createHash(algorithm);
      await pipeline(stream(), hash);
      return hash.digest("hex");
    },
    text: async (maxBytes) => {
      const buffer = Buffer.alloc(Math.min(maxBytes, size));
      let at = 0;
      for (let read = 1; read > 0 && at < buffer.length; at += read)
        ({ bytesRead: read } = await handle.read(buffer, at, buffer.length - at, at));
      return buffer.subarray(0, at).toString("utf8");
    },
    close: () => handle.close(),
  };
}

// Streams of Node's own close what they read, or wait for a close that does not come.
async function* bytesOf(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(PART, size - at)), 0, null, at);
    if (bytesRead === 0) throw new Error("the file became shorter while it was read");
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** Takes bytes into an open file, which stays open. */
export const writerOf = (handle: FileHandle): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, next) {
      handle.writeFile(chunk).then(() => next(), next);
    },
  });

/** How many names the files of a workspace have in it. It is looked through once, for all files that are asked for; nothing of the task runs then. */
export class HardLinks {
  readonly #workspace: string;
  #counted: Promise<ReadonlyMap<string, number>> | undefined;

  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  async of(ino: number, dev: number): Promise<number> {
    this.#counted ??= countNames(this.#workspace);
    return (await this.#counted).get(`${dev} ${ino}`) ?? 0;
  }
}

/** Names of files that have more than one. What lies deeper than an archive goes is not counted. */
async function countNames(workspace: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  let seen = 0;
  const look = async (folder: Folder, depth: number): Promise<void> => {
    for (const name of await folder.names()) {
      if (++seen > MAX_NAMES) return;
      const found = await folder.find(name);
      const file = found?.isFile() && found.nlink > 1 ? `${found.dev} ${found.ino}` : undefined;
      if (file) counts.set(file, (counts.get(file) ?? 0) + 1);
      if (!found?.isDirectory() || depth >= MAX_DEPTH) continue;
      const inner = await folder.folder(name).catch(() => undefined);
      if (!inner) continue;
      await look(inner, depth + 1);
      await inner.close();
    }
  };
  const root = await Folder.own(workspace);
  try {
    await look(root, 0);
  } finally {
    await root.close();
  }
  return counts;
}

/** Writes a file into a workspace. Links on the way and in its place are replaced, never followed. */
export async function putTaskFile(
  workspace: string,
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
): Promise<void> {
  const handle = await createTaskFile(workspace, path, mode);
  try {
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
}

/** A new empty file in a workspace, open for writing. */
export function createTaskFile(workspace: string, path: string, mode = 0o600): Promise<FileHandle> {
  const parts = partsTo(workspace, path);
  const name = parts.pop();
  if (name === undefined) throw leaves(path);
  return descend(workspace, parts, (folder) => folder.create(name, mode), 0o700);
}

/** A file without a name that is on the disk of the workspace: nothing can be put in its place. */
export const scratchFile = (workspace: string): Promise<FileHandle> =>
  descend(workspace, [], (folder) => folder.create(`scratch-${process.pid}-${++scratches}`, 0o600, true));
let scratches = 0;

/** Makes a folder of a workspace, and those on the way. A link or a file in the place of one is replaced. */
export const makeTaskFolder = async (workspace: string, path: string, mode = 0o700): Promise<void> =>
  descend(workspace, partsTo(workspace, path), async () => undefined, mode);

async function outcome<T>(path: string, work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return done(await work());
  } catch (error) {
    if (error instanceof Refused) return stop(error.reason, error.message);
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return stop("PathNotFound", missing(path).message);
    if (code === "ELOOP") return stop("PathRefused", leaves(path).message);
    return stop("PathRefused", `${JSON.stringify(path)} cannot be read: ${code ?? message}`);
  }
}
