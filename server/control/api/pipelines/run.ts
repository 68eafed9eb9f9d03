import type { PipelineSpec } from "../../../../openapi/rules/pipelines/graph.ts";
import { lineageOf, nameOf } from "../../access/authenticate.ts";
import { inputsOf } from "../../domain/pipelines/inputs.ts";
import { tryLockRun, viewRun } from "../../store/runs.ts";
import { advanceRun, startRun } from "../../tasks/runs.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { write } from "../write.ts";
import { findRun } from "./read.ts";

/**
 * Starts a run: the run and the tasks of its first steps appear together. A full queue takes no new run; a run that has begun is
 * never refused its steps, as nothing of it may be dropped.
 */
export const runPipeline =
  (s: Services): Handler<"runPipeline"> =>
  async (call) =>
    write(s, call, async (w) => {
      const pipeline = await findObject(w, "pipelines", call.scope, call.params.id);
      const inputs = inputsOf(pipeline.spec as PipelineSpec, call.body.inputs ?? {});
      await s.bounds.admit(w, call.scope);
      const by = { requestedBy: nameOf(call.caller), requester: lineageOf(call.caller) };
      return { status: 201 as const, body: viewRun(await startRun(w, pipeline, inputs, by)) };
    });

/** Cancels a run: waiting steps never begin, running ones are asked to end. A run that has ended does not change. */
export const cancelRun =
  (s: Services): Handler<"cancelRun"> =>
  async (call) =>
    write(s, call, async (w) => {
      await findRun(w, call.scope, call.params.run);
      const run = (await tryLockRun(w, w.account, call.params.run))!;
      const after = run.cancelRequested ? run : await advanceRun(w, { ...run, cancelRequested: true }, true);
      return { status: 202 as const, body: viewRun(after) };
    });
