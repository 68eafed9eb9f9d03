import type { WorkerTask } from "../link/exchange.ts";
import type { Log } from "../link/log.ts";
import { LogShipper } from "../link/logs.ts";
import { sendResult, type TaskResult } from "../link/result.ts";
import type { Session } from "../link/session.ts";
import { runBounded } from "./bounded.ts";
import { collect } from "./collect.ts";
import type { Context, Kind } from "./kinds/kind.ts";
import { tryKind } from "./kinds/table.ts";
import { watchLimits } from "./limits.ts";
import { BoundedOutput } from "./output.ts";
import type { Bounds } from "./settings.ts";
import type { Stop } from "./stop.ts";
import { ownEnv, taskEnv } from "./task-env.ts";
import type { Mark } from "./tree.ts";
import { endWorkspace, type Workspace, type Workspaces } from "./workspace.ts";

export interface TaskOptions {
  session: Session;
  workspaces: Workspaces;
  bounds: Bounds;
  env: NodeJS.ProcessEnv;
  moreEnv: readonly string[];
  caBundle(): string | undefined;
  log: Log;
}

/** How a task ended here; `lost` when the service has given it up or taken it away, and nothing was reported. */
export type Ended = TaskResult["outcome"] | "lost";

/** One task from its lease to its result: workspace, bounds, log, processes, and only then the word to the service. */
export async function runTask(task: WorkerTask, stop: Stop, options: TaskOptions): Promise<Ended> {
  const { session, workspaces, log } = options;
  let shipped = true;
  const shipper = new LogShipper({
    session,
    lease: task,
    signal: stop.report,
    refused: (failure) => {
      shipped = false;
      if (failure.reason === "stale_fence") stop.end("lost");
      else log.warn({ task: task.task, reason: failure.reason }, `the service does not take this task's log: ${failure.message}`);
    },
  });
  const timer = setTimeout(() => stop.end("timedOut"), task.timeoutSeconds * 1_000);
  let result: TaskResult;
  let workspace: Workspace | undefined;
  try {
    workspace = workspaces.open(task);
    result = await carryOut(task, stop, { ...options, workspace, shipper });
  } catch (error) {
    log.error({ task: task.task, error: (error as Error).message }, "a task could not be carried out");
    result = { outcome: "failed", reason: "DelegateFailed", message: `the delegate could not carry it out: ${(error as Error).message}` };
  } finally {
    clearTimeout(timer);
    if (workspace) {
      await endWorkspace(workspace);
      workspaces.close(workspace);
    }
  }
  if (stop.report.aborted) return "lost";
  await shipper.end();
  const report = { ...bounded(result), ...(shipped ? { lastLog: shipper.last } : {}) };
  let sent = await sendResult(session, task, report, stop.report);
  if (sent.kind === "stop" && /^(body_too_large|invalid_)/.test(sent.reason)) {
    // Better an end without its outputs than none.
    const { outputs: _, ...rest } = report;
    sent = await sendResult(
      session,
      task,
      { ...rest, message: `the service refused its outputs: ${sent.message}`.slice(0, 4_096) },
      stop.report,
    );
  }
  if (sent.kind === "done") return result.outcome;
  if (!stop.report.aborted)
    log.warn({ task: task.task, reason: sent.reason }, `the service does not take the task's result: ${sent.message}`);
  return "lost";
}

type Parts = TaskOptions & { workspace: Workspace; shipper: LogShipper };

async function carryOut(task: WorkerTask, stop: Stop, parts: Parts): Promise<TaskResult> {
  const kind = tryKind(task.kind);
  if (!kind)
    return {
      outcome: "failed",
      reason: "KindUnknown",
      message: `this delegate does not know tasks of the kind ${task.kind}; it may be older than the service`,
    };
  if (!kind.validate(task.params)) {
    const fault = kind.validate.errors?.[0];
    return {
      outcome: "failed",
      reason: "ParamsInvalid",
      message: `/params${fault?.instancePath ?? ""} ${fault?.message ?? "does not fit the contract"}`,
    };
  }
  const watching = new AbortController();
  let mark: (() => Mark) | undefined;
  const watched = watchLimits({
    bounds: parts.bounds,
    workspace: parts.workspace,
    mark: () => mark?.(),
    exceeded: ({ reason, message }) => stop.end(reason, message),
    signal: watching.signal,
  });
  const result = await runKind(kind, task, stop, parts, (now) => {
    mark = now;
  });
  watching.abort();
  await watched;
  return stop.why ? stopped(stop, task) : result;
}

async function runKind(kind: Kind, task: WorkerTask, stop: Stop, parts: Parts, started: (mark: () => Mark) => void): Promise<TaskResult> {
  const { bounds, workspace, shipper } = parts;
  const output = new BoundedOutput(bounds.outputBytes, (stream, text) => shipper.write(stream, text));
  const base = { mark: workspace.mark, memoryBytes: bounds.memoryBytes, started, signal: stop.work };
  const own = ownEnv(task, workspace);
  const context: Context = {
    workspace,
    own,
    env: taskEnv({ env: parts.env, more: parts.moreEnv, task, workspace, caBundle: parts.caBundle() }),
    write: output.write,
    run: (file, args, { cwd = workspace.work, env = context.env } = {}) =>
      runBounded({ file, args, cwd, env }, { ...base, write: output.write }),
    ask: (file, args, { cwd = workspace.work, env = context.env } = {}) =>
      collect((write) => runBounded({ file, args, cwd, env }, { ...base, write }), output.write),
  };
  const result = await kind.run(task.params, context);
  if (output.left) await output.write("system", `[${output.left} lines were not kept]`);
  return result;
}

/** What a task that was ended from outside reports. */
function stopped({ why, message }: Stop, { timeoutSeconds }: WorkerTask): TaskResult {
  switch (why) {
    case "cancelled":
      return { outcome: "cancelled", reason: "Cancelled", message: "It was cancelled; its processes have ended." };
    case "timedOut":
      return {
        outcome: "timedOut",
        reason: "DeadlineExceeded",
        message: `It did not end within ${timeoutSeconds} s; its processes were ended.`,
      };
    default:
      return { outcome: "failed", reason: why!, message: `It was ended: ${message ?? why}` };
  }
}

// The contract's lengths; a kind's message may quote anything.
function bounded(result: TaskResult): TaskResult {
  return { ...result, ...(result.message === undefined ? {} : { message: result.message.slice(0, 4_096) }) };
}
