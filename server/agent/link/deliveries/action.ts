import type { Schemas } from "../../../../openapi/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { type HistoryEntry, type OperationState, ROLLBACK_INFO } from "../../controller/application.ts";
import { isRetryDue, replaces } from "../../controller/sync/operation.ts";
import { MARK } from "../names.ts";
import { defined } from "./spec.ts";

export type Action = Schemas["WorkerAction"];
export const REFRESH = "argocd.argoproj.io/refresh";
/** Names the action in the operation, so that its state is not confused with older ones. */
export const ACTION_INFO = "outpost.dev/action";

/** What an action adds to an Application. Each id is put in once: the marks travel in the same write. */
export interface Acted {
  annotations: Record<string, string | undefined>;
  /** Fields beside the specification. */
  fields: Record<string, unknown>;
  /** The sync must wait: another operation runs. */
  busy: boolean;
}

export function act(
  action: Action | undefined,
  existing: KubeObject | undefined,
  spec: Record<string, unknown>,
  now = new Date(),
): Acted {
  const marks = existing?.metadata.annotations ?? {};
  const acted: Acted = { annotations: {}, fields: {}, busy: false };
  const { refresh, sync, rollback, terminate } = action ?? {};
  if (refresh && marks[MARK.refresh] !== refresh.id) {
    acted.annotations[MARK.refresh] = refresh.id;
    // A normal refresh does not replace a pending hard refresh.
    acted.annotations[REFRESH] = refresh.hard || marks[REFRESH] === "hard" ? "hard" : "normal";
  }
  if (terminate && marks[MARK.terminate] !== terminate.id) end(acted, terminate.id, existing);
  if (sync && marks[MARK.sync] !== sync.id) {
    if (isRunning(existing, sync.request.dryRun)) return { ...acted, busy: true };
    Object.assign(acted.annotations, { [MARK.sync]: sync.id, [MARK.refused]: undefined });
    acted.fields.operation = syncOperation(sync, spec);
  }
  if (rollback && marks[MARK.rollback] !== rollback.id) {
    if (isRunning(existing, rollback.request.dryRun)) return { ...acted, busy: true };
    Object.assign(acted.annotations, { [MARK.rollback]: rollback.id, [MARK.refused]: undefined });
    const operation = existing && rollbackOperation(rollback, existing, spec);
    if (typeof operation === "string")
      acted.annotations[MARK.refused] = `${rollback.id} ${now.toISOString()} ${operation}`;
    else if (operation) acted.fields.operation = operation;
  }
  return acted;
}

const isRunning = (existing: KubeObject | undefined, dryRun = false): boolean => {
  const state = existing?.status?.operationState as OperationState | undefined;
  if (existing?.operation || state?.phase === "Terminating") return true;
  // A sync that failed and waits for its next attempt gives way to one that is asked for.
  return state?.phase === "Running" && !(isRetryDue(state) && replaces({ sync: { dryRun } }, state));
};

/** Terminates the running operation, or takes back one that has not begun. Without either it does nothing. */
function end(acted: Acted, id: string, existing: KubeObject | undefined): void {
  acted.annotations[MARK.terminate] = id;
  if (existing?.operation) acted.fields.operation = undefined;
  const state = existing?.status?.operationState;
  if (state?.phase === "Running")
    acted.fields.status = { ...existing!.status, operationState: { ...state, phase: "Terminating" } };
}

function syncOperation(sync: NonNullable<Action["sync"]>, spec: Record<string, unknown>): Record<string, unknown> {
  const { revision, prune, dryRun, resources, syncOptions } = sync.request;
  const policy = policyOf(spec);
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

/** A sync of what an entry of the history deployed, or why there can be none. */
function rollbackOperation(
  { id, by, request }: NonNullable<Action["rollback"]>,
  existing: KubeObject,
  spec: Record<string, unknown>,
): Record<string, unknown> | string {
  const { automated, syncOptions } = policyOf(spec);
  if (automated && automated.enabled !== false)
    return "rollback cannot be done while automated sync is on: it would be undone at once";
  const history = (existing.status?.history ?? []) as HistoryEntry[];
  const entry = history.find((one) => one.id === request.id);
  if (!entry)
    return `the history has no entry ${request.id}; it has ${history.map((one) => one.id).join(", ") || "none"}`;
  const { source, sources, revision, revisions } = entry;
  if (!source && !sources?.length) return `entry ${request.id} of the history does not say what it deployed`;
  return defined({
    initiatedBy: { username: by ?? "outpost" },
    info: [
      { name: ACTION_INFO, value: id },
      { name: ROLLBACK_INFO, value: String(request.id) },
    ],
    sync: defined({
      source,
      sources,
      revision,
      revisions,
      prune: request.prune || undefined,
      dryRun: request.dryRun || undefined,
      syncOptions,
      syncStrategy: { hook: {} },
    }),
  });
}

interface Policy {
  syncOptions?: string[];
  retry?: object;
  automated?: { enabled?: boolean };
}
const policyOf = (spec: Record<string, unknown>): Policy => (spec.syncPolicy ?? {}) as Policy;
