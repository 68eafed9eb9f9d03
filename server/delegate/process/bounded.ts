import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { setPriority } from "node:os";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { keeperOf } from "./keeper.ts";
import { Lines } from "./lines.ts";
import { Control, findSupervisor } from "./supervisor.ts";
import { endTree, type Mark, signalTree } from "./tree.ts";

export type Stream = "stdout" | "stderr" | "system";
/** Takes one line; a promise means: wait for it before reading more. */
export type WriteLine = (stream: Stream, text: string) => Promise<void> | undefined;

export interface Command {
  file: string;
  args: readonly string[];
  cwd: string;
  /** All of the environment: nothing is inherited. */
  env: Record<string, string>;
  /** It is root over many users of its own, where the sandbox can give it these: for programs that build images. */
  users?: boolean | undefined;
}

export interface BoundedOptions {
  /** `NAME=value` of the command's environment that no other task has. */
  mark: string;
  /** The command's user, when it is one of its own. */
  uid?: number | undefined;
  /** Files of its control group, which its first process enters by. */
  enter?: readonly string[] | undefined;
  /** For each process; the tree together is watched by `limits.ts`. 0: none. */
  memoryBytes: number;
  write: WriteLine;
  /** The process with its supervisor or group, as soon as there is one. */
  started?: (mark: () => Mark) => void;
  signal: AbortSignal;
}

/**
 * Before the command itself: its control group, the kernel's choice when memory runs out, no core dumps, and a bound for its data (not for
 * its address space, of which Node, Java and Go reserve far more than they use).
 */
const BOUND = `IFS=:; for file in $1; do echo $$ > "$file"; done 2>/dev/null; unset IFS file; shift
{ echo 700 > /proc/self/oom_score_adj; } 2>/dev/null
ulimit -c 0 2>/dev/null
[ "$0" = 0 ] || ulimit -d "$0" 2>/dev/null
exec "$@"`;
/**
 * Without a supervisor, a watcher in the same process group kills the group when its pipe to the delegate closes: a delegate that is
 * killed takes its tasks along. The first process of a container needs none: the kernel does this for it.
 */
const WATCH = `${process.pid === 1 ? "" : "( { read _ <&3; kill -KILL 0; } </dev/null >/dev/null 2>&1 & )"}
exec 3<&-
`;

// Work must not take the processor from the delegate's own heartbeat. A supervisor keeps its own priority.
const NICE = 10;
// Programs that hold the output open after the task's tree is gone are not of the task.
const PIPES_MS = 1_000;
const WAKE_MS = 1_000;
const LOOK_MS = 25;
const QUIET_LOOKS = 20;
const MOST_LOOKS = 200;
const SILENT_MS = 2_000;
const SUPERVISOR = findSupervisor();

/** Whether every process of a command can be found and ended here, or only those that keep a mark. */
export const supervised = SUPERVISOR !== undefined;

/**
 * Runs a command to its end and gives its exit code (128 + n for signal n). When the signal ends, all its processes are asked to end and
 * then killed. What it left running goes with it: after this nothing of it lives.
 */
export async function runBounded(command: Command, options: BoundedOptions): Promise<Outcome<number>> {
  if (options.signal.aborted) return stop("Ended", "it was not started");
  const run = [
    String(Math.floor(options.memoryBytes / 1024)),
    (options.enter ?? []).join(":"),
    command.file,
    ...command.args,
  ];
  // The texts travel to the supervisor with this between them.
  if ([...run, ...Object.entries(command.env).flat()].some((text) => text.includes("\0")))
    return stop("NotStarted", "its process could not be started: an argument or a variable holds a NUL character");
  const child = start(command, options, run);
  const control = SUPERVISOR ? new Control(child) : undefined;
  let alive = child.pid !== undefined;
  let lost = false;
  const mark = (): Mark => ({
    variable: options.mark,
    uid: options.uid,
    ...(alive ? { [SUPERVISOR ? "root" : "group"]: child.pid } : {}),
    ...(lost ? { keeper: keeperOf() } : {}),
  });
  const ended = new Promise<Outcome<number>>((resolve) => {
    child.once("error", (error) => resolve(stop("NotStarted", `its process could not be started: ${error.message}`)));
    child.once("exit", (code, signal) => {
      // The group's number is ours for as long as the group has members: this is the last moment to use it.
      if (!SUPERVISOR && child.pid !== undefined)
        signalTree({ variable: options.mark, uid: options.uid, group: child.pid }, "SIGKILL");
      alive = false;
      if (!control) resolve(done(code ?? 128 + signalNumber(signal)));
    });
    void control?.ended.then((said) => {
      lost = said === undefined;
      resolve(said ? done(said.code) : LOST);
    });
  });
  let ending: Promise<number> | undefined;
  const end = () => {
    ending ??= endTree(mark, { ended, kill: () => control?.kill() }).then(async (left) => {
      // A supervisor that still says nothing was stopped, or hangs itself.
      const late = setTimeout(() => child.kill("SIGKILL"), SILENT_MS);
      await ended;
      clearTimeout(late);
      return left;
    });
  };
  // A task that runs as the same user may stop its supervisor; where it cannot, this does nothing.
  const waking = SUPERVISOR && setInterval(() => child.kill("SIGCONT"), WAKE_MS);
  const reading = [pump(child.stdout!, "stdout", options.write), pump(child.stderr!, "stderr", options.write)];
  if (child.pid !== undefined) {
    if (control) control.start(["/bin/sh", "-c", BOUND, ...run], command.env);
    else renice(child.pid);
    options.started?.(mark);
    options.signal.addEventListener("abort", end, { once: true });
    if (options.signal.aborted) end();
  }
  const outcome = await ended;
  clearInterval(waking);
  await ending;
  let left = await endTree(mark, { termMs: 0 });
  // Without its supervisor a process that forks and ends all the time may be missed by one look, and by its keeper for a moment.
  for (let quiet = 0, looks = 0; lost && quiet < QUIET_LOOKS && looks < MOST_LOOKS; looks++) {
    await sleep(LOOK_MS);
    left = signalTree(mark(), "SIGKILL");
    quiet = left ? 0 : quiet + 1;
  }
  options.signal.removeEventListener("abort", end);
  control?.close();
  const late = setTimeout(() => [child.stdout, child.stderr].forEach((s) => void s?.destroy()), PIPES_MS);
  await Promise.all(reading);
  clearTimeout(late);
  if (!left) return outcome;
  await options.write("system", `[${left} processes could not be ended]`);
  return outcome.kind === "done" ? stop("ProcessesLeft", `${left} of its processes could not be ended`) : outcome;
}

const LOST = stop(
  "SupervisorLost",
  "the process that supervises its processes was ended from outside; all of them were ended with it",
);

function start({ cwd, env }: Command, { mark }: BoundedOptions, run: readonly string[]) {
  const at = mark.indexOf("=");
  const how = { cwd, detached: true, stdio: ["ignore", "pipe", "pipe", "pipe"] satisfies StdioOptions } as const;
  if (!SUPERVISOR) return guarded(spawn("/bin/sh", ["-c", WATCH + BOUND, ...run], { ...how, env }));
  // Nothing of the task's environment: LD_PRELOAD or PERL5OPT would be code in its supervisor.
  return spawn(SUPERVISOR.file, SUPERVISOR.args, { ...how, env: { [mark.slice(0, at)]: mark.slice(at + 1) } });
}

function guarded(child: ChildProcess): ChildProcess {
  const guard = child.stdio[3] as Writable;
  guard.on("error", () => {});
  child.once("exit", () => guard.destroy());
  return child;
}

function renice(pid: number): void {
  try {
    setPriority(pid, NICE);
  } catch {
    // It has ended already.
  }
}

async function pump(stream: Readable, name: Stream, write: WriteLine): Promise<void> {
  const lines = new Lines();
  try {
    for await (const chunk of stream) for (const line of lines.add(chunk as Buffer)) await write(name, line);
  } catch {
    // Closed from this side.
  }
  for (const line of lines.end()) await write(name, line);
}

const SIGNALS: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
};
const signalNumber = (signal: NodeJS.Signals | null) => SIGNALS[signal ?? ""] ?? 0;
