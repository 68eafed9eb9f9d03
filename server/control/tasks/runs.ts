import { ancestorsOf, type PipelineSpec } from "../../../openapi/rules/pipelines/graph.ts";
import { type ApprovalGiven, countApprovals } from "../domain/approval.ts";
import type { Schemas } from "../domain/nouns.ts";
import { advance, dueAt, type Move, type TaskNow } from "../domain/pipelines/advance.ts";
import type { Database } from "../store/database/sql.ts";
import { type Writer, writing } from "../store/database/writer.ts";
import { type Stored, tryFindByUid, updateObject } from "../store/objects/objects.ts";
import { dueRuns, insertRun, type RunRow, tryLockRun, updateRun } from "../store/runs.ts";
import { createTaskRow } from "./create.ts";
import { toTask, tryLockTask } from "./rows.ts";
import { settle } from "./transition.ts";

/** The topic of commits after which a run may be able to continue. */
export const RUNS = "runs";
export const runTopic = (id: string) => `run:${id}`;

/** As many in one look; the next look takes the rest. */
const AT_ONCE = 100;

/** Starts a run of a pipeline as it is now, with its first steps. */
export async function startRun(
  w: Writer,
  pipeline: Stored,
  inputs: Record<string, string>,
  by: Pick<RunRow, "requestedBy" | "requester">,
): Promise<RunRow> {
  const { account, org, project, id, uid, generation } = pipeline;
  const spec = pipeline.spec as PipelineSpec;
  const run = await insertRun(w, {
    account,
    org,
    project,
    pipeline: id,
    pipelineUid: uid,
    generation,
    inputs,
    spec,
    ...by,
  });
  await showLast(w, run, true);
  return advanceRun(w, run);
}

/**
 * Moves a run on as far as it can go now: the only place that writes its state. The caller holds the row's lock, or has just made it; so
 * the end of a task moves its run on once, however many replicas heard of it, and a step's task appears together with the step's
 * new state or not at all. Locks are taken in the order account, run, task; the end of a task takes the task's alone.
 */
export async function advanceRun(w: Writer, before: RunRow, touched = false): Promise<RunRow> {
  if (before.endedAt) return before;
  const [clock] = await w.query<{ now: Date }>("select outpost_now() as now");
  const now = clock!.now;
  const moves = advance(before.spec, before, await tasksOf(w, before), now);
  const run = structuredClone(before);
  for (const move of moves) await carryOut(w, run, move, now);
  const open = run.steps.filter((step) => step.state === "Running");
  if (!run.endedAt)
    run.state = open.length === 0 && run.steps.some((step) => step.state === "Waiting") ? "Waiting" : "Running";
  // A run out of time is looked at once; after that it waits for its tasks to end.
  const due = dueAt(run.spec, run);
  run.dueAt = !run.endedAt && due > now ? due : undefined;
  const changed = touched || moves.some((move) => move.do !== "cancel");
  if (!changed && run.dueAt?.getTime() === before.dueAt?.getTime()) return before;
  const stored = await updateRun(w, run, run.endedAt ? [] : open.map((step) => step.task!));
  w.notify(run.account, runTopic(run.id));
  if (stored.state !== before.state) await showLast(w, stored, false);
  return stored;
}

async function carryOut(w: Writer, run: RunRow, move: Move, now: Date): Promise<void> {
  if (move.do === "finish") {
    Object.assign(run, { state: move.state, reason: move.reason, message: move.message, endedAt: now });
    return;
  }
  const step = run.steps.find(({ id }) => id === move.step)!;
  const startedAt = now.toISOString();
  if (move.do === "start") {
    const {
      kind,
      params,
      selectors = [],
      timeoutSeconds = 600,
      maxAttempts = 3,
      idempotent = false,
      ...more
    } = move.request;
    const { account, org, project, requestedBy } = run;
    const fixed = {
      account,
      org,
      project,
      kind,
      params,
      selectors,
      timeoutSeconds,
      maxAttempts,
      idempotent,
      requestedBy,
    };
    const approval = approvalOf(run, step.id);
    const named = {
      ...more,
      name: more.name ?? `${run.pipeline}/${step.id}`.slice(0, 128),
      run: run.id,
      step: step.id,
      approval,
    };
    const task = await createTaskRow(w, { ...fixed, ...named });
    Object.assign(step, { state: "Running", task: task.id, startedAt });
  } else if (move.do === "wait")
    Object.assign(step, { state: "Waiting", startedAt, ...(move.message ? { message: move.message } : {}) });
  else if (move.do === "cancel") {
    const task = await tryLockTask(w, run.account, move.task);
    if (task && !task.cancelRequested) await settle(w, task, { type: "cancel" });
  } else {
    const { do: _, step: __, ...end } = move;
    delete step.message;
    Object.assign(step, end, { endedAt: startedAt });
  }
}

/** Who has approved the run in steps that have certainly ended before this one. What a step asked for does not count: who decided does. */
function approvalOf(run: RunRow, id: string): ApprovalGiven | undefined {
  const index = run.spec.steps.findIndex((step) => step.id === id);
  const before = ancestorsOf(run.spec, index);
  const approved = run.steps.filter((step) => before.has(step.id) && step.state === "Succeeded");
  return countApprovals(
    approved.flatMap((step) => step.decisions ?? []),
    run.requester,
  );
}

/** The tasks of the steps that run. They are not locked: a task that ends right after this look wakes the run again. */
async function tasksOf(w: Writer, run: RunRow): Promise<Map<string, TaskNow>> {
  const ids = run.steps.filter((step) => step.state === "Running").map((step) => step.task!);
  if (ids.length === 0) return new Map();
  const rows = await w.query("select * from tasks where account = $1 and id = any($2::text[])", [run.account, ids]);
  return new Map(rows.map((row) => [row.id, toTask(row)]));
}

/** The pipeline shows its newest run; one that began later is not overwritten, one whose pipeline is gone shows nowhere. */
async function showLast(w: Writer, run: RunRow, isNew: boolean): Promise<void> {
  const pipeline = await tryFindByUid(w, run.account, run.pipelineUid);
  const shown = pipeline?.status.lastRun as Schemas["PipelineStatus"]["lastRun"];
  if (!pipeline || (!isNew && shown?.id !== run.id)) return;
  const lastRun = {
    id: run.id,
    state: run.state,
    startedAt: run.createdAt.toISOString(),
    ...(run.endedAt ? { endedAt: run.endedAt.toISOString() } : {}),
  };
  await updateObject(w, { ...pipeline, status: { ...pipeline.status, lastRun } });
}

/**
 * Moves on every run that can continue. It runs after each commit that names the topic `runs`, and each second for what a
 * killed replica has left; any number of replicas may do it at the same time. A run that cannot be moved on does not stop the others.
 */
export async function sweepRuns(
  db: Database,
  account: string,
  failed: (run: string, error: unknown) => void,
): Promise<void> {
  for (const id of await dueRuns(db, account, AT_ONCE))
    await writing(db, account, async (w) => {
      const run = await tryLockRun(w, account, id);
      if (run) await advanceRun(w, run);
    }).catch((error: unknown) => failed(id, error));
}
