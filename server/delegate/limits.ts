import { setTimeout as sleep } from "node:timers/promises";
import type { Bounds } from "./settings.ts";
import { findTree, type Mark, memoryOf } from "./tree.ts";
import { sizeOf, type Workspace } from "./workspace.ts";

export type Excess = { reason: "MemoryExceeded" | "DiskExceeded"; message: string };

const LOOK_MS = 1_000;
// A walk through a large folder costs; it takes at most a tenth of the time.
const REST = 9;
const MIB = 1024 * 1024;

export interface WatchOptions {
  bounds: Bounds;
  workspace: Workspace;
  /** The task's processes now, if any run. */
  mark: () => Mark | undefined;
  exceeded(excess: Excess): void;
  signal: AbortSignal;
}

/** Looks at what a task uses of memory and disk until the signal ends; calls `exceeded` at most once for each. */
export async function watchLimits(options: WatchOptions): Promise<void> {
  await Promise.all([watchMemory(options), watchDisk(options)]);
}

async function watchMemory({ bounds, mark, exceeded, signal }: WatchOptions): Promise<void> {
  if (!bounds.memoryBytes) return;
  while (await rest(LOOK_MS, signal)) {
    const now = mark();
    const used = now ? memoryOf(findTree(now)) : 0;
    if (used <= bounds.memoryBytes) continue;
    const text = `its processes used ${Math.round(used / MIB)} MiB of memory, ${Math.round(bounds.memoryBytes / MIB)} are allowed`;
    return exceeded({ reason: "MemoryExceeded", message: `${text} (OUTPOST_TASK_MEMORY_MIB)` });
  }
}

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
