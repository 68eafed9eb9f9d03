import { randomInt } from "node:crypto";
import { lchown, lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** Users without a name, one for each attempt that runs. */
export const FIRST_UID = 60_000;
export const LAST_UID = 60_999;
const FIRST_OF_RANGES = 1_000_000_000;

/** The first of the further users of an attempt; no two attempts share one, and no machine has such users. */
export const rangeOf = (uid: number): number => FIRST_OF_RANGES + (uid - FIRST_UID) * 65_536;

/**
 * Gives uids out in turn: files that an attempt left in a shared folder are not the next one's. It starts anywhere: two delegates that are root
 * on one machine would else give the same ones at the same time, and each would count and end the other's processes as its own.
 */
export class Uids {
  readonly #taken = new Set<number>();
  #last = randomInt(FIRST_UID, LAST_UID + 1);

  take(): number {
    for (let tries = FIRST_UID; tries <= LAST_UID; tries++) {
      this.#last = this.#last === LAST_UID ? FIRST_UID : this.#last + 1;
      if (this.#taken.has(this.#last)) continue;
      this.#taken.add(this.#last);
      return this.#last;
    }
    throw new Error(`all users from ${FIRST_UID} to ${LAST_UID} are taken`);
  }

  give(uid: number): void {
    this.#taken.delete(uid);
  }
}

/**
 * Makes everything in a folder a user's own: what the delegate wrote there before a command runs. Only while nothing of that user runs: it
 * could put a link in the place of a folder that is just being walked through.
 */
export async function handOver(dir: string, uid: number): Promise<void> {
  for (const open = [dir]; open.length; ) {
    const path = open.pop()!;
    await own(path, uid);
    for await (const entry of await opendir(path)) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) open.push(inner);
      else await own(inner, uid);
    }
  }
}

async function own(path: string, uid: number): Promise<void> {
  const found = await lstat(path);
  // Files of other users are the task's already: its own, or of one of its further users. A file with a second name may be one of the
  // delegate's that the task has linked to; the delegate makes none with two names here.
  if (found.uid === process.getuid!() && (found.isDirectory() || found.nlink === 1)) await lchown(path, uid, uid);
}
