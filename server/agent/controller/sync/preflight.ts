import type { Failure } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf } from "../../../kube/object.ts";
import type { ResourceResult } from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import type { Destination } from "../destination.ts";
import { syncOption } from "../order.ts";
import { unmanaged } from "../projects.ts";
import { broughtKinds, type Task } from "../tasks.ts";
import { missingKind } from "./messages.ts";

interface Sync {
  targets: readonly CompareTarget[];
  destination: Destination;
  /** Kinds that cannot be seen: whether the cluster has them is not known. */
  unseen: ReadonlyMap<string, Failure>;
}

interface Wrong {
  task: Task;
  result: Pick<ResourceResult, "reason" | "message">;
}

/**
 * Errors that are known for any task of any phase and wave, before the first one runs. It makes no request: which
 * kinds the cluster has was found out when the objects were read.
 */
export function preflight(sync: Sync, tasks: readonly Task[], options: readonly string[]): Wrong[] {
  const brought = broughtKinds(sync.targets);
  return tasks.flatMap((task) => {
    const result = task.target && wrongWith(task, task.target, sync, brought, options);
    return result ? [{ task, result }] : [];
  });
}

function wrongWith(
  { object }: Task,
  { problem, resource }: CompareTarget,
  { destination, unseen }: Sync,
  brought: ReadonlySet<string>,
  options: readonly string[],
): Wrong["result"] | undefined {
  const refused = destination.refuse?.(object, resource);
  if (refused) return { reason: "NotPermitted", message: refused };
  const outside = unmanaged(destination, object, resource);
  if (outside) return { reason: "NamespaceNotManaged", message: outside };
  const { group, kind } = gvkOf(object);
  const wrong = unseen.has(`${group}/${kind}`) ? undefined : problem;
  if (wrong && wrong.reason !== KUBE.kindNotFound) return { reason: wrong.reason, message: wrong.message };
  if (!object.metadata.name)
    return { reason: "NameMissing", message: `${kind} has only generateName, which is for hooks alone` };
  const comes =
    brought.has(`${group}/${kind}`) || syncOption("SkipDryRunOnMissingResource", object, options) === "true";
  return wrong && !comes ? { reason: wrong.reason, message: missingKind(object, wrong.message) } : undefined;
}
