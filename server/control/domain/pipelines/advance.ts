import { parseCondition } from "../../../../openapi/rules/pipelines/condition.ts";
import { splitParams } from "../../../../openapi/rules/pipelines/expression.ts";
import { needsOf, type PipelineSpec, type PipelineStep } from "../../../../openapi/rules/pipelines/graph.ts";
import { personOf } from "../approval.ts";
import type { Schemas } from "../nouns.ts";
import { holds } from "./condition.ts";
import { fitTypes, valueFaults } from "./params.ts";
import { resolve, resolveText, Unresolved, type Values } from "./resolve.ts";

export type RunState = Schemas["Run"]["state"];
export type RunStep = Schemas["RunStep"];
type TaskRequest = Schemas["TaskRequest"];

/** A run as far as the decision needs it. */
export interface RunNow {
  id: string;
  inputs: Readonly<Record<string, string>>;
  steps: readonly RunStep[];
  createdAt: Date;
  /** It was cancelled. */
  cancelRequested: boolean;
}

/** The task of a step that runs. */
export interface TaskNow {
  state: Schemas["Task"]["state"];
  reason?: string | undefined;
  message?: string | undefined;
  outputs?: Record<string, unknown> | undefined;
}

/** One thing to do. Who carries them out in order has the run's next state. */
export type Move =
  /** Make the step's task. */
  | { do: "start"; step: string; request: TaskRequest }
  /** Wait for people. */
  | { do: "wait"; step: string; message?: string }
  | {
      do: "end";
      step: string;
      state: "Succeeded" | "Failed" | "Skipped" | "Cancelled";
      reason?: string;
      message?: string;
      outputs?: Record<string, unknown>;
    }
  /** Ask for the end of the step's task; the step ends when the task has. */
  | { do: "cancel"; step: string; task: string }
  | { do: "finish"; state: Exclude<RunState, "Running" | "Waiting">; reason?: string; message?: string };

const ENDED: readonly RunStep["state"][] = ["Succeeded", "Failed", "Skipped", "Cancelled"];
/** Left out because something before it went wrong: what follows treats it like a failure, where other steps left out count as success. */
export const NEED_FAILED = "NeedFailed";

/**
 * What is to be done with a run now. The same run, tasks and time always give the same moves, and a run that was advanced gives none
 * until something has happened.
 *
 *   Pending   all needs ended, `when` and `condition` hold → a task: Running, an approval: Waiting
 *             `when` does not hold                         → Skipped (NeedFailed: a failure to those behind; NothingFailed: none)
 *             `condition` does not hold                    → Skipped (ConditionFalse)
 *             its parameters cannot be worked out          → Failed
 *   Running   its task ended                               → Succeeded | Cancelled | Failed
 *   Waiting   enough approvals                             → Succeeded
 *             one rejection, or no answer in time          → Failed
 *   any, run cancelled or out of time → Cancelled at once; Running: when its task has ended
 *
 * All ended: the run has Succeeded, or Failed if one step has failed or was cancelled, whatever ran after it.
 */
export function advance(spec: PipelineSpec, run: RunNow, tasks: ReadonlyMap<string, TaskNow>, now: Date): Move[] {
  const steps = new Map<string, RunStep>(run.steps.map((step) => [step.id, { ...step }]));
  const stopped = stopOf(spec, run, now);
  const moves: Move[] = [];
  const make = (move: Move) => {
    moves.push(move);
    if (move.do === "end") Object.assign(steps.get(move.step)!, move);
    if (move.do === "start") steps.get(move.step)!.state = "Running";
    if (move.do === "wait") steps.get(move.step)!.state = "Waiting";
  };

  const next = (step: PipelineSpec["steps"][number], index: number, at: RunStep): Move | undefined => {
    if (at.state === "Running") return running(step, at);
    if (stopped) return { do: "end", step: step.id, state: "Cancelled", ...stopped.step };
    return at.state === "Waiting" ? waiting(step, at) : pending(step, index);
  };

  // A step that ends at once lets others go on; each round ends at least one, so there are no more rounds than steps.
  for (let before = -1; moves.length !== before; ) {
    before = moves.length;
    spec.steps.forEach((step, index) => {
      const at = steps.get(step.id)!;
      if (ENDED.includes(at.state) || moves.some((m) => "step" in m && m.step === step.id && m.do !== "end")) return;
      const move = next(step, index, at);
      if (move) make(move);
    });
  }

  if ([...steps.values()].every((step) => ENDED.includes(step.state)))
    make({ do: "finish", ...(stopped?.run ?? resultOf([...steps.values()])) });
  return moves;

  function running(step: PipelineStep, at: RunStep): Move | undefined {
    const task = tasks.get(at.task ?? "");
    if (task?.state !== "Queued" && task?.state !== "Running") return { do: "end", step: step.id, ...endOf(task) };
    return stopped && { do: "cancel", step: step.id, task: at.task! };
  }

  function waiting(step: PipelineStep, at: RunStep): Move | undefined {
    const { minimum = 1, timeoutSeconds = 86_400 } = step.approval ?? {};
    const end = (state: "Succeeded" | "Failed", reason?: string, message?: string): Move => ({
      do: "end",
      step: step.id,
      state,
      ...(reason ? { reason, message: message! } : {}),
    });
    const decisions = at.decisions ?? [];
    const no = decisions.find((d) => d.decision === "rejected");
    if (no) return end("Failed", "Rejected", `Rejected by ${no.by}${no.comment ? `: ${no.comment}` : ""}`);
    if (new Set(decisions.map(personOf)).size >= minimum) return end("Succeeded");
    const late = at.startedAt && now.getTime() >= Date.parse(at.startedAt) + timeoutSeconds * 1_000;
    return late ? end("Failed", "ApprovalTimedOut", `Not decided within ${timeoutSeconds} s.`) : undefined;
  }

  function pending(step: PipelineStep, index: number): Move | undefined {
    const needs = needsOf(spec, index).map((id) => steps.get(id)!);
    if (!needs.every((need) => ENDED.includes(need.state))) return undefined;
    const skip = (reason: string, message: string): Move => ({
      do: "end",
      step: step.id,
      state: "Skipped",
      reason,
      message,
    });
    const bad = needs.filter(failed);
    if ((step.when ?? "success") === "success" && bad.length > 0)
      return skip(NEED_FAILED, `${bad.map((need) => need.id).join(", ")} did not succeed.`);
    if (step.when === "failure" && bad.length === 0)
      return skip("NothingFailed", "It is for failures, and nothing before it failed.");
    const values: Values = { run: run.id, inputs: run.inputs, steps };
    if (step.condition !== undefined) {
      const parsed = parseCondition(step.condition);
      if ("fault" in parsed || !holds(parsed.condition, values))
        return skip("ConditionFalse", `Its condition does not hold: ${step.condition}`);
    }
    return begin(step, values);
  }
}

/** When a run must be looked at though nothing has happened: its own end of time, or that of an approval. */
export function dueAt(spec: PipelineSpec, run: Pick<RunNow, "createdAt" | "steps">): Date {
  const waits = run.steps
    .filter((step) => step.state === "Waiting" && step.startedAt)
    .map(
      (step) =>
        Date.parse(step.startedAt!) +
        (spec.steps.find((s) => s.id === step.id)?.approval?.timeoutSeconds ?? 86_400) * 1_000,
    );
  return new Date(Math.min(endOfTime(spec, run), ...waits));
}

const endOfTime = (spec: PipelineSpec, run: Pick<RunNow, "createdAt">) =>
  run.createdAt.getTime() + (spec.timeoutSeconds ?? 86_400) * 1_000;

function stopOf(spec: PipelineSpec, run: RunNow, now: Date) {
  if (run.cancelRequested)
    return {
      step: { reason: "RunCancelled", message: "The run was cancelled." },
      run: { state: "Cancelled", reason: "CancelRequested", message: "Somebody cancelled it." },
    } as const;
  if (now.getTime() < endOfTime(spec, run)) return undefined;
  return {
    step: { reason: "RunTimedOut", message: "The run was out of time." },
    run: {
      state: "TimedOut",
      reason: "DeadlineExceeded",
      message: `It took longer than ${spec.timeoutSeconds ?? 86_400} s.`,
    },
  } as const;
}

/** A step of which those behind it must be told that something went wrong. */
const failed = (step: RunStep) =>
  step.state === "Failed" || step.state === "Cancelled" || (step.state === "Skipped" && step.reason === NEED_FAILED);

/** The first move of a step whose time has come. */
function begin(step: PipelineStep, values: Values): Move {
  const fail = (reason: string, message: string): Move => ({
    do: "end",
    step: step.id,
    state: "Failed",
    reason,
    message,
  });
  try {
    if (!step.task) {
      const message = step.approval?.message;
      return {
        do: "wait",
        step: step.id,
        ...(message === undefined ? {} : { message: resolveText(message, values).slice(0, 4_096) }),
      };
    }
    const { kind, name } = step.task;
    const { templates, fixed } = splitParams(kind, step.task.params);
    const params = fitTypes(kind, templates, { ...(resolve(templates, values) as Record<string, unknown>), ...fixed });
    const [fault] = valueFaults(kind, params);
    if (fault) return fail("InvalidParameters", `${fault.pointer}: ${fault.detail}`);
    const named = name === undefined ? {} : { name: resolveText(name, values).slice(0, 128) };
    return { do: "start", step: step.id, request: { ...step.task, params, ...named } };
  } catch (error) {
    if (error instanceof Unresolved) return fail(error.reason, error.message);
    throw error;
  }
}

function endOf(
  task: TaskNow | undefined,
): Pick<Extract<Move, { do: "end" }>, "state" | "reason" | "message" | "outputs"> {
  if (!task) return { state: "Failed", reason: "TaskGone", message: "Its task is no longer there." };
  const { message, outputs } = task;
  const more = { ...(message ? { message } : {}), ...(outputs ? { outputs } : {}) };
  if (task.state === "Succeeded")
    return { state: "Succeeded", ...(task.reason ? { reason: task.reason } : {}), ...more };
  return { state: task.state === "Cancelled" ? "Cancelled" : "Failed", reason: task.reason ?? task.state, ...more };
}

function resultOf(steps: readonly RunStep[]): Pick<Extract<Move, { do: "finish" }>, "state" | "reason" | "message"> {
  const bad = steps.filter((step) => step.state === "Failed" || step.state === "Cancelled");
  if (bad.length === 0) return { state: "Succeeded" };
  const message = bad.map((step) => `${step.id}: ${step.message ?? step.reason ?? step.state}`).join("; ");
  return { state: "Failed", reason: "StepFailed", message: message.slice(0, 4_096) };
}
