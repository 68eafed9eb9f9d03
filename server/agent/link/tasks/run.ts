import { stop } from "../../../base/outcome.ts";
import type { WorkerTask } from "../../../link/exchange.ts";
import type { Leases } from "../../../link/leases.ts";
import { sendResult, type TaskResult } from "../../../link/result.ts";
import type { Session } from "../../../link/session.ts";
import { applicationAction } from "./action.ts";
import { repositoryChanged } from "./changed.ts";
import { applicationDiff } from "./diff.ts";
import { applicationEvents } from "./events.ts";
import { applicationSetGenerate } from "./generate.ts";
import { applicationManifests } from "./manifests.ts";
import { clusterTest, repositoryCharts, repositoryRefs, repositoryTest } from "./repository.ts";
import { applicationResource } from "./resource.ts";
import { applicationRevision } from "./revision.ts";
import type { Read, TaskContext } from "./task.ts";
import { applicationTree } from "./tree.ts";

/** What an agent is asked; everything here only reads, and an action is the controller's to do. */
export const READS: Record<string, Read> = {
  "repository.refs": repositoryRefs,
  "repository.charts": repositoryCharts,
  "repository.test": repositoryTest,
  "repository.changed": repositoryChanged,
  "cluster.test": clusterTest,
  "application.manifests": applicationManifests,
  "application.diff": applicationDiff,
  "application.tree": applicationTree,
  "application.resource": applicationResource,
  "application.action": applicationAction,
  "application.revision": applicationRevision,
  "application.events": applicationEvents,
  "applicationset.generate": applicationSetGenerate,
};

/** Answers one question; the service's deadline is the task's own. */
export async function runRead(tc: TaskContext, task: WorkerTask, session: Session, leases: Leases, signal: AbortSignal): Promise<void> {
  const result = await answer(tc, task);
  await sendResult(session, task, result, signal);
  leases.drop(task);
}

async function answer(tc: TaskContext, task: WorkerTask): Promise<TaskResult> {
  const read = READS[task.kind];
  const limit = task.timeoutSeconds * 1000;
  let timer: NodeJS.Timeout | undefined;
  try {
    const outcome = read
      ? await Promise.race([
          read(tc, task),
          new Promise<ReturnType<typeof stop>>((resolve) => {
            timer = setTimeout(() => resolve(stop("TimedOut", `no answer within ${task.timeoutSeconds} s`)), limit);
          }),
        ])
      : stop("KindUnknown", `this agent does not know ${task.kind}; upgrade it`);
    if (outcome.kind === "done") return { outcome: "succeeded", outputs: outcome.value };
    return { outcome: "failed", reason: outcome.reason.slice(0, 128), message: outcome.message.slice(0, 4_096) };
  } catch (error) {
    tc.ctx.log.error({ task: task.task, kind: task.kind, error: (error as Error).stack }, "a task threw");
    return { outcome: "failed", reason: "InternalError", message: "a defect of the agent; its log has more" };
  } finally {
    clearTimeout(timer);
  }
}
