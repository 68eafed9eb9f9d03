import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, opendirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Slices } from "../process/slices.ts";

/**
 * Empties the trash: each folder in it is moved to the top of the trash before it is emptied, so no path gets long however deep a tree is,
 * and what a killed delegate left half done is only more trash. Gives how many things could not be removed: they are another user's.
 */
export async function emptyTrash(trash: string, names: readonly string[]): Promise<number> {
  const slices = new Slices();
  const todo = [...names];
  const stuck: string[] = [];
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    const path = join(trash, name);
    try {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (!found) continue;
      if (!found.isDirectory()) {
        unlinkSync(path);
        continue;
      }
      // Folders without the right to write, as Go's module cache has them, cannot be emptied or moved.
      chmodSync(path, 0o700);
      const listing = opendirSync(path);
      try {
        for (let entry = listing.readSync(); entry; entry = listing.readSync()) {
          const inner = join(path, entry.name);
          if (!entry.isDirectory()) unlinkSync(inner);
          else todo.push(raised(trash, inner));
          if (slices.over) await slices.next();
        }
      } finally {
        listing.closeSync();
      }
      rmdirSync(path);
    } catch {
      stuck.push(path);
    }
  }
  let left = 0;
  // Whatever the fast path could not remove.
  for (const path of stuck) await rm(path, { recursive: true, force: true, maxRetries: 2 }).catch(() => left++);
  return left;
}

function raised(trash: string, path: string): string {
  const name = randomBytes(8).toString("hex");
  try {
    renameSync(path, join(trash, name));
  } catch {
    // A folder can only be moved by who may write to it.
    chmodSync(path, 0o700);
    renameSync(path, join(trash, name));
  }
  return name;
}
