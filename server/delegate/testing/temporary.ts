import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE_MS } from "../../../test/within.ts";

/** A folder that is gone after the test file; its name has no symbolic link in it. */
export function temporaryFolder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "delegate-")));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Waits for a condition, and says which one did not come true. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  ms = 0,
): Promise<T> {
  for (const end = Date.now() + Math.max(ms, PATIENCE_MS); ; ) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Whether a process lives; a zombie does not. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readStatus(pid));
  } catch {
    return false;
  }
}

const readStatus = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "State:\tZ";
  }
};

/** Folders one in the other, deeper than a path may be long; the innermost has a file of 1 MiB. */
export function nest(dir: string, depth: number, length: number): void {
  const script =
    '$n = "d" x $ARGV[1]; for (1..$ARGV[0]) { mkdir $n or die $!; chdir $n or die $! } open F, ">big"; print F "x" x 2**20';
  const ran = spawnSync("perl", ["-e", script, String(depth), String(length)], { cwd: dir, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
}
