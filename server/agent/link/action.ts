import type { Schemas } from "../../../openapi/client.ts";
import type { KubeObject } from "../kube/object.ts";
import { MARK } from "./names.ts";
import { defined } from "./spec.ts";

type Action = Schemas["WorkerAction"];
export const REFRESH = "argocd.argoproj.io/refresh";
/** Names the action in the operation, so that its state can be told apart from older ones. */
export const ACTION_INFO = "outpost.dev/action";

/** What an action adds to an Application. Each id is put in once: the marks travel in the same write. */
export interface Acted {
  annotations: Record<string, string>;
  operation?: Record<string, unknown>;
  /** The sync must wait: another operation runs. */
  busy: boolean;
}

export function act(action: Action | undefined, existing: KubeObject | undefined, spec: Record<string, unknown>): Acted {
  const marks = existing?.metadata.annotations ?? {};
  const acted: Acted = { annotations: {}, busy: false };
  const { refresh, sync } = action ?? {};
  if (refresh && marks[MARK.refresh] !== refresh.id) {
    acted.annotations[MARK.refresh] = refresh.id;
    // A hard one that waits is not weakened by a normal one.
    acted.annotations[REFRESH] = refresh.hard || marks[REFRESH] === "hard" ? "hard" : "normal";
  }
  if (sync && marks[MARK.sync] !== sync.id) {
    const phase = existing?.status?.operationState?.phase;
    if (existing?.operation || phase === "Running" || phase === "Terminating") return { ...acted, busy: true };
    acted.annotations[MARK.sync] = sync.id;
    acted.operation = toOperation(sync, spec);
  }
  return acted;
}

function toOperation(sync: NonNullable<Action["sync"]>, spec: Record<string, unknown>): Record<string, unknown> {
  const { revision, prune, dryRun, resources, syncOptions } = sync.request;
  const policy = (spec.syncPolicy ?? {}) as { syncOptions?: string[]; retry?: object };
  return defined({
    initiatedBy: { username: sync.by ?? "outpost" },
    info: [{ name: ACTION_INFO, value: sync.id }],
    retry: policy.retry,
    sync: defined({
      revision,
      prune: prune || undefined,
      dryRun: dryRun || undefined,
      resources: resources?.length ? resources.map((resource) => defined({ ...resource })) : undefined,
      syncOptions: syncOptions ?? policy.syncOptions,
      syncStrategy: { hook: {} },
    }),
  });
}
