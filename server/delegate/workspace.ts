import { createHash, randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Lease } from "../link/leases.ts";
import { endTree, findMarked } from "./process/tree.ts";
import { emptyTrash } from "./task/removal.ts";

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
const AGAIN_MS = 60_000;

/**
 * Workspaces below the delegate's folder, a new one for each attempt. They are cleaned at the start, of the delegate and of each task, and
 * when the disk is full: what a task left can be looked at until then, and whatever went wrong at an end never breaks a beginning.
 */
export class Workspaces {
  readonly #tasks: string;
  readonly #trash: string;
  readonly #open = new Set<string>();
  #removing: Promise<void> = Promise.resolve();
  /** When something was left that could not be removed, and is tried again. */
  #again = 0;
  #emptying = false;

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
    this.#reopen();
    this.#clear();
    // An id is the service's; a folder's name is not left to it.
    const id = /^[A-Za-z0-9-]{1,64}$/.test(lease.task)
      ? lease.task
      : createHash("sha256").update(lease.task).digest("hex").slice(0, 32);
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

  /** Resolves when abandoned folders are removed. */
  get cleared(): Promise<void> {
    return this.#removing;
  }

  /** A task of the delegate's own user may have closed its folders (chmod is not Landlock's): the next task opens them again. */
  #reopen(): void {
    for (const dir of [dirname(this.#tasks), this.#tasks, this.#trash]) reopen(dir, 0o700);
    const identity = join(dirname(this.#tasks), "identity.json");
    const mode = existsSync(identity) ? statSync(identity).mode & 0o777 : 0o600;
    if (mode !== 0o600) chmodSync(identity, 0o600);
  }

  /**
   * For a timer: removes what could not be removed before, as often as once in a minute; on a full disk also what ended tasks left, which
   * would else stay until the next one comes, and none comes to a delegate whose disk is full.
   */
  tidy(full: boolean): void {
    if (full) this.#moveAside();
    if (full || performance.now() >= this.#again) this.#empty();
  }

  #clear(): void {
    this.#moveAside();
    this.#empty();
  }

  // At once: removing a hundred thousand files would hold up other work.
  #moveAside(): void {
    for (const name of readdirSync(this.#tasks)) {
      if (!this.#open.has(name)) renameSync(join(this.#tasks, name), join(this.#trash, randomBytes(6).toString("hex")));
    }
  }

  #empty(): void {
    if (this.#emptying || readdirSync(this.#trash).length === 0) return;
    this.#emptying = true;
    this.#removing = this.#emptyAll().finally(() => {
      this.#emptying = false;
    });
  }

  /** Also folders that were added meanwhile, each one once. */
  async #emptyAll(): Promise<void> {
    const tried = new Set<string>();
    for (;;) {
      const given = readdirSync(this.#trash).filter((name) => !tried.has(name));
      if (given.length === 0) break;
      for (const name of given) tried.add(name);
      const left = await emptyTrash(this.#trash, given);
      if (left) this.#again = performance.now() + AGAIN_MS;
    }
  }
}

/** Gives the owner's rights back, to a folder and to those above it that are the same user's. */
function reopen(dir: string, bits: number): void {
  const looked = tryStat(dir);
  if (looked === undefined) {
    if (dirname(dir) === dir) return;
    reopen(dirname(dir), 0o100);
  }
  const stat = looked ?? tryStat(dir);
  if (stat && stat.uid === process.getuid?.() && (stat.mode & bits) !== bits)
    chmodSync(dir, (stat.mode & 0o7777) | bits);
}

function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** What still runs in a workspace ends now. */
export const endWorkspace = (workspace: Workspace) =>
  endTree(() => ({ variable: workspace.mark, uid: workspace.uid }), { termMs: 0 });

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
