import { readdirSync, readFileSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** How the processes of one task are identified. */
export interface Mark {
  /** `NAME=value` in the environment that the task's first process got and its children inherit. */
  variable: string;
  /** Its supervisor, while that one lives: everything below it is the task's. */
  root?: number | undefined;
  /** The delegate's own parent, once a supervisor was ended from outside: every child of it but the delegate is what that one had. */
  keeper?: number | undefined;
  /** Process group of its first process, while that one lives and has no supervisor. */
  group?: number | undefined;
  /** User that runs nothing but this task. */
  uid?: number | undefined;
}

interface Stat {
  pid: number;
  parent: number;
  group: number;
  session: number;
}

/**
 * All living processes of a task: everything below its supervisor, its user's, those that carry the mark, its group and session, and
 * everything below these. The supervisor itself is not among them. On a system without /proc only the group is reached.
 */
export function findTree({ variable, root, keeper, group, uid }: Mark, proc = "/proc"): number[] {
  const all = new Map<number, Stat>();
  for (const name of list(proc)) {
    const stat = /^\d+$/.test(name) ? statOf(proc, name) : undefined;
    if (stat) all.set(stat.pid, stat);
  }
  const found = new Set<number>();
  for (const stat of all.values()) {
    if (stat.pid === process.pid || stat.pid === root) continue;
    const near =
      (root !== undefined && stat.parent === root) ||
      (keeper !== undefined && stat.parent === keeper) ||
      (group !== undefined && (stat.group === group || stat.session === group));
    if (near || (uid !== undefined && ownerOf(proc, stat.pid) === uid) || carries(proc, stat.pid, variable))
      found.add(stat.pid);
  }
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const { pid, parent } of all.values()) if (found.has(parent) && pid !== root) found.add(pid);
  }
  return [...found];
}

/** The same; undefined where /proc cannot be read, as without a free descriptor: that is not the same as no process. */
export function tryFindTree(mark: Mark, proc = "/proc"): number[] | undefined {
  try {
    return findTree(mark, proc);
  } catch {
    return undefined;
  }
}

/** Signals all of them, and says how many there were; 1 where they cannot be seen. */
export function signalTree(mark: Mark, signal: NodeJS.Signals): number {
  if (mark.group !== undefined) send(-mark.group, signal);
  // A task of the same user may have stopped its supervisor.
  if (mark.root !== undefined && signal === "SIGKILL") send(mark.root, "SIGCONT");
  const pids = tryFindTree(mark);
  for (const pid of pids ?? []) send(pid, signal);
  return pids?.length ?? 1;
}

const TERM_MS = 2_500;
const KILL_MS = 2_000;
const LOOK_MS = 25;

export interface Ending {
  /** How long processes may take to end by themselves; 0: they are killed at once. */
  termMs?: number;
  /** Resolves when nothing is left. */
  ended?: Promise<unknown>;
  /** Tells a supervisor to kill as well: it sees its orphans sooner than anyone else. */
  kill?: () => void;
}

/** Asks all processes to end and kills those that do not; resolves when none is left, or with how many the kernel would not give up. */
export async function endTree(mark: () => Mark, { termMs = TERM_MS, ended, kill }: Ending = {}): Promise<number> {
  const started = performance.now();
  let over = false;
  void ended?.then(() => {
    over = true;
  });
  let left = termMs > 0 ? signalTree(mark(), "SIGTERM") : 1;
  while (left && !over && performance.now() - started < termMs) {
    await sleep(LOOK_MS);
    left = tryFindTree(mark())?.length ?? 1;
  }
  kill?.();
  // Again and again: a process may fork while it is being looked for.
  while (left && performance.now() - started < termMs + KILL_MS) {
    left = signalTree(mark(), "SIGKILL");
    if (left) await sleep(LOOK_MS);
  }
  return left;
}

/** What the processes use together: resident memory in bytes, and how many they are with their threads. */
export function usageOf(pids: readonly number[], proc = "/proc"): { bytes: number; threads: number } {
  const used = { bytes: 0, threads: 0 };
  for (const pid of pids) {
    const status = read(`${proc}/${pid}/status`);
    used.bytes += Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
    used.threads += Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
  }
  return used;
}

/** Processes and threads of a user, as the kernel counts them for its bound. */
export function threadsOf(uid: number, proc = "/proc"): number {
  const pids = list(proc).flatMap((name) =>
    /^\d+$/.test(name) && ownerOf(proc, Number(name)) === uid ? [Number(name)] : [],
  );
  return usageOf(pids, proc).threads;
}

/** All processes with a variable that begins so; for what an earlier delegate left behind. */
export function findMarked(prefix: string, proc = "/proc"): number[] {
  return list(proc).flatMap((name) => {
    const pid = Number(name);
    return /^\d+$/.test(name) && pid !== process.pid && `\0${read(`${proc}/${name}/environ`)}`.includes(`\0${prefix}`)
      ? [pid]
      : [];
  });
}

function statOf(proc: string, name: string): Stat | undefined {
  const text = read(`${proc}/${name}/stat`);
  // The program's name is in brackets and may hold any character, brackets too.
  const [state, parent, group, session] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // A zombie has ended; its parent has not asked yet how.
  if (!text || state === "Z" || state === "X") return undefined;
  return { pid: Number(name), parent: Number(parent), group: Number(group), session: Number(session) };
}

const ownerOf = (proc: string, pid: number) => statSync(`${proc}/${pid}`, { throwIfNoEntry: false })?.uid;

const carries = (proc: string, pid: number, variable: string) =>
  `\0${read(`${proc}/${pid}/environ`)}`.includes(`\0${variable}\0`);

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    return gone(error, []);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    // It has ended meanwhile, or is another user's.
    return gone(error, "");
  }
}

// Without descriptors or memory nothing can be read; that does not mean that there are no processes.
const BLIND = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

function gone<T>(error: unknown, nothing: T): T {
  if (BLIND.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  return nothing;
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}
