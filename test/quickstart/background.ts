import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { alive, type Owner, owner } from "../cluster/process.ts";
import { until } from "../servers/run.ts";

// The embedded store is made on the first start, which takes a quarter of a minute on a busy machine.
const READY_MS = 240_000;

/** A program that goes on when the command has ended; found again by its number and start time. */
export interface Background {
  process: Owner;
  log: string;
}

/** Starts a program in a session of its own, so that neither Ctrl-C nor the end of the terminal reaches it. */
export async function startBackground(
  name: string,
  command: string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  ready: () => Promise<boolean>,
  logs: string,
): Promise<Background> {
  mkdirSync(logs, { recursive: true });
  const log = join(logs, `${name}.log`);
  const out = openSync(log, "a", 0o600);
  const child = spawn(command[0]!, command.slice(1), { cwd, env, detached: true, stdio: ["ignore", out, out] });
  closeSync(out);
  let ended: string | undefined;
  child.once("error", (error) => {
    ended = error.message;
  });
  child.once("exit", (code, signal) => {
    ended = `it ended with ${signal ?? `code ${code}`}`;
  });
  child.unref();
  const process_ = child.pid === undefined ? undefined : owner(child.pid);
  await until(
    name,
    async () => {
      if (ended || !process_) throw new Error(`${name} did not start: ${ended}\n${tail(log)}`);
      return ready();
    },
    READY_MS,
  ).catch((error: Error) => {
    if (child.pid) stopNow(child.pid);
    throw error.message.includes("did not start")
      ? error
      : new Error(`${name} did not become ready within ${READY_MS / 1_000} s\n${tail(log)}`);
  });
  return { process: process_!, log };
}

export const runs = (background: Background | undefined): background is Background =>
  background !== undefined && alive(background.process);

/** Asks, and insists after ten seconds. */
export async function stopBackground(background: Background | undefined): Promise<boolean> {
  if (!runs(background)) return false;
  const { process: it } = background;
  process.kill(it.pid, "SIGTERM");
  await until("its end", () => !alive(it), 10_000).catch(async () => {
    stopNow(it.pid);
    await until("its end", () => !alive(it), 5_000);
  });
  return true;
}

function stopNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function tail(file: string): string {
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-20).join("\n");
}
