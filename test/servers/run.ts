import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { connect, createServer } from "node:net";
import { PATIENCE_MS } from "../within.ts";

/** How a finished child ended; `run` throws instead when the code is not 0. */
export interface Ran {
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  input?: string | Uint8Array;
  /** A child that takes longer is killed and the call fails; default three minutes. */
  deadlineMs?: number;
}

/** Runs a program to its end, argument array only; the error carries what it said on stderr. */
export function run(file: string, args: string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      args,
      {
        cwd: options.cwd,
        env: options.env,
        timeout: options.deadlineMs ?? 180_000,
        killSignal: "SIGKILL",
        maxBuffer: 64 << 20,
      },
      (error, stdout, stderr) => {
        if (error)
          reject(
            new Error(`${file} ${args.join(" ")}: ${(stderr || stdout || error.message).trim()}`, { cause: error }),
          );
        else resolve({ stdout, stderr });
      },
    );
    // A child that ends before it has read its input breaks the pipe; its exit code tells the story.
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.input ?? "");
  });
}

type Check<T> = () => Promise<T | undefined | false> | T | undefined | false;

/** Waits until `check` gives something truthy. */
export const until = <T>(what: string, check: Check<T>, deadlineMs = 0): Promise<T> =>
  poll(what, check, Math.max(deadlineMs, PATIENCE_MS));

/** Polls quickly because the servers here start in milliseconds. */
async function poll<T>(what: string, check: Check<T>, deadlineMs: number): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (let pause = 5; ; pause = Math.min(pause * 2, 100)) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${deadlineMs} ms`);
    await new Promise((r) => setTimeout(r, pause));
  }
}

/** A long-running child with the tail of what it said. */
export interface Daemon {
  child: ChildProcess;
  /** The last 8 KiB of stdout and stderr together. */
  said(): string;
  /** Why it is gone; undefined while it runs. */
  ended(): string | undefined;
  /** Asks with `signal`, insists with SIGKILL after five seconds; resolves when it is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Another user than root, who may be allowed to read files that only root can: those of root's cache. */
export interface User {
  uid: number;
  gid: number;
  readsAll?: boolean;
}

/** Arguments of setpriv(1) which make a child run as this user. */
export function asUser({ uid, gid, readsAll }: User): string[] {
  const reads = readsAll ? ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"] : [];
  return [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", ...reads];
}

export interface DaemonOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Run as this user, for servers that refuse root. */
  user?: User;
  /** What the kernel sends it when this process dies without having called `stop`; default SIGKILL. */
  deathSignal?: "KILL" | "TERM" | "INT";
}

/** Starts a server process that cannot outlive this one: setpriv(1) asks the kernel to end it with us. */
export function daemon(file: string, args: string[], options: DaemonOptions = {}): Daemon {
  const { user, deathSignal = "KILL", env, cwd } = options;
  const who = user ? asUser(user) : [];
  const child = spawn("setpriv", [`--pdeathsig=${deathSignal}`, ...who, "--", file, ...args], {
    env,
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let tail = "";
  const hear = (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-8192);
  };
  child.stdout?.on("data", hear);
  child.stderr?.on("data", hear);
  let end: string | undefined;
  const gone = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      end = error.message;
      resolve();
    });
    child.once("exit", (code, signal) => {
      end ??= `ended with ${signal ?? `code ${code}`}`;
      resolve();
    });
  });
  return {
    child,
    said: () => tail.trim(),
    ended: () => end,
    stop: async (signal = "SIGTERM") => {
      if (end === undefined) child.kill(signal);
      const insist = setTimeout(() => child.kill("SIGKILL"), 5000);
      await gone;
      clearTimeout(insist);
    },
  };
}

/** Waits until a daemon answers; if it ends first, or the deadline passes, the error carries what it said. */
export async function ready(
  name: string,
  server: Daemon,
  check: () => Promise<boolean>,
  deadlineMs = PATIENCE_MS,
): Promise<void> {
  const problem = (why: string) => new Error(`${name} ${why}; it said:\n${server.said()}`);
  await poll(
    name,
    async () => {
      if (server.ended()) throw problem(server.ended() ?? "");
      return check();
    },
    deadlineMs,
  ).catch(async (error) => {
    await server.stop("SIGKILL");
    throw server.ended() && !/not within/.test(String(error))
      ? error
      : problem(`was not ready within ${deadlineMs} ms`);
  });
}

/** True when something accepts connections there. */
export function accepts(where: { port: number; host?: string } | { path: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect("port" in where ? { host: "127.0.0.1", ...where } : where);
    socket.once("connect", () => socket.destroy()).once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
}

const given = new Set<number>();

/**
 * A port of 127.0.0.1 that was free a moment ago, for programs that cannot be given port 0. It is below those that the kernel gives to
 * connections (from 32768): one of them could be taken before the program listens, or while a test has it killed and started again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    if (given.has(port) || !(await listens(port))) continue;
    given.add(port);
    return port;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
