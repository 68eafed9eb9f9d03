import { spawnSync } from "node:child_process";
import { tool } from "./ways.ts";

/**
 * A core dump of the delegate would hold its identity and every secret that it has resolved, in a file of its user. The hard limit goes
 * to 0, so that no other program of this user can raise it again. False where that cannot be done.
 */
export function forbidCoreDumps(): boolean {
  if (process.platform !== "linux") return false;
  return (
    spawnSync(tool("prlimit"), ["--pid", String(process.pid), "--core=0:0"], { stdio: "ignore", env: {} }).status === 0
  );
}
