import type { KubeClient } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { type Application, type OperationState, revisionsOf } from "../application.ts";
import type { Log } from "../deps.ts";

/** One thing that happened to an object, for `kubectl describe`, Argo CD's UI and whatever else reads Kubernetes events. */
export interface Happened {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

const EVENT: Resource = { group: "", version: "v1", kind: "Event", plural: "events", namespaced: true };
// A thousand applications that are synced at once are some thousand events. Beyond that the newest are dropped, as each costs the API server a write.
const MAX_WAITING = 5_000;
// The API server takes 1 KiB.
const MAX_MESSAGE = 1_000;

/** What a change of an application's status means, with Argo CD's reasons and words. */
export function eventsBetween(before: Application, after: Application): Happened[] {
  const [old, now] = [before.status ?? {}, after.status ?? {}];
  const events: Happened[] = [];
  const normal = (reason: string, message: string) => events.push({ type: "Normal", reason, message });
  const state = now.operationState;
  const isNew = state !== undefined && state.startedAt !== old.operationState?.startedAt;
  // The caller reports a sync that was asked for; automated ones are reported here.
  if (isNew && state.operation?.initiatedBy?.automated)
    normal("OperationStarted", `Initiated automated sync to '${revisionsOf(state.operation.sync ?? {}).join(", ")}'`);
  if (state && hasEnded(state) && (isNew || !hasEnded(old.operationState!))) events.push(completed(state));
  const [sync, wasSync] = [now.sync?.status ?? "", old.sync?.status ?? ""];
  if (sync !== wasSync) normal("ResourceUpdated", `Updated sync status: ${wasSync} -> ${sync}`);
  const [health, wasHealth] = [now.health?.status ?? "", old.health?.status ?? ""];
  if (health !== wasHealth) normal("ResourceUpdated", `Updated health status: ${wasHealth} -> ${health}`);
  for (const { type, message } of now.conditions ?? [])
    if (type === "DeletionError" && !old.conditions?.some((one) => one.type === type && one.message === message))
      events.push({
        type: "Warning",
        reason: "StatusRefreshed",
        message: `Unable to delete application resources: ${message}`,
      });
  return events;
}

const hasEnded = ({ phase }: OperationState): boolean =>
  phase === "Succeeded" || phase === "Failed" || phase === "Error";

function completed(state: OperationState): Happened {
  const what = state.operation?.sync?.resources?.length ? "Partial sync operation" : "Sync operation";
  const to = state.syncResult ? ` to ${revisionsOf(state.syncResult).join(", ")}` : "";
  return state.phase === "Succeeded"
    ? { type: "Normal", reason: "OperationCompleted", message: `${what}${to} succeeded` }
    : { type: "Warning", reason: "OperationCompleted", message: `${what}${to} failed: ${state.message ?? ""}` };
}

export interface EventsOptions {
  client: KubeClient;
  log: Log;
  /** The reporting component. */
  component: string;
  /** The reasons to report: `all`, `none`, or a list with commas. */
  reasons?: string;
}

/** Writes Kubernetes events one after the other, behind everything else: an event that cannot be written is dropped. */
export class Events {
  readonly #with: EventsOptions;
  readonly #told: (reason: string) => boolean;
  readonly #waiting: KubeObject[] = [];
  #writing: Promise<void> | undefined;
  #refused = false;
  #stopped = false;
  #count = 0;

  constructor(options: EventsOptions) {
    this.#with = options;
    const named = (options.reasons || "all").split(",").map((one) => one.trim());
    this.#told = (reason) => named.includes("all") || named.includes(reason);
  }

  tell(object: KubeObject, happened: readonly Happened[], annotations: Record<string, string> = {}): void {
    for (const one of happened) {
      if (this.#stopped || !this.#told(one.reason) || this.#waiting.length >= MAX_WAITING) continue;
      this.#waiting.push(this.#event(object, one, annotations));
    }
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      // Events since the last write.
      if (this.#waiting.length) this.tell(object, []);
    });
  }

  /** Starts no further write; the running one ends by itself. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.length = 0;
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { client, log } = this.#with;
    for (let event = this.#waiting.shift(); event; event = this.#waiting.shift()) {
      const written = await client.create(EVENT, event);
      if (written.kind === "done") this.#refused = false;
      else if (!this.#refused) {
        this.#refused = true;
        log.warn({ reason: written.reason }, `Kubernetes events cannot be written: ${written.message}`);
      }
    }
  }

  #event(
    { apiVersion, kind, metadata }: KubeObject,
    { type, reason, message }: Happened,
    annotations: Record<string, string>,
  ): KubeObject {
    const { name, namespace, uid, resourceVersion } = metadata;
    const at = new Date().toISOString().replace(/\.\d+/, "");
    return {
      apiVersion: "v1",
      kind: "Event",
      // As other programs name theirs: by object and time, so that they sort.
      metadata: {
        name: `${name.slice(0, 200)}.${(BigInt(Date.now()) * 1_000_000n + BigInt(this.#count++ % 1_000_000)).toString(16)}`,
        namespace,
        annotations,
      },
      involvedObject: { apiVersion, kind, name, namespace, uid, resourceVersion },
      type,
      reason,
      message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message,
      source: { component: this.#with.component },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    } as KubeObject;
  }
}
