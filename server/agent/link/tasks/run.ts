import { done, stop } from "../../../base/outcome.ts";
import type { WorkerTask } from "../../../link/exchange.ts";
import type { Leases } from "../../../link/leases.ts";
import { sendResult, type TaskResult } from "../../../link/result.ts";
import type { Session } from "../../../link/session.ts";
import { refusedBeside } from "../queries/beside.ts";
import { READS, unknownKind } from "../queries/reads.ts";
import type { LinkContext, LinkRead } from "../queries/task.ts";
import { applicationAction } from "./action.ts";
import { repositoryChanged } from "./changed.ts";
import { applicationOperate } from "./operate.ts";
import { clusterTest, repositoryCharts, repositoryRefs, repositoryTest } from "./repository.ts";

/** Questions that the link answers itself, from its namespace and the repo server. An action is the controller's to do. */
const OWN: Record<string, LinkRead> = {
  "repository.refs": repositoryRefs,
  "repository.charts": repositoryCharts,
  "repository.test": repositoryTest,
  "repository.changed": repositoryChanged,
  "cluster.test": clusterTest,
  "application.action": applicationAction,
  "application.operate": applicationOperate,
  "discovered.tell": async ({ discovery }) => {
    discovery?.again();
    return done({});
  },
};

/** Answers one question; the service's deadline is the task's own. */
export async function runRead(
  tc: LinkContext,
  task: WorkerTask,
  session: Session,
  leases: Leases,
  signal: AbortSignal,
): Promise<void> {
  const result = await answer(tc, task);
  await sendResult(session, task, result, signal);
  leases.drop(task);
}

async function answer(tc: LinkContext, task: WorkerTask): Promise<TaskResult> {
  const limit = task.timeoutSeconds * 1000;
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  try {
    const outcome = await Promise.race([
      read(tc, task, over.signal),
      new Promise<ReturnType<typeof stop>>((resolve) => {
        timer = setTimeout(() => resolve(stop("TimedOut", `no answer within ${task.timeoutSeconds} s`)), limit);
      }),
    ]);
    if (outcome.kind === "done") return { outcome: "succeeded", outputs: outcome.value };
    return { outcome: "failed", reason: outcome.reason.slice(0, 128), message: outcome.message.slice(0, 4_096) };
  } catch (error) {
    tc.ctx.log.error({ task: task.task, kind: task.kind, error: (error as Error).stack }, "a task threw");
    return { outcome: "failed", reason: "InternalError", message: "a defect of the agent; its log has more" };
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

async function read(tc: LinkContext, task: WorkerTask, signal: AbortSignal) {
  const refused = tc.beside ? refusedBeside(task.kind) : undefined;
  if (refused) return refused;
  const own = OWN[task.kind];
  if (own) return own(tc, task);
  // What the controller does not know is not asked of it.
  return READS[task.kind] ? tc.reads.answer(tc.ctx.account, task, signal) : unknownKind(task.kind);
}
