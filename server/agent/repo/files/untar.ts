import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, DANGEROUS, segments } from "../git/tree.ts";
import { REPO } from "../types.ts";

const BLOCK = 512;

/**
 * Unpacks a tar archive below an empty folder: plain files and folders alone, every one of them inside, as many as a source may have. With
 * `modes`, a file that may be run stays one.
 */
export async function untar(archive: Buffer, to: string, modes = false): Promise<Outcome<void>> {
  const bad = (why: string) => stop(REPO.refused, `the archive ${why}`);
  const entries: { path: string; shown: string; content?: Buffer; mode?: number }[] = [];
  let bytes = 0;
  let longName: string | undefined;
  let pax: Record<string, string> = {};
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK);
    at += BLOCK;
    if (header.every((byte) => byte === 0)) break;
    const size = Number(pax.size ?? octal(header, 124, 12));
    if (!Number.isSafeInteger(size) || size < 0 || at + size > archive.length) return bad("ends early");
    const content = archive.subarray(at, at + size);
    at += Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156]!);
    if (type === "L") {
      longName = text(content, 0, content.length);
      continue;
    }
    if (type === "x") {
      pax = records(content);
      continue;
    }
    if (type === "g") continue;
    const prefix = text(header, 345, 155);
    const short = text(header, 0, 100);
    const name =
      pax.path ?? longName ?? (prefix && header.subarray(257, 262).equals(USTAR) ? `${prefix}/${short}` : short);
    longName = undefined;
    pax = {};
    const parts = segments(name);
    const shown = JSON.stringify(name.slice(0, 200));
    if (
      name.startsWith("/") ||
      name.includes("\0") ||
      name.includes("\\") ||
      parts.some((part) => DANGEROUS.test(part) || part.length > 255)
    )
      return bad(`holds ${shown}, which is refused`);
    if (parts.length > BOUNDS.depth) return stop(REPO.tooLarge, `the archive has more than ${BOUNDS.depth} levels`);
    if (entries.length >= BOUNDS.files) return stop(REPO.tooLarge, `the archive has more than ${BOUNDS.files} files`);
    const path = join(to, ...parts);
    if (type === "5") entries.push({ path, shown });
    else if (type === "0" || type === "\0" || type === "7") {
      if (parts.length === 0) return bad("holds a file without a name");
      bytes += size;
      if (bytes > BOUNDS.totalBytes)
        return stop(REPO.tooLarge, `the archive has more than ${BOUNDS.totalBytes / 1_000_000} MB`);
      entries.push({ path, shown, content, mode: modes && octal(header, 100, 8) & 0o100 ? 0o700 : 0o600 });
    } else return bad(`holds ${shown}, which is not a plain file`);
  }
  // Nothing is written before all of it has been looked at.
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

const USTAR = Buffer.from("ustar");

const text = (bytes: Buffer, at: number, length: number): string => {
  const field = bytes.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
};

const octal = (bytes: Buffer, at: number, length: number): number => {
  const digits = text(bytes, at, length).trim();
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || "0", 8) : Number.NaN;
};

/** `27 path=some/long/name\n`, one after the other. */
function records(content: Buffer): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(32, at);
    const length = Number(content.toString("latin1", at, blank));
    if (blank < 0 || !(length > blank - at)) break;
    const [name, ...value] = content.toString("utf8", blank + 1, at + length - 1).split("=");
    if (name === "path" || name === "size") found[name] = value.join("=");
    at += length;
  }
  return found;
}
