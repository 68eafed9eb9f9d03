import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { pause } from "../../../base/process/pause.ts";
import { KUBE } from "../../../kube/errors.ts";
import { conditionsOf } from "../../../kube/health/types.ts";
import { describe, type KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { patiently } from "../../config/retry.ts";
import type { TaskContext } from "../../kind.ts";
import type { Cluster } from "./cluster.ts";
import { explain } from "./explain.ts";
import type { TaskObject } from "./targets.ts";

export interface Deleted {
  object: KubeObject;
  /** Undefined: the kind itself is not there any more. */
  resource: Resource | undefined;
  uid?: string;
  result: "deleted" | "absent";
}

const POLICIES = { foreground: "Foreground", background: "Background", orphan: "Orphan" } as const;
const LOOK_MS = 500;
const SAY_MS = 5_000;
const PATIENCE_MS = 60_000;

export interface DeleteOptions {
  cluster: Cluster;
  propagation: keyof typeof POLICIES;
  signal: AbortSignal;
}

/** A missing object counts as deleted. */
export async function deleteOne({ object, resource }: TaskObject, options: DeleteOptions): Promise<Outcome<Deleted>> {
  const absent = done<Deleted>({ object, resource, result: "absent" });
  if (!resource) return absent;
  const { cluster, propagation, signal } = options;
  const { namespace, name } = object.metadata;
  const ask = () => cluster.client.delete(resource, namespace, name, { propagation: POLICIES[propagation] });
  const answer = await patiently(ask, signal, PATIENCE_MS);
  if (answer.kind !== "done")
    return [KUBE.notFound, KUBE.namespaceNotFound].includes(answer.reason as "NotFound") ? absent : answer;
  const { metadata, details } = answer.value as Partial<KubeObject> & { details?: { uid?: string } };
  const uid = metadata?.uid ?? details?.uid;
  return done({ object, resource, result: "deleted", ...(uid ? { uid } : {}) });
}

/** Waits until all are gone, or others are in their place; a failure tells what holds them. */
export async function waitGone(
  all: readonly Deleted[],
  { cluster, context, until }: { cluster: Cluster; context: TaskContext; until: number },
): Promise<Failure | undefined> {
  const pending = new Map(all.filter(({ result }) => result === "deleted").map((one) => [one, ""]));
  let said = "";
  let sayAt = performance.now() + SAY_MS;
  while (pending.size && !context.signal.aborted) {
    for (const one of pending.keys()) {
      const { namespace, name } = one.object.metadata;
      const read = await cluster.client.get(one.resource!, namespace, name);
      if (read.kind === "done" && (!one.uid || read.value.metadata.uid === one.uid))
        pending.set(one, holder(read.value));
      else if (read.kind === "done" || read.reason === KUBE.notFound || read.reason === KUBE.kindNotFound)
        pending.delete(one);
      else if (read.kind === "stop") {
        const { reason, message } = explain(read, describe(one.object));
        return stop(reason, `${message} (it is read to wait for its end; \`wait: false\` does without)`);
      }
    }
    const text = [...pending]
      .slice(0, 3)
      .map(([{ object }, why]) => `${describe(object)} is still there${why ? `: ${why}` : ""}`)
      .join("; ");
    const more = pending.size > 3 ? `; and ${pending.size - 3} more` : "";
    if (pending.size && performance.now() > until)
      return stop("NotGone", `not gone in the task's time: ${text}${more}`);
    if (performance.now() > sayAt && text !== said) {
      sayAt = performance.now() + SAY_MS;
      said = text;
      await context.progress(`waiting: ${text}${more}`);
    }
    if (pending.size) await pause(LOOK_MS, context.signal);
  }
  return undefined;
}

/** What keeps an object that has been deleted. */
function holder(object: KubeObject): string {
  const left = conditionsOf(object).filter(
    (c) => c.status === "True" && /ContentRemaining|FinalizersRemaining|Failure/.test(c.type ?? ""),
  );
  if (left.length) return left.map((c) => c.message).join("; ");
  const finalizers = object.metadata.finalizers?.filter((name) => name !== "foregroundDeletion") ?? [];
  if (finalizers.length) return `the finalizers ${finalizers.join(", ")} hold it until their controllers take them off`;
  return object.metadata.finalizers?.length ? "what belongs to it is being deleted" : "";
}
