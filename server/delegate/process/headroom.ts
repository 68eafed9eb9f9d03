import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { cpus, freemem } from "node:os";
import { join } from "node:path";
import type { Schemas } from "../../../openapi/client.ts";
import type { Log } from "../../link/log.ts";

export type Headroom = Schemas["Headroom"];

export interface HeadroomOptions {
  /** The work folder; its disk is what tasks write to. */
  dir: string;
  /** Percent of the processors or memory in use from which on no tasks are taken; undefined: never for this reason. */
  cpuThreshold?: number | undefined;
  memoryThreshold?: number | undefined;
  /** After each look: time to clean, and on a full disk more than otherwise. */
  looked?: (diskFull: boolean) => void;
  log: Log;
}

const MIB = 1024 * 1024;
/** Below this the disk counts as full: a task that cannot even write its script would fail for nothing. */
export const MIN_FREE_MIB = 128;
/** The same for files: a checkout of a repository needs thousands. */
export const MIN_FREE_FILES = 4_000;
// With less than this the kernel soon kills a process; better to start nothing more.
const MIN_MEMORY_MIB = 64;
const LOOK_MS = 5_000;

/** The free resources of this machine or container; read every 5 s and sent with each exchange. */
export class Resources {
  readonly #options: HeadroomOptions;
  readonly #timer: NodeJS.Timeout;
  #cpu = times();
  #now: Headroom = {};
  /** The first look. */
  readonly ready: Promise<void>;

  constructor(options: HeadroomOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
    this.ready = this.#look();
  }

  get now(): Headroom {
    return this.#now;
  }

  get full(): string | undefined {
    return this.#now.full;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { dir, log } = this.#options;
    const cpuPercent = this.#idle();
    const memory = memoryOf();
    const disk = await statfs(dir).catch(() => undefined);
    const diskMiB = disk && Math.floor((disk.bavail * disk.bsize) / MIB);
    const memoryMiB = Math.floor(memory.free / MIB);
    // A file system that makes room for files as it goes says that it has none at all.
    const files = disk?.files ? disk.ffree : undefined;
    const full = this.#full({ cpuPercent, memory, diskMiB, files });
    if (full !== this.#now.full) {
      const fields = { dir, diskMiB, files, memoryMiB, cpuPercent };
      if (full) log.error({ ...fields, full }, `no new tasks are taken: ${WORDS[full]}`);
      else log.info(fields, "there is room for tasks again");
    }
    this.#now = { cpuPercent, memoryMiB, ...(diskMiB === undefined ? {} : { diskMiB }), ...(full ? { full } : {}) };
    try {
      this.#options.looked?.(full === "DiskFull");
    } catch (error) {
      log.warn({ dir, error: (error as Error).message }, "the work folder could not be cleaned");
    }
  }

  #full(now: Measured): keyof typeof WORDS | undefined {
    const { cpuThreshold, memoryThreshold } = this.#options;
    if (now.diskMiB !== undefined && now.diskMiB < MIN_FREE_MIB) return "DiskFull";
    if (now.files !== undefined && now.files < MIN_FREE_FILES) return "DiskFull";
    const { free, total } = now.memory;
    if (free < MIN_MEMORY_MIB * MIB || (memoryThreshold && (1 - free / total) * 100 >= memoryThreshold))
      return "MemoryLow";
    if (cpuThreshold && 100 - now.cpuPercent >= cpuThreshold) return "CpuBusy";
    return undefined;
  }

  /** Percent of all processors that were idle since the last look. */
  #idle(): number {
    const [before, now] = [this.#cpu, times()];
    this.#cpu = now;
    const all = now.all - before.all;
    return all > 0 ? Math.min(100, Math.max(0, Math.round(((now.idle - before.idle) / all) * 100))) : 100;
  }
}

interface Measured {
  cpuPercent: number;
  memory: { free: number; total: number };
  diskMiB: number | undefined;
  /** Files that the disk still takes. */
  files: number | undefined;
}

const WORDS = {
  DiskFull: "the disk of the work folder is full, of bytes or of files",
  MemoryLow: "there is too little memory left",
  CpuBusy: "the processors are busy",
} as const;

function times(): { all: number; idle: number } {
  let [all, idle] = [0, 0];
  for (const { times: t } of cpus()) {
    all += t.user + t.nice + t.sys + t.idle + t.irq;
    idle += t.idle;
  }
  return { all, idle };
}

/** Memory for more processes: the machine's, or what the control group around this process still allows. */
export function memoryOf(root = "/sys/fs/cgroup", proc = "/proc"): { free: number; total: number } {
  const info = read(`${proc}/meminfo`);
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(info)?.[1] ?? Number.NaN) * 1024;
  const machine = { free: of("MemAvailable") || freemem(), total: of("MemTotal") || freemem() };
  const lines = read(`${proc}/self/cgroup`);
  const v2 = /^0::(.*)$/m.exec(lines)?.[1];
  const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(lines)?.[1];
  const places = [
    ...(v2 === undefined
      ? []
      : [join(root, v2), root].map((dir) => [dir, "memory.max", "memory.current", "inactive_file"])),
    ...(v1 === undefined
      ? []
      : [join(root, "memory", v1), join(root, "memory")].map((dir) => [
          dir,
          "memory.limit_in_bytes",
          "memory.usage_in_bytes",
          "total_inactive_file",
        ])),
  ] as [string, string, string, string][];
  for (const [dir, max, current, cache] of places) {
    const limit = Number(read(join(dir, max)).trim() || Number.NaN);
    const used = Number(read(join(dir, current)).trim() || Number.NaN);
    if (!(limit < machine.total) || Number.isNaN(used)) continue;
    const inactive = Number(new RegExp(`^${cache} (\\d+)$`, "m").exec(read(join(dir, "memory.stat")))?.[1] ?? 0);
    return { free: Math.max(0, Math.min(machine.free, limit - used + inactive)), total: limit };
  }
  return machine;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
