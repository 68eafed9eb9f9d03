import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { extract, type Header } from "tar-stream";
import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, DANGEROUS, segments } from "../git/tree.ts";
import { REPO } from "../types.ts";

// Archives of before 1988 name no format; the package's types do not know the option.
const OPTIONS = { allowUnknownFormat: true } as Parameters<typeof extract>[0];

interface Entry {
  path: string;
  /** The name in the archive, for messages. */
  shown: string;
  /** Absent: a folder. */
  content?: Buffer;
  mode?: number;
}

/**
 * Unpacks a tar archive below an empty folder: plain files and folders alone, every one of them inside, as many as a source may have. With
 * `modes`, a file that may be run stays one.
 */
export async function untar(archive: Buffer, to: string, modes = false): Promise<Outcome<void>> {
  // Nothing is written before all of it has been looked at.
  const entries = await read(archive, to, modes);
  return entries.kind === "done" ? write(entries.value) : entries;
}

async function read(archive: Buffer, to: string, modes: boolean): Promise<Outcome<Entry[]>> {
  const entries: Entry[] = [];
  let bytes = 0;
  const tar = extract(OPTIONS);
  tar.end(archive);
  try {
    for await (const entry of tar) {
      const { name, size = 0, mode = 0 } = entry.header;
      const kind = kindOf(entry.header);
      if (typeof kind !== "string") return kind;
      if (entries.length >= BOUNDS.files) return stop(REPO.tooLarge, `the archive has more than ${BOUNDS.files} files`);
      const file = { path: join(to, ...segments(name)), shown: shownAs(name) };
      if (kind === "folder") {
        entries.push(file);
        entry.resume();
        continue;
      }
      bytes += size;
      if (bytes > BOUNDS.totalBytes)
        return stop(REPO.tooLarge, `the archive has more than ${BOUNDS.totalBytes / 1_000_000} MB`);
      const chunks: Uint8Array[] = [];
      for await (const chunk of entry as AsyncIterable<Uint8Array>) chunks.push(chunk);
      entries.push({ ...file, content: Buffer.concat(chunks), mode: modes && mode & 0o100 ? 0o700 : 0o600 });
    }
  } catch (error) {
    const { message } = error as Error;
    return bad(/end of data/i.test(message) ? "ends early" : "is damaged");
  }
  return done(entries);
}

const bad = (why: string) => stop(REPO.refused, `the archive ${why}`);
const shownAs = (name: string) => JSON.stringify(name.slice(0, 200));

/** What an entry is, or why it is refused. */
function kindOf({ name, type }: Header): "file" | "folder" | Failure {
  const parts = segments(name);
  const escapes = name.startsWith("/") || name.includes("\0") || name.includes("\\");
  if (escapes || parts.some((part) => DANGEROUS.test(part) || part.length > 255))
    return bad(`holds ${shownAs(name)}, which is refused`);
  if (parts.length > BOUNDS.depth) return stop(REPO.tooLarge, `the archive has more than ${BOUNDS.depth} levels`);
  if (type === "directory") return "folder";
  if (type !== "file" && type !== "contiguous-file") return bad(`holds ${shownAs(name)}, which is not a plain file`);
  return parts.length > 0 ? "file" : bad("holds a file without a name");
}

async function write(entries: readonly Entry[]): Promise<Outcome<void>> {
  for (const { path, shown, content, mode } of entries) {
    try {
      await mkdir(content ? dirname(path) : path, { recursive: true, mode: 0o700 });
      if (content) await writeFile(path, content, { mode });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOTDIR" || code === "EISDIR" || code === "EEXIST")
        return bad(`holds ${shown} as a file and as a folder`);
      throw error;
    }
  }
  return done(undefined);
}
