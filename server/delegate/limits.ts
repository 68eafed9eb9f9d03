import { setTimeout as sleep } from "node:timers/promises";
import type { Group } from "./cgroup.ts";
import type { Bounds } from "./settings.ts";
import { findTree, type Mark, usageOf } from "./tree.ts";
import { sizeOf, type Workspace } from "./workspace.ts";

export type Excess = { reason: "MemoryExceeded" | "ProcessesExceeded" | "DiskExceeded"; message: string };

const LOOK_MS = 1_000;
// A walk through a large folder costs; it takes at most a tenth of the time.
const REST = 9;
const MIB = 1024 * 1024;

export interface WatchOptions {
  bounds: Bounds;
  workspace: Workspace;
  /** The task's processes now, if any run. */
  mark: () => Mark | undefined;
  /** Its control group, where there is one. */
  group?: Pick<Group, "exceeded"> | undefined;
  exceeded(excess: Excess): void;
  signal: AbortSignal;
}

/** Looks at what a task uses of memory and disk until the signal ends; calls `exceeded` at most once for each. */
export async function watchLimits(options: WatchOptions): Promise<void> {
  await Promise.all([watchProcesses(options), watchDisk(options)]);
}

async function watchProcesses({ bounds, mark, group, exceeded, signal }: WatchOptions): Promise<void> {
  if (!bounds.memoryBytes && !bounds.processes) return;
  while (await rest(LOOK_MS, signal)) {
    const now = mark();
    if (!now) continue;
    if (group?.exceeded() === "MemoryExceeded") return exceeded(outOfMemory(bounds));
    const { bytes, threads } = usageOf(findTree(now));
    if (bounds.processes && threads >= bounds.processes)
      return exceeded({
        reason: "ProcessesExceeded",
        message: `it ran ${threads} processes and threads at the same time, fewer than ${bounds.processes} are allowed (OUTPOST_TASK_PROCESSES)`,
      });
    if (!bounds.memoryBytes || bytes <= bounds.memoryBytes) continue;
    const text = `its processes used ${Math.round(bytes / MIB)} MiB of memory, ${Math.round(bounds.memoryBytes / MIB)} are allowed`;
    return exceeded({ reason: "MemoryExceeded", message: `${text} (OUTPOST_TASK_MEMORY_MIB)` });
  }
}

/** When it was the kernel that ended something. */
export const outOfMemory = ({ memoryBytes }: Bounds): Excess => ({
  reason: "MemoryExceeded",
  message: `the kernel ended one of its processes: together they needed more memory than the ${Math.round(memoryBytes / MIB)} MiB that are allowed (OUTPOST_TASK_MEMORY_MIB)`,
});

async function watchDisk({ bounds, workspace, exceeded, signal }: WatchOptions): Promise<void> {
  if (!bounds.diskBytes) return;
  let wait = LOOK_MS;
  while (await rest(wait, signal)) {
    const started = performance.now();
    const used = await sizeOf(workspace.dir, bounds.diskBytes + 1);
    wait = Math.max(LOOK_MS, (performance.now() - started) * REST);
    if (used <= bounds.diskBytes) continue;
    const text = `its workspace grew over ${Math.round(bounds.diskBytes / MIB)} MiB`;
    return exceeded({ reason: "DiskExceeded", message: `${text} (OUTPOST_TASK_DISK_MIB)` });
  }
}

/** False when the signal has ended. */
async function rest(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}
