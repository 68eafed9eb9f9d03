import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** How the processes of one task are told from all others. */
export interface Mark {
  /** `NAME=value` in the environment that the task's first process got and its children inherit. */
  variable: string;
  /** Process group of its first process, while that one lives. */
  group?: number | undefined;
}

interface Stat {
  pid: number;
  parent: number;
  group: number;
  session: number;
}

/**
 * All living processes of a task: its group and session, everything below them, and whoever carries the mark. So a process
 * that became a daemon with a session of its own is found, and so is one that cleared its environment. On a system without /proc: none,
 * there only the group is reached.
 */
export function findTree({ variable, group }: Mark, proc = "/proc"): number[] {
  const all = new Map<number, Stat>();
  for (const name of list(proc)) {
    const stat = /^\d+$/.test(name) ? statOf(proc, name) : undefined;
    if (stat) all.set(stat.pid, stat);
  }
  const found = new Set<number>();
  for (const stat of all.values()) {
    if (stat.pid === process.pid) continue;
    const near = group !== undefined && (stat.group === group || stat.session === group);
    if (near || carries(proc, stat.pid, variable)) found.add(stat.pid);
  }
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { pid, parent } of all.values()) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** Signals all of them, and says how many there were. */
export function signalTree(mark: Mark, signal: NodeJS.Signals): number {
  if (mark.group !== undefined) send(-mark.group, signal);
  const pids = findTree(mark);
  for (const pid of pids) send(pid, signal);
  return pids.length;
}

const TERM_MS = 2_500;
const KILL_MS = 2_000;
const LOOK_MS = 25;

/** Asks all processes to end and kills those that do not; resolves when none is left, or with how many the kernel would not give up. */
export async function endTree(mark: () => Mark, termMs = TERM_MS): Promise<number> {
  const started = performance.now();
  let left = termMs > 0 ? signalTree(mark(), "SIGTERM") : 1;
  while (left && performance.now() - started < termMs) {
    await sleep(LOOK_MS);
    left = findTree(mark()).length;
  }
  // Again and again: a process may fork while it is being looked for.
  while (left && performance.now() - started < termMs + KILL_MS) {
    left = signalTree(mark(), "SIGKILL");
    if (left) await sleep(LOOK_MS);
  }
  return left;
}

/** Resident memory of the processes together, in bytes. */
export function memoryOf(pids: readonly number[], proc = "/proc"): number {
  let kib = 0;
  for (const pid of pids) kib += Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`${proc}/${pid}/status`))?.[1] ?? 0);
  return kib * 1024;
}

/** All processes with a variable that begins so; for what an earlier delegate left behind. */
export function findMarked(prefix: string, proc = "/proc"): number[] {
  return list(proc).flatMap((name) => {
    const pid = Number(name);
    return /^\d+$/.test(name) && pid !== process.pid && `\0${read(`${proc}/${name}/environ`)}`.includes(`\0${prefix}`) ? [pid] : [];
  });
}

function statOf(proc: string, name: string): Stat | undefined {
  const text = read(`${proc}/${name}/stat`);
  // The program's name stands in brackets and may hold anything, brackets too.
  const [state, parent, group, session] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // A zombie has ended; it only waits for somebody to ask how.
  if (!text || state === "Z" || state === "X") return undefined;
  return { pid: Number(name), parent: Number(parent), group: Number(group), session: Number(session) };
}

const carries = (proc: string, pid: number, variable: string) => `\0${read(`${proc}/${pid}/environ`)}`.includes(`\0${variable}\0`);

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // It has ended meanwhile, or is another user's.
    return "";
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
