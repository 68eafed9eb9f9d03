import { type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES, type Resource } from "../../../kube/path.ts";
import type { WorkerTask } from "../../../link/exchange.ts";
import { APPLICATION_SET } from "../../appset/reconcile/reconcile.ts";
import type { ChartLookup } from "../../controller/deps.ts";
import type { RepoApi } from "../../repo/types.ts";
import type { AgentContext } from "../context.ts";
import { liveObject } from "../discover/live.ts";
import { type Collection, marksOf, nameOf } from "../names.ts";
import { isOurs, notHere } from "../patterns.ts";

/** What a read task needs. */
export interface TaskContext {
  ctx: AgentContext;
  repo: RepoApi;
  /** Renders charts that look things up. */
  lookup?: ChartLookup | undefined;
  /** The only hosts that generators of sets may ask; nothing allows all. */
  providers?: readonly string[] | undefined;
}
/** The question: the service's task without its lease. */
export type Question = Pick<WorkerTask, "task" | "kind" | "params">;
/** Takes one line of an answer; a promise means: wait for it before reading more. */
export type Tell = (stream: "system" | "stdout", text: string) => Promise<void> | undefined;

/**
 * Answers questions that need rights outside the agent's namespace. With the controller in a program of its own, the controller answers:
 * the link, which talks to the outside, has none of these rights. Everything behind this door only reads.
 */
export interface QueryApi {
  answer(account: string, question: Question, signal: AbortSignal): Promise<Outcome<Record<string, unknown>>>;
  logs(account: string, question: Question, tell: Tell, signal: AbortSignal): Promise<Outcome<undefined>>;
}

/** What a task needs that the link carries out itself. */
export interface LinkContext {
  ctx: AgentContext;
  repo: RepoApi;
  /** Answers what needs rights outside the agent's namespace. */
  reads: QueryApi;
  /** There is only the link, beside an Argo CD. */
  beside?: boolean;
  /** Tells the service what is in the agent's namespaces. */
  discovery?: { again(): void };
}
export type LinkRead = (tc: LinkContext, task: Question) => Promise<Outcome<Record<string, unknown>>>;
export type Read = (tc: TaskContext, task: Question) => Promise<Outcome<Record<string, unknown>>>;

const RESOURCE: Partial<Record<Collection, Resource>> = {
  applications: RESOURCES.application,
  applicationsets: APPLICATION_SET,
};

/** The object that a task names, and the same one: one that was delivered, or one that was discovered. */
export async function objectOf(
  { ctx }: Pick<TaskContext, "ctx">,
  task: Question,
  collection: Collection,
): Promise<Outcome<KubeObject>> {
  const { key, uid, name, namespace, live } = task.params as Record<string, unknown>;
  if (live !== undefined) return liveObject(ctx, live, RESOURCE[collection] ?? RESOURCES.secret, collection);
  if (typeof key !== "string" || typeof uid !== "string" || (name !== undefined && typeof name !== "string")) {
    return stop("ParamsInvalid", "the task does not name its object; this agent may be older than the service");
  }
  const resource = RESOURCE[collection] ?? RESOURCES.secret;
  // A taken-over object has its own name and namespace.
  const adopted = typeof namespace === "string" && name !== undefined;
  if (adopted && !(await isOurs(ctx, resource.kind, namespace))) return stop("NotDelivered", notHere(namespace));
  const at = adopted ? name : nameOf({ collection, key, ...(name ? { name } : {}) });
  const found = await ctx.client.get(resource, adopted ? namespace : ctx.namespace, at);
  if (found.kind === "done" && marksOf(found.value, ctx.account)?.uid === uid) return found;
  if (found.kind !== "done" && found.reason !== "NotFound") return found;
  return stop("NotDelivered", "the agent does not have this object yet: look at its status.delivery");
}
