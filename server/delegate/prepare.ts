import type { Logger } from "pino";
import { done, type Outcome, stop } from "../base/outcome.ts";
import type { Settings } from "./config/settings.ts";
import { capabilities } from "./kinds/table.ts";
import { findGroups } from "./process/cgroup.ts";
import { Resources } from "./process/headroom.ts";
import { runInit } from "./process/init.ts";
import { openSandbox } from "./sandbox/sandbox.ts";
import type { SecretScopes } from "./secrets/scopes.ts";
import type { Secrets } from "./secrets/secrets.ts";
import { baseEnv, CaBundle } from "./task/task-env.ts";
import { Workspaces } from "./workspace.ts";

/** What a delegate is started with, besides its settings. */
export interface Given {
  env: NodeJS.ProcessEnv;
  secrets: Secrets;
  scopes: SecretScopes;
  /** Files that hold the sources' own credentials: closed to tasks. */
  closed: readonly string[];
  log: Logger;
}

/** What tasks run with on this machine. */
export type Prepared = Extract<Awaited<ReturnType<typeof prepare>>, { kind: "done" }>["value"];

/** Runs the init script, finds what this machine can do, and opens the sandbox. Stops with a reason for the person who started it. */
export async function prepare(settings: Settings, { env, closed, log }: Given, signal: AbortSignal) {
  const { workDir, bounds, sandbox: mode } = settings;
  const bundle = new CaBundle(env.OUTPOST_CA_FILE || undefined, workDir);
  const caBundle = () => bundle.path();
  const initialised = await initialise(
    settings,
    () => baseEnv({ env, more: settings.taskEnv, caBundle: caBundle() }),
    log,
    signal,
  );
  if (initialised.kind !== "done") return initialised;
  // Node does not reap what tasks leave to the first process of a container.
  if (process.pid === 1)
    log.warn(
      {},
      "this is process 1: run it below an init (docker run --init, shareProcessNamespace), or ended processes pile up",
    );
  const workspaces = new Workspaces(workDir);
  const left = await workspaces.start();
  if (left) log.warn({ processes: left }, "ended what an earlier delegate in this folder had left running");
  const sandbox = await openSandbox({ mode, env, workDir, processes: bounds.processes, caBundle, closed, log });
  if (mode === "required" && sandbox.level === "none")
    return stop(
      "NoSandbox",
      `there is no sandbox for tasks here, and OUTPOST_SANDBOX requires one: ${sandbox.findings[0]?.why}`,
    );
  const { able, lacking } = await capabilities(env, sandbox);
  for (const { kind, why } of lacking) log.warn({ kind }, `this delegate cannot run ${kind}: ${why}`);
  const groups = findGroups();
  const bounded = groups
    ? "the kernel bounds each task's memory and processes"
    : "no control groups here: tasks are watched";
  log.info({ groups: groups?.kind ?? "none" }, bounded);
  const resources = new Resources({
    dir: workDir,
    ...settings.thresholds,
    looked: (diskFull) => workspaces.tidy(diskFull),
    log,
  });
  await resources.ready;
  return done({ able, lacking, caBundle, workspaces, sandbox, groups, resources });
}

async function initialise(
  { initScript: script, initMs: deadlineMs, workDir }: Settings,
  env: () => Record<string, string>,
  log: Logger,
  signal: AbortSignal,
): Promise<Outcome<unknown>> {
  return script ? runInit({ script, workDir, env: env(), deadlineMs, log, signal }) : done(undefined);
}
