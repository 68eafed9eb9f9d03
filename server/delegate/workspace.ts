import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { lstat, opendir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Lease } from "../link/leases.ts";
import { endTree, findMarked } from "./tree.ts";

/** The folders of one attempt. */
export interface Workspace {
  dir: string;
  /** Where the task starts. */
  work: string;
  home: string;
  tmp: string;
  /** `NAME=value` that every process of this attempt has in its environment, and no other. */
  mark: string;
  /** The user that its processes run as, when it is one of their own. */
  uid?: number | undefined;
}

const MARK = "OUTPOST_WORKSPACE";

/**
 * Workspaces below the delegate's folder, a new one for each attempt. They are cleaned at the start, of the delegate and of each task: what a
 * task left can be looked at until the next one comes, and whatever went wrong at an end never breaks a beginning.
 */
export class Workspaces {
  readonly #tasks: string;
  readonly #trash: string;
  readonly #open = new Set<string>();
  #removing: Promise<void> = Promise.resolve();

  constructor(workDir: string) {
    this.#tasks = join(workDir, "tasks");
    this.#trash = join(workDir, "trash");
  }

  /** Ends what an earlier delegate in this folder left running, and clears the folder. */
  async start(): Promise<number> {
    const prefix = `${MARK}=${this.#tasks}/`;
    const left = findMarked(prefix).length;
    for (let round = 0; round < 3 && left; round++) for (const pid of findMarked(prefix)) kill(pid);
    for (const dir of [this.#tasks, this.#trash]) {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      chmodSync(dir, 0o700);
    }
    this.#clear();
    return left;
  }

  open(lease: Lease): Workspace {
    this.#clear();
    // An id is the service's; a folder's name is not left to it.
    const id = /^[A-Za-z0-9-]{1,64}$/.test(lease.task) ? lease.task : createHash("sha256").update(lease.task).digest("hex").slice(0, 32);
    const name = `${id}.${lease.fence}`;
    const dir = join(this.#tasks, name);
    this.#open.add(name);
    const [work, home, tmp] = ["work", "home", "tmp"].map((part) => join(dir, part)) as [string, string, string];
    for (const path of [dir, work, home, tmp]) mkdirSync(path, { mode: 0o700 });
    return { dir, work, home, tmp, mark: `${MARK}=${dir}` };
  }

  /** The attempt has ended; the folder stays until the next one begins. */
  close(workspace: Workspace): void {
    this.#open.delete(workspace.dir.slice(this.#tasks.length + 1));
  }

  /** Resolves when what was given up is removed. */
  get cleared(): Promise<void> {
    return this.#removing;
  }

  // Moved aside at once, so that nobody waits for the removal of a hundred thousand files.
  #clear(): void {
    for (const name of readdirSync(this.#tasks)) {
      if (!this.#open.has(name)) renameSync(join(this.#tasks, name), join(this.#trash, randomBytes(6).toString("hex")));
    }
    const given = readdirSync(this.#trash);
    if (given.length === 0) return;
    this.#removing = this.#removing.then(async () => {
      for (const name of given) await remove(join(this.#trash, name));
    });
  }
}

/** What still runs in a workspace ends now. */
export const endWorkspace = (workspace: Workspace) => endTree(() => ({ variable: workspace.mark, uid: workspace.uid }), { termMs: 0 });

/** Bytes that a folder takes on its disk. Links are not followed. */
export async function sizeOf(dir: string, enough = Number.POSITIVE_INFINITY): Promise<number> {
  let bytes = 0;
  const open = [dir];
  for (let path = open.pop(); path !== undefined && bytes < enough; path = open.pop()) {
    try {
      for await (const entry of await opendir(path)) {
        const inner = join(path, entry.name);
        if (entry.isDirectory()) open.push(inner);
        bytes += (await lstat(inner)).blocks * 512;
      }
    } catch {
      // It went away while it was looked at, or is closed to us.
    }
  }
  return bytes;
}

async function remove(path: string): Promise<void> {
  const all = { recursive: true, force: true, maxRetries: 2 };
  await rm(path, all).catch(async () => {
    // Folders without the right to write, as Go's module cache has them, cannot be emptied.
    await open(path);
    // What is another user's stays, and is tried again with the next task.
    await rm(path, all).catch(() => undefined);
  });
}

async function open(path: string): Promise<void> {
  try {
    chmodSync(path, 0o700);
    for await (const entry of await opendir(path)) if (entry.isDirectory()) await open(join(path, entry.name));
  } catch {
    // As above.
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
