import { tryLockTask } from "../../tasks/rows.ts";
import { settle } from "../../tasks/transition.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { findTask, showTask } from "./read.ts";
import { writeTask } from "./write.ts";

/** Cancels a task: in the queue at once, while it runs by asking its worker. A task that has ended stays as it is. */
export const cancelTask =
  (s: Services): Handler<"cancelTask"> =>
  async (call) => {
    await writeTask(s, call, async (tx) => {
      const { account, id } = await findTask(tx, call.scope, call.params.task);
      const task = await tryLockTask(tx, account, id);
      if (task) await settle(tx, task, { type: "cancel" });
      return { status: 202 };
    });
    return { status: 202, body: await showTask(s, call, await findTask(s.db, call.scope, call.params.task)) };
  };
