import type { Failure, Outcome } from "../../../base/outcome.ts";
import { inParallel } from "../../../base/process/parallel.ts";
import { pause } from "../../../base/process/pause.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, gvkOf, type KubeObject } from "../../../kube/object.ts";
import { instanceOf } from "../../project/instance.ts";
import {
  deployedOf,
  type OperationPhase,
  type OperationState,
  type ResourceResult,
  sourcesOf,
} from "../application.ts";
import type { CompareTarget } from "../compare/normalise.ts";
import { KIND_UNSEEN } from "../config/policy.ts";
import { syncOption } from "../order.ts";
import { belongs } from "../projects.ts";
import { groupTasks, optionsOf, planTasks, prunable, pruneAllowed, type Task } from "../tasks.ts";
import { appLabel, effectiveOwner } from "../tracking.ts";
import { type ApplyResult, applyTarget, ENDING, ensureNamespace } from "./apply.ts";
import { confirmed } from "./confirm.ts";
import { tryDryRun } from "./dry-run.ts";
import { hookObject, hookPhase, inTheWay, isDoomed, isOf, release } from "./hooks.ts";
import type { Advanced, SyncInput } from "./input.ts";
import { leftOut, missingKind, shortName, waitingFor } from "./messages.ts";
import { SHARED } from "./namespace-owner.ts";
import { otherOwner, partOfOther } from "./other-owner.ts";
import { preflight } from "./preflight.ts";
import { endOf, namespaceResult, resultId, resultOf, type Told } from "./results.ts";

/**
 * One step of an operation. It does all that can be done without waiting.
 *
 *   groups of (phase, wave) in order: prune → delete old hooks → apply, kind by kind → wait until healthy, if more follows
 *   a failure → SyncFail hooks → Failed;   nothing left → Succeeded
 */
export async function advance(input: SyncInput): Promise<Advanced> {
  const run = new Run(input);
  const state = await step(input, run);
  return { state, soon: run.soon };
}

async function step(input: SyncInput, run: Run): Promise<OperationState> {
  const { app, state, destination } = input;
  if (state.phase === "Terminating") return run.terminate();

  const invalid = run.validate();
  if (invalid) return run.finish("Failed", invalid);
  if (state.operation.sync?.dryRun) return run.tryDryRun();
  const asking = run.unconfirmed();
  if (asking) return run.running(asking);
  const creates = syncOption("CreateNamespace", undefined, optionsOf(app, state.operation)) === "true";
  const namespace = app.spec.destination.namespace;
  if (creates && namespace && !input.targets.some((t) => t.key === `/Namespace//${namespace}`)) {
    const made = await ensureNamespace(destination, app);
    if (made.kind !== "done") return run.noNamespace(namespace, made);
    run.namespace(namespace, made.value);
  }

  const main = groupTasks(run.tasks.filter((task) => task.phase !== "SyncFail"));
  for (const [index, group] of main.entries()) {
    const more = index < main.length - 1;
    const began = !run.failed(group) && (await run.group(group));
    if (run.failed(group)) return run.fail();
    const { waveDelayMs: delay = 0 } = input;
    if (began && more && delay && !(await pause(delay, destination.ending)))
      return run.running("waiting between two waves");
    const waiting = await run.waiting(group, more);
    if (run.failed(group)) return run.fail();
    if (waiting) return run.running(waiting);
  }
  await run.cleanHooks(true);
  // In Argo CD's words: a hook that comes last is looked at once more, and then nothing is left to do.
  const more = main.at(-1)?.some(({ hook }) => hook) ?? true;
  return run.finish("Succeeded", run.left() ?? `successfully synced (${more ? "no more tasks" : "all tasks run"})`);
}

class Run {
  readonly #input: SyncInput;
  readonly #results: Map<string, ResourceResult>;
  readonly tasks: Task[];
  readonly #options: string[];
  readonly #label: string;
  /** See `Advanced`. */
  soon = false;

  constructor(input: SyncInput) {
    this.#input = input;
    const { app, state, targets, destination } = input;
    const label = appLabel(instanceOf(app, destination.own));
    this.#label = label;
    const ours = belongs(app, destination);
    const extra = prunable(destination.live.ofApp(label), targets, ours);
    this.#options = optionsOf(app, state.operation);
    this.tasks = planTasks(
      { app, own: destination.own, run: state },
      targets,
      extra.map((object) => ({ object })),
    );
    // An object of another application is not touched; the comparison has reported it.
    // What the project refuses is not looked at for whose it is: the sync is refused for it.
    const left = (one: CompareTarget) =>
      !destination.refuse?.(one.object, one.resource) && otherOwner(destination, one, app);
    // Copies: the stored results must not change.
    this.#results = new Map((state.syncResult?.resources ?? []).map((r) => [resultId(r), { ...r }]));
    this.tasks = this.tasks.filter((task) => !task.target || task.hook || !(left(task.target) || this.#spared(task)));
  }

  /** A sync with `ApplyOutOfSyncOnly` neither applies nor waits for objects that match Git. */
  #spared(task: Task): boolean {
    const live = syncOption("ApplyOutOfSyncOnly", undefined, this.#options) === "true" ? this.#live(task) : undefined;
    return live !== undefined && !this.#results.has(task.id) && this.#input.verdicts.get(task.target!, live) === true;
  }

  /** Errors that are known before the first request: then none is sent. */
  validate(): string | undefined {
    const { targets, app, destination } = this.#input;
    const wrong = preflight(this.#input, this.tasks, this.#options);
    for (const { task, result } of wrong) this.#record(task, { status: "SyncFailed", ...result });
    if (wrong.length) return `one or more synchronization tasks are not valid: ${wrong[0]!.result.message}`;
    if (!this.#options.includes("FailOnSharedResource=true")) return undefined;
    for (const target of targets) {
      const other = otherOwner(destination, target, app);
      if (other) return `Shared resource found: ${partOfOther(destination, target.object, { app, other })}`;
    }
    return undefined;
  }

  /** The effect on each object, in the cluster as it is now. Nothing is written, not even what other objects need first. */
  async tryDryRun(): Promise<OperationState> {
    for (const task of this.tasks) this.#leave(task);
    const open = this.tasks.filter((task) => !this.#results.has(task.id));
    const tried = new Map<Task, Awaited<ReturnType<typeof tryDryRun>>>();
    await inParallel(
      open.filter((task) => !task.prune),
      async (task) => void tried.set(task, await tryDryRun(this.#input, task, this.#options)),
    );
    for (const task of open) {
      const outcome = tried.get(task);
      if (!outcome) this.#record(task, this.#spare(task) ?? { status: "Pruned", message: "pruned (dry run)" });
      else if (outcome.kind === "done") {
        const ran = task.hook ? { hookPhase: "Succeeded" as const } : {};
        this.#record(task, {
          status: "Synced",
          ...ran,
          message: `${shortName(task.object)} ${outcome.value} (dry run)`,
        });
      } else
        this.#record(task, {
          ...(outcome.reason === SHARED ? {} : FAILED),
          reason: outcome.reason,
          message: outcome.message,
        });
    }
    if (this.failed(this.tasks)) return this.finish("Failed", "one or more objects failed to apply (dry run)");
    return this.finish("Succeeded", "successfully synced (no more tasks)");
  }

  /** Objects whose pruning a person must confirm after the start of the operation: until then nothing runs. */
  unconfirmed(): string | undefined {
    const { app, prune, state } = this.#input;
    if (!prune || confirmed(app, state.startedAt)) return undefined;
    const asking = this.tasks.filter(
      (task) => task.prune && syncOption("Prune", task.object, this.#options) === "confirm",
    );
    const [first] = asking.map(({ object }) => `${gvkOf(object).group}/${object.kind}/${object.metadata.name}`);
    if (!first) return undefined;
    return `waiting for pruning confirmation of ${first}${asking.length > 1 ? ` and ${asking.length - 1} more resources` : ""}`;
  }

  /** Runs the tasks of a group that have not run yet; returns whether there were any. */
  async group(group: readonly Task[]): Promise<boolean> {
    for (const task of group) this.#leave(task);
    const open = group.filter((task) => !this.#results.has(task.id));
    await inParallel(
      open.filter((task) => task.prune),
      (task) => this.#prune(task),
    );
    const applies = open.filter((task) => !task.prune);
    for (let from = 0; from < applies.length; ) {
      let to = from + 1;
      while (to < applies.length && applies[to]!.object.kind === applies[from]!.object.kind) to++;
      await inParallel(applies.slice(from, to), (task) => (task.hook ? this.#hook(task) : this.#apply(task)));
      // If a kind could not be created, the next kinds would fail because of it.
      if (
        applies
          .slice(from, to)
          .some((task) => this.#results.get(task.id)?.status === "SyncFailed" && task.object.kind === "Namespace")
      )
        break;
      from = to;
    }
    return open.length > 0;
  }

  /** An object of a kind that cannot be seen waits for a later sync; a hook is waited for, because what follows needs it. */
  #leave(task: Task): void {
    const { group, kind } = gvkOf(task.object);
    const failure = task.hook || this.#results.has(task.id) ? undefined : this.#input.unseen.get(`${group}/${kind}`);
    if (failure)
      this.#record(task, {
        reason: KIND_UNSEEN,
        message: `left alone: ${group}/${kind} cannot be seen: ${failure.message}`,
      });
  }

  failed(group: readonly Task[]): boolean {
    return group.some((task) => {
      const result = this.#results.get(task.id);
      return result?.status === "SyncFailed" || result?.hookPhase === "Failed" || result?.hookPhase === "Error";
    });
  }

  /** What a group still waits for; hooks always count, other objects only when something follows them. */
  async waiting(group: readonly Task[], more: boolean): Promise<string | undefined> {
    const { judge } = this.#input.destination.settings;
    await judge.prepare([group.map((task) => this.#live(task))]);
    const open: Task[] = [];
    for (const task of group) {
      const result = this.#results.get(task.id);
      if (!result) {
        open.push(task);
        continue;
      }
      const live = this.#live(task);
      if (task.hook) {
        if (result.hookPhase !== "Running") continue;
        const { phase, message } = hookPhase(live, judge);
        const doomed = phase === "Running" && (await isDoomed(this.#input.destination, live!));
        if (doomed) Object.assign(result, { hookPhase: "Failed", message: "its namespace is being deleted" });
        else if (phase === "Running") open.push(task);
        else Object.assign(result, { hookPhase: phase, message: message ?? (live ? result.message : missing(task)) });
      } else if (more && task.prune) {
        if (live && result.status === "Pruned") open.push(task);
      } else if (more && result.status === "Synced") {
        const health = live && judge.of(live);
        if (!live) Object.assign(result, { status: "SyncFailed", reason: "Vanished", message: missing(task) });
        else if (health?.status === "Degraded")
          Object.assign(result, {
            status: "SyncFailed",
            reason: "Degraded",
            message: health.message ?? "the resource is degraded",
          });
        else if (health && health.status !== "Healthy") open.push(task);
        else result.hookPhase = "Succeeded";
      }
    }
    return waitingFor(open);
  }

  /** Starts only the hooks for a failed sync; running hooks come to their end. */
  async fail(): Promise<OperationState> {
    const hooks = this.tasks.filter((task) => task.phase === "SyncFail");
    await this.group(hooks);
    const running = this.tasks.filter(
      (task) => task.hook && task.phase !== "SyncFail" && this.#results.get(task.id)?.hookPhase === "Running",
    );
    const waiting = await this.waiting([...running, ...hooks], false);
    if (waiting) return this.running(waiting);
    await this.cleanHooks(false);
    const reasons = [...this.#results.values()]
      .filter((r) => r.status === "SyncFailed" || r.hookPhase === "Failed")
      .map((r) => r.message);
    const why = [...new Set(reasons)].filter(Boolean).slice(0, 3).join("; ");
    return this.finish(
      "Failed",
      `one or more synchronization tasks completed unsuccessfully${why ? `, reason: ${why}` : ""}`,
    );
  }

  /** Deletes the hooks whose policy asks for it at the end of the operation. They go when the end is stored. */
  async cleanHooks(succeeded: boolean): Promise<void> {
    const policy = succeeded ? "HookSucceeded" : "HookFailed";
    await inParallel(
      this.tasks.filter((task) => task.hook && task.target?.hook?.deletePolicies.includes(policy)),
      async (task) => {
        const live = this.#live(task);
        if (live && !live.metadata.deletionTimestamp) await this.#delete(task, live);
      },
    );
  }

  /** A running hook ends with its operation. One that has ended meanwhile keeps its result. */
  async terminate(): Promise<OperationState> {
    const { state, destination } = this.#input;
    const { judge } = destination.settings;
    const begun = this.tasks.filter((task) => {
      const live = task.hook && this.#live(task);
      return (
        task.hook &&
        (this.#results.get(task.id)?.hookPhase === "Running" ||
          (live && isOf(live, state, task.phase) && !this.#results.has(task.id)))
      );
    });
    await judge.prepare([begun.map((task) => this.#live(task))]);
    await inParallel(begun, async (task) => {
      const live = this.#live(task);
      const { phase, message } = hookPhase(live, judge);
      const goes = phase === "Running" || task.target?.hook?.deletePolicies.includes("HookFailed");
      if (live && goes && !live.metadata.deletionTimestamp) await this.#delete(task, live);
      const ended = live && phase !== "Running" ? { hookPhase: phase, message: message ?? "ended" } : undefined;
      this.#record(task, ended ?? { hookPhase: "Failed", message: "terminated" });
    });
    return this.finish("Failed", "Operation terminated");
  }

  left(): string | undefined {
    const left = [...this.#results.values()].filter(({ reason }) => reason === KIND_UNSEEN).length;
    return left ? `synced, but for ${left} objects of kinds that cannot be seen` : undefined;
  }

  noNamespace(name: string, { reason, message }: Failure): OperationState {
    const told = { status: "SyncFailed", hookPhase: "Failed", reason, message } as const;
    this.#results.set("PreSync|Namespace", namespaceResult(name, told));
    return this.finish("Failed", `namespace ${name} cannot be made: ${message}`);
  }

  /** Reports the namespace once: in the step that created or changed it. */
  namespace(name: string, change: ApplyResult): void {
    if (change === "unchanged") return;
    const row = namespaceResult(name, {
      status: "Synced",
      hookPhase: "Succeeded",
      message: `namespace/${name} ${change}`,
    });
    if (!this.#results.has(resultId(row))) this.#results.set(resultId(row), row);
  }

  running(message: string): OperationState {
    return this.#state("Running", message);
  }

  finish(phase: OperationPhase, message: string): OperationState {
    const begun = this.#state(phase, message);
    const state = { ...begun, finishedAt: endOf(begun, this.#input.now()) };
    const { spec, status } = this.#input.app;
    // A dry run leaves the namespace as the last sync made it.
    const made = state.operation.sync?.dryRun ? status?.operationState?.syncResult : spec.syncPolicy;
    const { managedNamespaceMetadata } = made ?? {};
    if (phase === "Succeeded" && managedNamespaceMetadata)
      Object.assign(state.syncResult!, { managedNamespaceMetadata });
    return state;
  }

  async #apply(task: Task): Promise<void> {
    const { destination, app, verdicts } = this.#input;
    const sent = await applyTarget(destination, task.target!, { app, verdicts, options: this.#options });
    if (sent.kind === "done")
      return this.#record(task, {
        status: "Synced",
        message: `${shortName(task.object)} ${sent.value}${leftOut(task.target!)}`,
      });
    const { reason } = sent;
    // Nothing is recorded, so that the next look can do it.
    if (reason === ENDING) return;
    // Another application was faster since this sync began: it owns the object, like those it had before.
    if (reason === SHARED) return this.#record(task, { reason, message: sent.message });
    const message = reason === KUBE.kindNotFound ? missingKind(task.object, sent.message) : sent.message;
    this.#record(task, { status: "SyncFailed", reason, message });
  }

  /** The message for an object that has left Git and stays. */
  #spare({ object }: Task): Pick<ResourceResult, "status" | "message"> | undefined {
    if (!this.#input.prune) return { status: "PruneSkipped", message: "ignored (requires pruning)" };
    return pruneAllowed(object, this.#options) ? undefined : { status: "PruneSkipped", message: "ignored (no prune)" };
  }

  async #prune(task: Task): Promise<void> {
    const spared = this.#spare(task);
    if (spared) return this.#record(task, spared);
    const deleted = await this.#delete(task, task.object);
    if (deleted.kind === "done" || deleted.reason === KUBE.notFound)
      this.#record(task, { status: "Pruned", message: "pruned" });
    else this.#record(task, { status: "SyncFailed", reason: deleted.reason, message: deleted.message });
  }

  /** A hook of an earlier run or phase goes first; the new one is made in the step after it is gone. One that this run has made is not made again. */
  async #hook(task: Task): Promise<void> {
    const { destination, app, verdicts, state } = this.#input;
    const { target, phase } = task;
    const live = this.#live(task);
    const before = live && inTheWay(live, state, phase, target!.hook!.deletePolicies);
    if (before === "itself")
      return this.#record(task, {
        status: "Synced",
        hookPhase: "Running",
        message: `${shortName(task.object)} created`,
      });
    if (before === "unwritten") {
      this.soon = true;
      return;
    }
    if (live && before === "old") {
      await release(destination, live, this.#label);
      if (this.#live(task) && !live.metadata.deletionTimestamp) await this.#delete(task, live);
      if (this.#live(task)) return;
    }
    const made = {
      ...target!,
      object: hookObject(task.object, state, phase),
      digest: `${target!.digest}@${state.startedAt}${phase}`,
    };
    const options = this.#options.filter((option) => option.startsWith("Validate="));
    const sent = await applyTarget(destination, made, { app, verdicts, options });
    const message = sent.kind === "done" ? `${shortName(task.object)} ${sent.value}${leftOut(made)}` : sent.message;
    if (sent.kind === "done") this.#record(task, { status: "Synced", hookPhase: "Running", message });
    else this.#record(task, { status: "SyncFailed", hookPhase: "Failed", reason: sent.reason, message });
  }

  async #delete(task: Task, object: KubeObject): Promise<Outcome<unknown>> {
    const { client, writer, live } = this.#input.destination;
    const { group, version, kind } = gvkOf(object);
    const resource = await client.discovery.find(group, version, kind);
    if (resource.kind !== "done") return resource;
    const policy = syncOption("PrunePropagationPolicy", undefined, this.#options) ?? "foreground";
    const propagation = PROPAGATION.get(policy) ?? "Foreground";
    const { namespace, name, uid } = object.metadata;
    const deleted = await writer.delete(resource.value, namespace, name, { propagation, uid });
    // The answer is a Status when it is gone at once, and the object itself while finalizers hold it.
    if (deleted.kind === "done" && (deleted.value as KubeObject).kind === "Status") live.remove(task.key, this.#label);
    return deleted;
  }

  #live(task: Task): KubeObject | undefined {
    const { tracking } = this.#input.destination.settings;
    const name = instanceOf(this.#input.app, this.#input.destination.own);
    const live = this.#input.destination.live.get(task.key, this.#label);
    // The label of a long name is a short one, which may be another application's name.
    return live && (effectiveOwner(live, name, tracking) ?? name) === name ? live : undefined;
  }

  #record(task: Task, result: Told): void {
    this.#results.set(task.id, resultOf(task, result));
  }

  #state(phase: OperationPhase, message: string): OperationState {
    const { state, app } = this.#input;
    const resources = [...this.#results.values()];
    return {
      ...state,
      phase,
      message,
      syncResult: { ...(state.syncResult ?? deployedOf(app, sourcesOf(app), [""])), resources },
    };
  }
}

const FAILED = { status: "SyncFailed" } as const;
const PROPAGATION: ReadonlyMap<string, "Background" | "Orphan"> = new Map([
  ["background", "Background"],
  ["orphan", "Orphan"],
]);

const missing = ({ object }: Task): string => `${describe(object)} is missing, it might have been deleted`;
