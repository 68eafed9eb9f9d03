import { nameOf } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { ENDED } from "../../domain/tasks.ts";
import { createTaskRow } from "../../tasks/create.ts";
import { viewTask } from "../../tasks/rows.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { findTask } from "./read.ts";
import { writeTask } from "./write.ts";

/** Queues a new task with what an ended one was asked for. The old one stays as it is: what it did is history. */
export const retryTask =
  (s: Services): Handler<"retryTask"> =>
  async (call) =>
    writeTask(s, call, async (tx) => {
      // An approval was given to the run's task, and not to another one that is sent later.
      const { run, step, approval, ...old } = await findTask(tx, call.scope, call.params.task);
      if (!ENDED.includes(old.state))
        throw new Problem(
          "conflict",
          `The task is ${old.state}. Wait for its end, or cancel it, before it is queued once more.`,
        );
      await s.bounds.admit(tx, call.scope);
      const task = await createTaskRow(tx, { ...old, requestedBy: nameOf(call.caller), retryOf: old.id });
      return { status: 201 as const, body: viewTask(task) };
    });
