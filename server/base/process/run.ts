import { spawn } from "node:child_process";
import { again, done, type Outcome, stop } from "../outcome.ts";
import { type MemoryWatch, memoryWatcher } from "./memory-watch.ts";
import { onAbort } from "./signal.ts";

/** One bounded child process. Nothing is inherited: the environment is `env` plus the variables named in `inherit`. */
export interface RunOptions {
  args: readonly string[];
  cwd: string;
  env?: Record<string, string>;
  /** Names copied from this process's environment when they are set. */
  inherit?: readonly string[];
  stdin?: string | Uint8Array;
  /** The whole process group is killed when it passes. */
  deadlineMs: number;
  /** Limit for stdout and stderr together; passing it kills the group. */
  maxBytes: number;
  /** Limit for the resident memory of the child and what it starts; passing it kills the group. */
  maxResidentBytes?: number;
  signal?: AbortSignal;
}

export interface RunResult {
  code: number;
  stdout: Buffer;
  stderr: string;
}

/** Reasons of a run that did not come to an exit code. */
export const RUN_REASONS = {
  missing: "ToolMissing",
  deadline: "DeadlineExceeded",
  output: "OutputTooLarge",
  memory: "MemoryExceeded",
  cancelled: "Cancelled",
  killed: "Killed",
} as const;

// Long enough for git to remove its lock files, short enough for the caller.
const GRACE_MS = 1_000;

/**
 * Runs `file` with an argument array (never a shell) in its own process group and resolves when the group is gone.
 * Any exit code is `done`; `again` and `stop` say why there is no exit code.
 */
export async function run(file: string, options: RunOptions): Promise<Outcome<RunResult>> {
  const { signal, maxResidentBytes } = options;
  const name = file.slice(file.lastIndexOf("/") + 1);
  let watchMemory: ((pid: number) => MemoryWatch) | undefined;
  try {
    if (maxResidentBytes !== undefined) watchMemory = await memoryWatcher(maxResidentBytes);
  } catch (error) {
    return again(RUN_REASONS.killed, `${name} was not started: ${(error as Error).message}`);
  }
  if (signal?.aborted) return stop(RUN_REASONS.cancelled, `${name} was not started: cancelled`);
  return new Promise((resolve) => {
    const child = spawn(file, [...options.args], {
      cwd: options.cwd,
      env: environment(options),
      detached: true,
      stdio: "pipe",
    });
    const memory: MemoryWatch | undefined = child.pid === undefined ? undefined : watchMemory?.(child.pid);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let size = 0;
    let ended: Outcome<RunResult> | undefined;
    let hardKill: NodeJS.Timeout | undefined;

    // A grandchild that left the group could hold the pipes open for ever: after the grace they are closed from this side.
    const force = () => {
      killGroup(child.pid, "SIGKILL");
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const end = (outcome: Outcome<RunResult>) => {
      if (ended) return;
      ended = outcome;
      killGroup(child.pid, "SIGTERM");
      hardKill ??= setTimeout(force, GRACE_MS);
    };
    const collect = (into: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length;
      if (size <= options.maxBytes) into.push(chunk);
      else end(stop(RUN_REASONS.output, `${name} wrote more than ${options.maxBytes} bytes`));
    };
    const deadline = setTimeout(
      () =>
        end(again(RUN_REASONS.deadline, `${name} did not end within ${Math.round(options.deadlineMs / 100) / 10} s`)),
      options.deadlineMs,
    );
    const cancel = () => end(stop(RUN_REASONS.cancelled, `${name} was cancelled`));
    // Programs run side by side share the signal that ends them all.
    const withdraw = signal && onAbort(signal, cancel);
    const settle = (outcome: Outcome<RunResult>) => {
      clearTimeout(deadline);
      clearTimeout(hardKill);
      withdraw?.();
      memory?.stop();
      resolve(outcome);
    };

    child.stdout.on("data", collect(stdout));
    child.stderr.on("data", collect(stderr));
    // A child may end without reading its input; that is its right.
    child.stdin.on("error", () => {});
    child.stdin.end(options.stdin);
    child.on("error", (error: NodeJS.ErrnoException) => {
      const missing = error.code === "ENOENT";
      settle(
        stop(
          missing ? RUN_REASONS.missing : RUN_REASONS.killed,
          missing ? `${name} is not installed` : `${name}: ${error.message}`,
        ),
      );
    });
    // What the child left behind goes with it.
    child.on("exit", () => {
      killGroup(child.pid, "SIGKILL");
      hardKill ??= setTimeout(force, GRACE_MS);
    });
    child.on("close", (code, by) => {
      if (memory?.exceeded())
        settle(stop(RUN_REASONS.memory, `${name} took more than ${maxResidentBytes} bytes of memory`));
      else if (ended) settle(ended);
      else if (code === null) settle(again(RUN_REASONS.killed, `${name} was ended by ${by}`));
      else settle(done({ code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString("utf8") }));
    });
  });
}

function environment({ env = {}, inherit = [] }: RunOptions): Record<string, string> {
  const result: Record<string, string> = {};
  for (const name of inherit) {
    const value = process.env[name];
    if (value !== undefined) result[name] = value;
  }
  return { ...result, ...env };
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is already gone.
  }
}
