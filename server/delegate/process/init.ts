import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { Log } from "../../link/log.ts";
import { runBounded } from "./bounded.ts";

export interface InitOptions {
  script: string;
  workDir: string;
  /** As a task's: the token is not in it. */
  env: Record<string, string>;
  deadlineMs: number;
  log: Log;
  signal: AbortSignal;
}

/**
 * Runs INIT_SCRIPT once, before this delegate looks at what it can do: it installs tools. It is the operator's own and so not in the sandbox,
 * yet bounded in time. A delegate whose preparation failed does not start.
 */
export async function runInit({ script, workDir, env, deadlineMs, log, signal }: InitOptions): Promise<Outcome<void>> {
  const dir = join(workDir, "init");
  const file = join(dir, "script");
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(file, script, { mode: 0o700 });
  const late = AbortSignal.timeout(deadlineMs);
  const mark = `OUTPOST_WORKSPACE=${dir}`;
  const started = performance.now();
  log.info({ seconds: deadlineMs / 1_000 }, "INIT_SCRIPT runs");
  const ran = await runBounded(
    { file: "/bin/sh", args: ["-e", file], cwd: dir, env: { ...env, HOME: env.HOME ?? dir, OUTPOST_WORKSPACE: dir } },
    {
      mark,
      memoryBytes: 0,
      write: (stream, text) => void log.info({ stream }, `INIT_SCRIPT: ${text.slice(0, 4_096)}`),
      signal: AbortSignal.any([signal, late]),
    },
  );
  if (late.aborted)
    return stop("InitFailed", `INIT_SCRIPT did not end within ${deadlineMs / 1_000} s (OUTPOST_INIT_SECONDS)`);
  if (signal.aborted) return stop("Cancelled", "INIT_SCRIPT was ended: the delegate was asked to leave");
  if (ran.kind !== "done") return stop("InitFailed", `INIT_SCRIPT: ${ran.message}`);
  if (ran.value !== 0)
    return stop("InitFailed", `INIT_SCRIPT exited with ${ran.value}; what it said stands in the log above`);
  log.info({ seconds: Math.round((performance.now() - started) / 100) / 10 }, "INIT_SCRIPT has ended");
  return done(undefined);
}
