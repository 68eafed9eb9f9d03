import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bounds } from "../config/settings.ts";

/** A control group of one task: the kernel itself holds the bounds of its whole tree, between two looks of the watcher too. */
export interface Group {
  /** Files that a process writes its number into to enter. */
  enter: string[];
  /** Whether the kernel ended something of it for its memory, or refused it a process. */
  exceeded(): "MemoryExceeded" | "ProcessesExceeded" | undefined;
  /** Removes it; nothing runs in it any more. */
  close(): Promise<void>;
}

export interface Groups {
  /** `v2` or `v1`. */
  kind: string;
  open(bounds: Pick<Bounds, "memoryBytes" | "processes">): Group;
}

const TRIES = 20;
const PREFIX = "outpost-task-";
let count = 0;
const nextName = () => `${PREFIX}${process.pid}-${++count}`;

/** The control groups that this process may divide; undefined where it may not, as in most containers: the watcher in `limits.ts` does it then. */
export function findGroups(root = "/sys/fs/cgroup", proc = "/proc/self/cgroup"): Groups | undefined {
  const lines = read(proc).split("\n");
  const own = (controller: string) =>
    lines.map((line) => /^\d+:([^:]*):(.*)$/.exec(line)).find((m) => m?.[1]?.split(",").includes(controller))?.[2];
  const unified = own("");
  for (const path of [
    unified === undefined ? undefined : join(root, unified),
    ...["memory", "pids"].map((name) => join(root, name, own(name) ?? "")),
  ])
    if (path) clear(path);
  const v2 = unified === undefined ? undefined : divide(join(root, unified));
  if (v2) return { kind: "v2", open: (bounds) => openV2(join(v2, nextName()), bounds) };
  const [memory, pids] = ["memory", "pids"].map((controller) => {
    const path = own(controller);
    const dir = path === undefined ? undefined : join(root, controller, path);
    return dir && writable(dir) ? dir : undefined;
  });
  if (!memory || !pids) return undefined;
  return {
    kind: "v1",
    open: (bounds) => {
      const name = nextName();
      return openV1(join(memory, name), join(pids, name), bounds);
    },
  };
}

/**
 * Makes the group of this process one that has children with bounds. Version 2 wants no process in such a group: this one moves into a child,
 * where the group was given to it alone (`Delegate=yes` of systemd).
 */
function divide(dir: string): string | undefined {
  if (
    !writable(dir) ||
    !["memory", "pids"].every((name) => read(join(dir, "cgroup.controllers")).split(/\s/).includes(name))
  )
    return undefined;
  try {
    const others = read(join(dir, "cgroup.procs"))
      .split("\n")
      .filter((pid) => pid && Number(pid) !== process.pid);
    if (others.length) return undefined;
    mkdirSync(join(dir, "delegate"), { recursive: true });
    writeFileSync(join(dir, "delegate", "cgroup.procs"), String(process.pid));
    writeFileSync(join(dir, "cgroup.subtree_control"), "+memory +pids");
    return dir;
  } catch {
    return undefined;
  }
}

function openV2(dir: string, { memoryBytes, processes }: Pick<Bounds, "memoryBytes" | "processes">): Group {
  mkdirSync(dir);
  if (memoryBytes)
    for (const [file, value] of [
      ["memory.max", memoryBytes],
      ["memory.oom.group", 1],
    ] as const)
      set(join(dir, file), value);
  if (processes) set(join(dir, "pids.max"), processes);
  const count = (file: string, name: string) =>
    Number(new RegExp(`^${name} (\\d+)$`, "m").exec(read(join(dir, file)))?.[1] ?? 0);
  return {
    enter: [join(dir, "cgroup.procs")],
    exceeded: () => {
      if (count("memory.events", "oom_kill") > 0) return "MemoryExceeded";
      return count("pids.events", "max") > 0 ? "ProcessesExceeded" : undefined;
    },
    close: () => remove(dir),
  };
}

function openV1(
  memory: string,
  pids: string,
  { memoryBytes, processes }: Pick<Bounds, "memoryBytes" | "processes">,
): Group {
  for (const dir of [memory, pids]) mkdirSync(dir);
  if (memoryBytes) set(join(memory, "memory.limit_in_bytes"), memoryBytes);
  if (processes) set(join(pids, "pids.max"), processes);
  const killed = () => Number(/^oom_kill (\d+)$/m.exec(read(join(memory, "memory.oom_control")))?.[1] ?? 0);
  const refused = () => Number(/^max (\d+)$/m.exec(read(join(pids, "pids.events")))?.[1] ?? 0);
  return {
    enter: [memory, pids].map((dir) => join(dir, "cgroup.procs")),
    exceeded: () => {
      if (killed() > 0) return "MemoryExceeded";
      return refused() > 0 ? "ProcessesExceeded" : undefined;
    },
    close: async () => {
      await Promise.all([memory, pids].map(remove));
    },
  };
}

// What a delegate that was killed has left; a group with a process in it stays.
function clear(dir: string): void {
  for (const name of list(dir)) if (name.startsWith(PREFIX)) tryRemove(join(dir, name));
}

// A process counts until it is reaped, which is moments after its end.
async function remove(dir: string): Promise<void> {
  for (let tries = 0; tries < TRIES && !tryRemove(dir); tries++) await sleep(50);
}

function tryRemove(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function set(file: string, value: number): void {
  try {
    writeFileSync(file, String(value));
  } catch {
    // A kernel without this one bound: the watcher holds it.
  }
}

function writable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function list(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
