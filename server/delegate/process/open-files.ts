import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { Slices } from "./slices.ts";

/** What processes hold without a name: it is found in no folder, and the kernel gives it back only when they let go. */
export interface Held {
  /** Bytes on a disk, of files that were removed while they are open. */
  disk: number;
  /** Bytes of memory in files of memory (`memfd`), without those that are mapped: these are in the resident memory of a process. */
  memory: number;
}

interface Nameless {
  key: string;
  inode: string;
  bytes: number;
  memory: boolean;
}

/** Smaller memory files are not inspected: that makes the kernel walk through a process's pages. */
const SMALL = 1024 * 1024;

/** Each file counts once, however many processes and descriptors hold it. Processes that cannot be looked into count nothing. */
export async function heldBy(pids: readonly number[], proc = "/proc"): Promise<Held> {
  const found = new Map<string, Nameless>();
  const holders = new Set<number>();
  const slices = new Slices();
  for (const pid of pids) {
    for (const fd of list(`${proc}/${pid}/fd`)) {
      const one = nameless(`${proc}/${pid}/fd/${fd}`);
      if (one) found.set(one.key, one);
      if (one?.memory) holders.add(pid);
      if (slices.over) await slices.next();
    }
  }
  const held: Held = { disk: 0, memory: 0 };
  for (const { bytes, memory } of found.values()) held[memory ? "memory" : "disk"] += bytes;
  if (held.memory <= SMALL) return { ...held, memory: 0 };
  const mapped = new Map<string, number>();
  for (const pid of holders) {
    for (const [inode, bytes] of mappedIn(read(`${proc}/${pid}/smaps`)))
      mapped.set(inode, (mapped.get(inode) ?? 0) + bytes);
    if (slices.over) await slices.next();
  }
  held.memory = 0;
  for (const { bytes, memory, inode } of found.values())
    if (memory) held.memory += Math.max(0, bytes - (mapped.get(inode) ?? 0));
  return held;
}

function nameless(path: string): Nameless | undefined {
  try {
    const to = readlinkSync(path);
    const memory = to.startsWith("/memfd:");
    if (!memory && !to.endsWith(" (deleted)")) return undefined;
    const { dev, ino, nlink, blocks } = statSync(path);
    return nlink > 0 ? undefined : { key: `${dev}:${ino}`, inode: String(ino), bytes: blocks * 512, memory };
  } catch {
    return undefined;
  }
}

/** Resident bytes of mapped files of memory, by inode. */
export function mappedIn(smaps: string): Map<string, number> {
  const mapped = new Map<string, number>();
  let inode: string | undefined;
  for (const line of smaps.split("\n")) {
    const head = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ (\d+) +(.*)$/.exec(line);
    if (head) inode = head[2]!.startsWith("/memfd:") ? head[1] : undefined;
    const resident = inode === undefined ? undefined : /^Rss: +(\d+) kB$/.exec(line)?.[1];
    if (inode !== undefined && resident) mapped.set(inode, (mapped.get(inode) ?? 0) + Number(resident) * 1024);
  }
  return mapped;
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    // It has ended meanwhile, or is another user's.
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
