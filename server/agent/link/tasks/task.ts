import { type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES, type Resource } from "../../../kube/path.ts";
import type { WorkerTask } from "../../../link/exchange.ts";
import { APPLICATION_SET } from "../../appset/reconcile.ts";
import type { LookupDoor } from "../../controller/lookup.ts";
import type { RepoDoor } from "../../repo/types.ts";
import type { Context } from "../context.ts";
import { type Collection, marksOf, nameOf } from "../names.ts";
import type { ReadDoor } from "./reads.ts";

/** What a read task needs. */
export interface TaskContext {
  ctx: Context;
  repo: RepoDoor;
  /** Renders charts that look things up. */
  lookup?: LookupDoor | undefined;
  /** The only hosts that generators of sets may ask; nothing allows all. */
  providers?: readonly string[] | undefined;
}
/** What is asked: the service's task without its lease. */
export type Question = Pick<WorkerTask, "task" | "kind" | "params">;
/** What a task needs that the link carries out itself. */
export interface LinkContext {
  ctx: Context;
  repo: RepoDoor;
  /** Answers what needs rights outside the agent's namespace. */
  reads: ReadDoor;
}
export type LinkRead = (tc: LinkContext, task: Question) => Promise<Outcome<Record<string, unknown>>>;
export type Read = (tc: TaskContext, task: Question) => Promise<Outcome<Record<string, unknown>>>;

const RESOURCE: Partial<Record<Collection, Resource>> = { applications: RESOURCES.application, applicationsets: APPLICATION_SET };

/** The object that a task names; only one that was delivered, and the same one. */
export async function objectOf({ ctx }: Pick<TaskContext, "ctx">, task: Question, collection: Collection): Promise<Outcome<KubeObject>> {
  const { key, uid, name } = task.params as Record<string, unknown>;
  if (typeof key !== "string" || typeof uid !== "string" || (name !== undefined && typeof name !== "string")) {
    return stop("ParamsInvalid", "the task does not name its object; this agent may be older than the service");
  }
  const resource = RESOURCE[collection] ?? RESOURCES.secret;
  const found = await ctx.client.get(resource, ctx.namespace, nameOf({ collection, key, ...(name ? { name } : {}) }));
  if (found.kind === "done" && marksOf(found.value, ctx.account)?.uid === uid) return found;
  if (found.kind !== "done" && found.reason !== "NotFound") return found;
  return stop("NotDelivered", "the agent does not have this object yet: look at its status.delivery");
}
