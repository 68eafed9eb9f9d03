import { validateWorkerObject } from "../../../../openapi/contract/validators.js";
import { again, done, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { type Acted, type Action, act, REFRESH } from "../deliveries/action.ts";
import { MARK } from "../names.ts";
import { type LinkRead, objectOf } from "../queries/task.ts";

const WRITES = 5;

/**
 * Syncs, refreshes, rolls back or ends the operation of an application that the service did not make: by `operation`, the annotation and the phase
 * that its controller reads, Argo CD or ours. Specification and marks stay as they are.
 */
export const applicationOperate: LinkRead = async (tc, task) => {
  const { action } = task.params;
  if (!isAction(action))
    return stop(
      "ParamsInvalid",
      "the task names no action that this agent knows; the agent may be older than the service",
    );
  for (let attempt = 0; attempt < WRITES; attempt++) {
    const found = await objectOf(tc, task, "applications");
    if (found.kind !== "done") return found;
    const patch = patchOf(action, found.value);
    if (patch.kind !== "done") return patch;
    if (!patch.value) return done({});
    const { namespace, name, uid, resourceVersion } = found.value.metadata;
    const written = await tc.ctx.client.mergePatch(RESOURCES.application, namespace, name, {
      ...patch.value,
      metadata: { ...(patch.value.metadata as object | undefined), uid, resourceVersion },
    });
    if (written.kind === "done") return done({});
    if (written.reason !== KUBE.conflict) return written;
  }
  return again(KUBE.conflict, "the application changes faster than it can be written; try again");
};

/** What an action writes; nothing where there is nothing to do. */
export function patchOf(action: Action, app: KubeObject): Outcome<Record<string, unknown> | undefined> {
  // Marks of actions that were asked of it as an object of the service say nothing here: each of these is asked for once.
  const acted = act(action, { ...app, metadata: { ...app.metadata, annotations: onlyRefresh(app) } }, app.spec ?? {});
  if (acted.busy)
    return stop(
      "OperationRunning",
      "an operation of this application runs already: wait until it has ended, or end it with terminate",
    );
  const refused = refusalOf(acted);
  if (refused) return stop("ActionRefused", refused);
  const refresh = acted.annotations[REFRESH];
  const { status, ...fields } = acted.fields as { status?: { operationState?: object }; operation?: object };
  const patch: Record<string, unknown> = {
    ...(refresh ? { metadata: { annotations: { [REFRESH]: refresh } } } : {}),
    ...("operation" in fields ? { operation: fields.operation ?? null } : {}),
    // Only the phase: the rest of the status is the controller's.
    ...(status ? { status: { operationState: { phase: "Terminating" } } } : {}),
  };
  return done(Object.keys(patch).length ? patch : undefined);
}

/** An action comes with no delivery here, so it is checked as the part of one that it is elsewhere. */
const isAction = (action: unknown): action is Action =>
  action !== undefined &&
  validateWorkerObject({
    worker: "-",
    collection: "applications",
    key: "-/-/-",
    uid: "-",
    generation: 0,
    op: "put",
    action,
  });

function onlyRefresh({ metadata }: KubeObject): Record<string, string> {
  const refresh = metadata.annotations?.[REFRESH];
  return refresh === undefined ? {} : { [REFRESH]: refresh };
}

/** `id time why`, as it stands on objects of the service. */
const refusalOf = ({ annotations }: Acted): string | undefined =>
  annotations[MARK.refused]?.split(" ").slice(2).join(" ");
