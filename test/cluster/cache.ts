import { existsSync } from "node:fs";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { until } from "../servers/run.ts";

/** Where everything that took long to make is kept between runs. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return env.OUTPOST_CACHE || join(homedir(), ".cache", "outpost");
}

/** A build may take this long before those who wait for it give up. */
const WAIT_MS = 60 * 60_000;

/**
 * Fills `dir` once: `.done` marks a finished one; `.building` holds the number of the process that is at it, so that two
 * runs at once do not do the work twice, and a run that died is noticed.
 */
export async function once(dir: string, make: () => Promise<void>, waiting: () => void = () => {}): Promise<string> {
  const done = () => existsSync(join(dir, ".done"));
  if (done()) return dir;
  await mkdir(dir, { recursive: true });
  const lock = join(dir, ".building");
  let said = false;
  await until(
    `another process makes ${dir}`,
    async () => {
      if (done() || (await take(lock))) return true;
      if (!said) waiting();
      said = true;
      return false;
    },
    WAIT_MS,
  );
  if (done()) return dir;
  try {
    await make();
    await writeFile(join(dir, ".done"), "");
  } finally {
    await rm(lock, { force: true });
  }
  return dir;
}

/** True when the lock is now ours. A lock of a process that is gone is taken away first. */
async function take(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, "wx");
    await file.writeFile(`${process.pid}`);
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const holder = Number(await readFile(lock, "utf8").catch(() => ""));
    if (holder && !existsSync(`/proc/${holder}`)) await rm(lock, { force: true });
    return false;
  }
}
