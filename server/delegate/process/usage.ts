import { chmodSync, closeSync, constants, type Dir, fstatSync, lstatSync, opendirSync, openSync } from "node:fs";
import { Slices } from "./slices.ts";

const { O_DIRECTORY, O_NOFOLLOW } = constants;
// A Linux flag that Node does not name. Such a handle needs no right to the folder, and stays with the folder it was opened on.
const O_PATH = 0o10000000;
/** The kernel takes paths up to 4,096 bytes; a folder below that is reached through a handle on one above it. */
const MAX_BYTES = 3_000;
/** Handles that one look may hold at the same time: enough for folders that are 90,000 bytes deep. */
const MAX_ANCHORS = 30;
const LINUX = process.platform === "linux";

export interface Usage {
  /** On the disk; a file with several names counts once for each. */
  bytes: number;
  /** Files, folders and whatever else has a name. */
  entries: number;
  /** Its folders lie so deep that no program finds its way through them. */
  deep: boolean;
}

/** A place to look at: a path below a folder that is held open for all that need it. */
interface Place {
  anchor: Anchor | undefined;
  path: string;
}

interface Anchor {
  fd: number;
  users: number;
  /** How many lie one above the other, with this one. */
  level: number;
}

/**
 * What lies below a folder, however deep and whatever its modes are; links are not followed. It stops where `enough` is passed. Folders
 * that their owner has closed to itself are opened again: a task must not hide in them what it writes.
 */
export async function usageIn(dir: string, enough: { bytes?: number; entries?: number } = {}): Promise<Usage> {
  const { bytes = Number.POSITIVE_INFINITY, entries = Number.POSITIVE_INFINITY } = enough;
  const used: Usage = { bytes: 0, entries: 0, deep: false };
  const slices = new Slices();
  const todo: Place[] = [{ anchor: undefined, path: dir }];
  try {
    for (let place = todo.pop(); place; place = todo.pop()) {
      const here = settled(place);
      if (here?.anchor && here.anchor.level > MAX_ANCHORS) {
        leave(here);
        return { ...used, deep: true };
      }
      const listing = here && opened(full(here));
      try {
        for (let entry = listing?.readSync(); entry && here; entry = listing!.readSync()) {
          const inner: Place = { anchor: here.anchor, path: `${here.path}/${entry.name}` };
          const stat = lstatSync(full(inner), { throwIfNoEntry: false });
          used.entries++;
          used.bytes += (stat?.blocks ?? 0) * 512;
          if (used.bytes > bytes || used.entries > entries) return used;
          if (stat?.isDirectory()) todo.push(held(inner));
          if (slices.over) await slices.next();
        }
      } catch {
        // It went away while it was looked at.
      } finally {
        listing?.closeSync();
        if (here) leave(here);
      }
    }
    return used;
  } finally {
    for (const place of todo) leave(place);
  }
}

const full = ({ anchor, path }: Place) => (anchor ? `/proc/self/fd/${anchor.fd}${path}` : path);

function held(place: Place): Place {
  if (place.anchor) place.anchor.users++;
  return place;
}

function leave({ anchor }: Place): void {
  if (anchor && --anchor.users === 0) closeSync(anchor.fd);
}

/** The same place by a path that the kernel takes; undefined when it is not there any more. */
function settled(place: Place): Place | undefined {
  if (!LINUX || Buffer.byteLength(full(place)) < MAX_BYTES) return place;
  try {
    const fd = openSync(full(place), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    leave(place);
    return { anchor: { fd, users: 1, level: (place.anchor?.level ?? 0) + 1 }, path: "" };
  } catch {
    leave(place);
    return undefined;
  }
}

function opened(path: string): Dir | undefined {
  try {
    return opendirSync(path);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? reopened(path) : undefined;
  }
}

/** Gives its owner the right to a folder back, through a handle: a link that was put in its place is not followed. */
function reopened(path: string): Dir | undefined {
  if (!LINUX) return undefined;
  let fd: number | undefined;
  try {
    fd = openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    const same = `/proc/self/fd/${fd}`;
    chmodSync(same, (fstatSync(fd).mode & 0o7777) | 0o700);
    return opendirSync(same);
  } catch {
    // Another user's.
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
