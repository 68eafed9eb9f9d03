import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bounds } from "../config/settings.ts";
import type { Workspace } from "../workspace.ts";
import type { Group } from "./cgroup.ts";
import { heldBy } from "./open-files.ts";
import { findTree, type Mark, usageOf } from "./tree.ts";
import { usageIn } from "./usage.ts";

export type Excess = { reason: "MemoryExceeded" | "ProcessesExceeded" | "DiskExceeded"; message: string };

const LOOK_MS = 1_000;
// A walk through a large folder costs; it takes at most a tenth of the time.
const REST = 9;
// A task of a million files must not buy minutes without a look with them.
const LONGEST_MS = 20_000;
/** So many files are never too many for a file system, however small it is. */
const FEW_FILES = 1_000;
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
    const pids = pidsNow(now);
    const { bytes: resident, threads } = usageOf(pids);
    if (bounds.processes && threads >= bounds.processes)
      return exceeded({
        reason: "ProcessesExceeded",
        message: `it ran ${threads} processes and threads at the same time, fewer than ${bounds.processes} are allowed (OUTPOST_TASK_PROCESSES)`,
      });
    if (!bounds.memoryBytes) continue;
    // A control group counts the files of memory by itself.
    const bytes = resident + (group ? 0 : (await heldBy(pids)).memory);
    if (bytes <= bounds.memoryBytes) continue;
    const text = `its processes used ${Math.round(bytes / MIB)} MiB of memory, ${Math.round(bounds.memoryBytes / MIB)} are allowed`;
    return exceeded({ reason: "MemoryExceeded", message: `${text} (OUTPOST_TASK_MEMORY_MIB)` });
  }
}

/** When it was the kernel that ended something. */
export const outOfMemory = ({ memoryBytes }: Bounds): Excess => ({
  reason: "MemoryExceeded",
  message: `the kernel ended one of its processes: together they needed more memory than the ${Math.round(memoryBytes / MIB)} MiB that are allowed (OUTPOST_TASK_MEMORY_MIB)`,
});

async function watchDisk({ bounds, workspace, mark, exceeded, signal }: WatchOptions): Promise<void> {
  if (!bounds.diskBytes && !bounds.files) return;
  let wait = LOOK_MS;
  while (await rest(wait, signal)) {
    const started = performance.now();
    const excess = await lookAtDisk(bounds, workspace, mark());
    wait = Math.min(LONGEST_MS, Math.max(LOOK_MS, (performance.now() - started) * REST));
    if (excess) return exceeded({ reason: "DiskExceeded", message: excess });
  }
}

/** Its processes; none where they cannot be seen for a moment: the next look tells. */
function pidsNow(mark: Mark): ReturnType<typeof findTree> {
  try {
    return findTree(mark);
  } catch {
    return [];
  }
}

/** What of a disk's bounds a task exceeds. */
async function lookAtDisk(
  { diskBytes, files }: Bounds,
  { dir }: Workspace,
  mark: Mark | undefined,
): Promise<string | undefined> {
  const share = files ? Math.min(files, Math.max(FEW_FILES, await freeFiles(dir))) : Number.POSITIVE_INFINITY;
  const most = diskBytes || Number.POSITIVE_INFINITY;
  const { bytes, entries, deep } = await usageIn(dir, { bytes: most, entries: share });
  if (deep) return "its workspace has folders deeper than programs can reach; put fewer into each other";
  if (entries > share) {
    const why = share < files ? "more than are left for all other tasks on this disk" : "more than are allowed";
    return `its workspace has over ${share} files and folders, ${why} (OUTPOST_TASK_FILES)`;
  }
  const nameless = bytes <= most && diskBytes && mark ? (await heldBy(pidsNow(mark))).disk : 0;
  if (bytes + nameless <= most) return undefined;
  const also = nameless ? ", with the files that it removed and holds open" : "";
  return `its workspace grew over ${Math.round(diskBytes / MIB)} MiB${also} (OUTPOST_TASK_DISK_MIB)`;
}

/** Files that the disk still takes; without end where it makes room for them as it goes. */
async function freeFiles(dir: string): Promise<number> {
  const disk = await statfs(dir).catch(() => undefined);
  return disk?.files ? disk.ffree : Number.POSITIVE_INFINITY;
}

/** False when the signal has ended. */
async function rest(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}
