import { tryLockTask } from "../../tasks/rows.ts";
import { settle } from "../../tasks/settle.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { write } from "../write.ts";
import { findTask, showTask } from "./read.ts";

/** Cancels a task: in the queue at once, while it runs by asking its worker. A task that has ended stays as it is. */
export const cancelTask =
  (s: Services): Handler<"cancelTask"> =>
  async (call) => {
    await write(s, call, async (w) => {
      await findTask(w, call.scope, call.params.task);
      const task = await tryLockTask(w, w.account, call.params.task);
      if (task) await settle(w, task, { type: "cancel" });
      return { status: 202 };
    });
    return { status: 202, body: await showTask(s, call, await findTask(s.db, call.scope, call.params.task)) };
  };
