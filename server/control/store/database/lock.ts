import { mkdir, open, readFile, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** Who holds a folder. `born` tells a process from a later one with the same number (in a container it is often 1 again). */
interface Holder {
  pid: number;
  born: string;
  host: string;
}

// The holder touches its lock every 5 s. On another host a process cannot be asked whether it lives: six missed touches decide.
const TOUCH_MS = 5_000;
const FOREIGN_STALE_MS = 30_000;

export class FolderInUse extends Error {}

/**
 * Takes the folder for this process; the result gives it back. A lock whose process is gone (kill -9, power cut) is taken over.
 * @throws FolderInUse when a living process has it.
 */
export async function lockFolder(dir: string): Promise<() => Promise<void>> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, "lock");
  const mine = JSON.stringify(await self());
  if (!(await create(path, mine))) {
    await takeOver(dir, path);
    if (!(await create(path, mine))) throw inUse(dir, await readHolder(path));
  }
  const touch = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, TOUCH_MS);
  touch.unref();
  return async () => {
    clearInterval(touch);
    if ((await readFile(path, "utf8").catch(() => "")) === mine) await rm(path, { force: true });
  };
}

/** Removes a stale lock. Only one process at a time may judge and remove, or the second would remove the first one's new lock. */
async function takeOver(dir: string, path: string): Promise<void> {
  const guard = join(dir, "lock.takeover");
  if (!(await create(guard, ""))) {
    const age = Date.now() - ((await stat(guard).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age < FOREIGN_STALE_MS) throw inUse(dir, await readHolder(path));
    await rm(guard, { force: true });
    if (!(await create(guard, ""))) throw inUse(dir, await readHolder(path));
  }
  try {
    const holder = await readHolder(path);
    if (holder && (await alive(holder, path))) throw inUse(dir, holder);
    await rm(path, { force: true });
  } finally {
    await rm(guard, { force: true });
  }
}

async function create(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", 0o600);
    await file.writeFile(text);
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    // Gone, or cut off while it was written: it has no owner.
    return undefined;
  }
}

async function self(): Promise<Holder> {
  return { pid: process.pid, born: await born(process.pid), host: hostname() };
}

async function alive(holder: Holder, path: string): Promise<boolean> {
  if (holder.host !== hostname()) {
    const touched = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0;
    return Date.now() - touched < FOREIGN_STALE_MS;
  }
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return holder.born === (await born(holder.pid));
}

/**
 * Start time of a process in clock ticks since boot, from field 22 of its stat file; empty where there is no /proc, and for a process
 * that has ended and only waits to be collected.
 */
async function born(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name in field 2 may hold spaces and brackets; counting starts behind its last bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? "" : (fields[19] ?? "");
}

function inUse(dir: string, holder: Holder | undefined): FolderInUse {
  const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process";
  return new FolderInUse(`the store in ${dir} is in use by ${who}; stop it, or set OUTPOST_DATA to another folder`);
}
