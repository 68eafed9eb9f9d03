import { Redactor } from "../../base/crypto/redact.ts";
import type { WorkerTask } from "../../link/exchange.ts";
import type { Log } from "../../link/log.ts";
import { LogShipper } from "../../link/logs.ts";
import { sendResult, type TaskResult } from "../../link/result.ts";
import type { Session } from "../../link/session.ts";
import type { Bounds } from "../config/settings.ts";
import type { RunOptions, TaskContext, TaskKindHandler } from "../kind.ts";
import { tryKind } from "../kinds/table.ts";
import type { WriteLine } from "../process/bounded.ts";
import type { Group, Groups } from "../process/cgroup.ts";
import { outOfMemory, watchLimits } from "../process/limits.ts";
import type { Mark } from "../process/tree.ts";
import type { Sandbox } from "../sandbox/protection.ts";
import { RedactedOutput } from "../secrets/output.ts";
import type { SecretScopes } from "../secrets/scopes.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { endWorkspace, type Workspace, type Workspaces } from "../workspace.ts";
import { collect } from "./collect.ts";
import { BoundedOutput } from "./output.ts";
import type { Stop } from "./stop.ts";
import { ownEnv, taskEnv } from "./task-env.ts";
import { makeToolkit } from "./toolkit.ts";

export interface TaskOptions {
  session: Session;
  workspaces: Workspaces;
  bounds: Bounds;
  env: NodeJS.ProcessEnv;
  moreEnv: readonly string[];
  caBundle(): string | undefined;
  secrets: Secrets;
  scopes: SecretScopes;
  sandbox: Sandbox;
  /** Where the kernel can bound a task's tree as one. */
  groups?: Groups | undefined;
  log: Log;
}

/** How a task ended here; `rejected` when no delegate could do it, `lost` when the service has given it up or taken it away, and nothing was reported. */
export type Ended = TaskResult["outcome"] | "rejected" | "lost";

/** Reasons for a task that was not begun. */
const REJECTED = new Set(["KindUnknown", "ParamsInvalid"]);

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
      else
        log.warn(
          { task: task.task, reason: failure.reason },
          `the service rejects this task's log: ${failure.message}`,
        );
    },
  });
  const redactor = new Redactor();
  const timer = setTimeout(() => stop.end("timedOut"), task.timeoutSeconds * 1_000);
  let result: TaskResult;
  let workspace: Workspace | undefined;
  try {
    workspace = workspaces.open(task);
    await options.sandbox.enter(workspace);
    result = await carryOut(task, stop, { ...options, workspace, shipper, redactor });
  } catch (error) {
    const message = redactor.text((error as Error).message);
    log.error({ task: task.task, error: message }, "a task could not be carried out");
    result = {
      outcome: "failed",
      reason: "DelegateFailed",
      message: `the delegate could not carry it out: ${message}`,
    };
  } finally {
    clearTimeout(timer);
    if (workspace) {
      await endWorkspace(workspace);
      await options.sandbox.leave(workspace);
      workspaces.close(workspace);
    }
  }
  if (stop.report.aborted) return "lost";
  await shipper.end();
  const report = { ...bounded(masked(result, redactor)), ...(shipped ? { lastLog: shipper.last } : {}) };
  let sent = await sendResult(session, task, report, stop.report);
  if (sent.kind === "stop" && /^(body_too_large|invalid_)/.test(sent.reason)) {
    // A result without outputs is better than no result.
    const { outputs: _, ...rest } = report;
    sent = await sendResult(
      session,
      task,
      { ...rest, message: `the service refused its outputs: ${sent.message}`.slice(0, 4_096) },
      stop.report,
    );
  }
  if (sent.kind === "done") return REJECTED.has(result.reason ?? "") ? "rejected" : result.outcome;
  if (!stop.report.aborted)
    log.warn({ task: task.task, reason: sent.reason }, `the service rejects the task's result: ${sent.message}`);
  return "lost";
}

type Parts = TaskOptions & { workspace: Workspace; shipper: LogShipper; redactor: Redactor; group?: Group | undefined };

async function carryOut(task: WorkerTask, stop: Stop, parts: Parts): Promise<TaskResult> {
  const kind = tryKind(task.kind);
  if (!kind)
    return {
      outcome: "failed",
      reason: "KindUnknown",
      message: `this delegate does not know tasks of the kind ${task.kind}; it may be older than the service`,
    };
  const { redactor } = parts;
  if (task.token) redactor.add(task.token);
  const resolved = await parts.secrets.resolve({
    params: task.params,
    plain: kind.plain,
    // The scope is part of what the service has signed.
    refuses: (reference) => parts.scopes.refuses(reference, task.scope),
    redactor,
    signal: stop.work,
  });
  if (stop.why) return stopped(stop, task);
  if (resolved.kind !== "done") return { outcome: "failed", reason: resolved.reason, message: resolved.message };
  const params = resolved.value;
  if (!kind.validate(params)) {
    const fault = kind.validate.errors?.[0];
    return {
      outcome: "failed",
      reason: "ParamsInvalid",
      message: `/params${fault?.instancePath ?? ""} ${fault?.message ?? "does not fit the contract"}`,
    };
  }
  const watching = new AbortController();
  let mark: (() => Mark) | undefined;
  const group = parts.groups?.open(parts.bounds);
  const watched = watchLimits({
    group,
    bounds: parts.bounds,
    workspace: parts.workspace,
    mark: () => mark?.(),
    exceeded: ({ reason, message }) => stop.end(reason, message),
    signal: watching.signal,
  });
  try {
    const result = await runKind(
      kind,
      { ...task, params: params as WorkerTask["params"] },
      stop,
      { ...parts, group },
      (now) => {
        mark = now;
      },
    );
    watching.abort();
    await watched;
    // A script may end well though the kernel has ended a part of it.
    if (group?.exceeded() === "MemoryExceeded" && !stop.why)
      stop.end("MemoryExceeded", outOfMemory(parts.bounds).message);
    return stop.why ? stopped(stop, task) : result;
  } finally {
    watching.abort();
    void group?.close();
  }
}

async function runKind(
  kind: TaskKindHandler,
  task: WorkerTask,
  stop: Stop,
  parts: Parts,
  started: (mark: () => Mark) => void,
): Promise<TaskResult> {
  const { bounds, workspace, shipper, redactor } = parts;
  const output = new BoundedOutput(bounds.outputBytes, (stream, text) => shipper.write(stream, text));
  const redacted = new RedactedOutput(redactor, output.write);
  const base = { memoryBytes: bounds.memoryBytes, enter: parts.group?.enter, started, signal: stop.work };
  const own = ownEnv(task, workspace);
  const { close, ...toolkit } = makeToolkit({ ...parts, task, signal: stop.work, context: () => context });
  const context: TaskContext = {
    ...toolkit,
    workspace,
    own,
    env: taskEnv({ env: parts.env, more: parts.moreEnv, task, workspace, caBundle: parts.caBundle() }),
    write: redacted.write,
    mask: (value) => redactor.add(value),
    masked: (text) => redactor.text(text),
    run: (file, args, { cwd = workspace.work, env = context.env, seen, users, write = redacted.write } = {}) =>
      parts.sandbox.run(workspace, { file, args, cwd, env, users }, { ...base, write: shown(write, seen) }),
    ask: (file, args, { cwd = workspace.work, env = context.env, seen } = {}) =>
      collect(
        (write) => parts.sandbox.run(workspace, { file, args, cwd, env }, { ...base, write }),
        shown(redacted.write, seen),
      ),
  };
  try {
    return await kind.run(task.params, context);
  } finally {
    await close();
    await redacted.end();
    if (output.left) await output.write("system", `[${output.left} lines were not kept]`);
  }
}

const shown = (write: WriteLine, seen: RunOptions["seen"]): WriteLine =>
  seen
    ? (stream, text) => {
        seen(stream, text);
        return write(stream, text);
      }
    : write;

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

/** Without secrets; the outcome and its reason are constants. */
function masked(result: TaskResult, redactor: Redactor): TaskResult {
  const { message, outputs } = result;
  return {
    ...result,
    ...(message === undefined ? {} : { message: redactor.text(message) }),
    ...(outputs === undefined ? {} : { outputs: redactor.value(outputs) }),
  };
}

// The contract's lengths; a kind's message may quote anything.
function bounded(result: TaskResult): TaskResult {
  return { ...result, ...(result.message === undefined ? {} : { message: result.message.slice(0, 4_096) }) };
}
