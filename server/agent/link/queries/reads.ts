import { stop } from "../../../base/outcome.ts";
import { objectBeside, outOfSync } from "./beside.ts";
import { applicationDiff } from "./diff.ts";
import { applicationSetGenerate } from "./generate.ts";
import { applicationEvents } from "./logs/events.ts";
import { applicationLogs } from "./logs/log-streams.ts";
import { applicationManifests } from "./manifests.ts";
import { applicationRevision } from "./revision.ts";
import type { QueryApi, Read, TaskContext } from "./task.ts";
import { applicationResource } from "./tree/resource.ts";
import { applicationTree } from "./tree/tree.ts";

export const READS: Record<string, Read> = {
  "application.manifests": applicationManifests,
  "application.diff": applicationDiff,
  "application.tree": applicationTree,
  "application.resource": applicationResource,
  "application.revision": applicationRevision,
  "application.events": applicationEvents,
  "applicationset.generate": applicationSetGenerate,
};

/** Beside Argo CD nothing is rendered or acted on: a difference is what Argo CD found. */
export const READS_BESIDE: Record<string, Read> = {
  ...READS,
  "application.diff": outOfSync,
  "application.resource": objectBeside,
};

/** Answers in this process, with its own rights. The account is the one that delivered the objects; it comes with each question. */
export function localReads(
  parts: Omit<TaskContext, "ctx"> & { ctx: Omit<TaskContext["ctx"], "account"> },
  questions: Record<string, Read> = READS,
): QueryApi {
  const contextOf = (account: string): TaskContext => ({ ...parts, ctx: { ...parts.ctx, account } });
  return {
    answer: async (account, question) =>
      questions[question.kind]?.(contextOf(account), question) ?? unknownKind(question.kind),
    logs: (account, question, tell, signal) => applicationLogs(contextOf(account), question, tell, signal),
  };
}

export const unknownKind = (kind: string) => stop("KindUnknown", `this agent does not know ${kind}; upgrade it`);
