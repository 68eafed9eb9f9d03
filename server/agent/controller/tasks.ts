import { gvkOf, type KubeObject, keyOf } from "../../kube/object.ts";
import type { Resource } from "../../kube/path.ts";
import { instanceOf } from "../project/instance.ts";
import { type Application, META, type OperationState, revisionsOf } from "./application.ts";
import type { CompareTarget } from "./compare/normalise.ts";
import { compareTasks, hookName, hookOf, type Phase, syncOption, waveOf } from "./order.ts";
import { remark } from "./tracking.ts";

/** One step of a sync: apply an object or delete one. */
export interface Task {
  id: string;
  key: string;
  phase: Phase;
  wave: number;
  object: KubeObject;
  hook: boolean;
  /** Of an object to apply. */
  target?: CompareTarget;
  /** Of an object to prune. */
  prune?: boolean;
  resource?: Resource;
}

/**
 * The objects of the inventory that no revision wants any more: ours by label and annotation, no hook, not owned by another object. A definition
 * stays, as in the ecosystem: all objects of its kind would go with it.
 */
export function prunable(
  live: ReadonlyMap<string, KubeObject>,
  targets: readonly CompareTarget[],
  owner: (object: KubeObject) => boolean,
): KubeObject[] {
  const wanted = new Set(targets.map((target) => target.key));
  const result: KubeObject[] = [];
  for (const [key, object] of live) {
    if (wanted.has(key) || hookOf(object) || object.metadata.ownerReferences?.some((o) => o.controller)) continue;
    if (object.kind !== "CustomResourceDefinition" && owner(object)) result.push(object);
  }
  return result;
}

/** The options of one operation: what it says itself before what the application says. Force is of one object or one operation, never of all. */
export function optionsOf(app: Application, { sync }: OperationState["operation"]): string[] {
  const { apply, hook } = sync?.syncStrategy ?? {};
  const given = [...(sync?.syncOptions ?? []), ...(app.spec.syncPolicy?.syncOptions ?? [])];
  const others = given.map((option) => String(option).trim()).filter((option) => !option.startsWith("Force="));
  return apply?.force || hook?.force ? [...others, "Force=true"] : others;
}

/** An application's operation, seen from the agent's namespace. */
interface Operating {
  app: Application;
  own: string;
  run: Pick<OperationState, "operation" | "startedAt" | "syncResult">;
}

/** All tasks of an operation in the order in which they run. */
export function planTasks(
  { app, own, run }: Operating,
  targets: readonly CompareTarget[],
  extra: readonly { object: KubeObject; resource?: Resource }[],
): Task[] {
  const sync = run.operation.sync ?? {};
  const options = optionsOf(app, run.operation);
  const selected = sync.resources?.length
    ? new Set(sync.resources.map((r) => `${r.group ?? ""}/${r.kind}/${r.namespace ?? ""}/${r.name}`))
    : undefined;
  const isSelected = (key: string) => {
    if (!selected) return true;
    const [group, kind, , name] = key.split("/");
    // The namespace may be left out of a selection.
    return selected.has(key) || selected.has(`${group}/${kind}//${name}`);
  };
  const hooks = !selected && !sync.syncStrategy?.apply;
  const tasks: Task[] = [];
  for (const target of targets) {
    const { key, object, hook, wave, resource } = target;
    if (hook) {
      if (hook.skip || !hooks) continue;
      for (const phase of hook.phases)
        tasks.push({ ...hookTask({ app, own, run }, target, phase), phase, wave, hook: true, resource });
    } else if (isSelected(key))
      tasks.push({ id: `Sync|${key}`, key, phase: "Sync", wave, object, hook: false, target, resource });
  }
  tasks.push(...pruneTasks(extra, options, tasks, isSelected));
  tasks.sort(compareTasks);
  liftDependencies(tasks);
  return tasks;
}

/** A hook's object, with a name of this run when it has none of its own. */
function hookTask({ app, own: namespace, run }: Operating, target: CompareTarget, phase: Phase) {
  const { startedAt, syncResult } = run;
  const { key, object } = target;
  if (object.metadata.name) return { id: `${phase}|${key}`, key, object, target };
  const { generateName: _, ...metadata } = object.metadata;
  const named = {
    ...object,
    metadata: { ...metadata, name: hookName(object, phase, revisionsOf(syncResult).join("-"), startedAt) },
  } as KubeObject;
  remark(named, instanceOf(app, namespace), app.spec.destination.namespace ?? "");
  const own = keyOf(named);
  return { id: `${phase}|${own}`, key: own, object: named, target: { ...target, key: own, object: named } };
}

/** Pruning runs the waves backwards: the last wave is deleted first. With PruneLast all go after the last wave. */
function pruneTasks(
  extra: readonly { object: KubeObject; resource?: Resource }[],
  options: string[],
  others: Task[],
  isSelected: (key: string) => boolean,
): Task[] {
  const waves = [...new Set(extra.map(({ object }) => waveOf(object)))].sort((a, b) => a - b);
  const last = Math.max(0, ...waves, ...others.filter((t) => t.phase === "Sync").map((t) => t.wave)) + 1;
  return extra
    .map(({ object, resource }) => {
      const key = keyOf(object);
      const mirrored = waves[waves.length - 1 - waves.indexOf(waveOf(object))]!;
      // Set on the object or on the application: an object cannot turn it off.
      const late = [object, undefined].some((one) => syncOption("PruneLast", one, options) === "true");
      const wave = late ? last : mirrored;
      return { id: `Sync|${key}`, key, phase: "Sync" as const, wave, object, hook: false, prune: true, resource };
    })
    .filter(({ key }) => isSelected(key));
}

/** A namespace or CRD that something earlier needs moves in front of it and takes its phase and wave. */
function liftDependencies(tasks: Task[]): void {
  const lift = (from: number, needs: (task: Task) => boolean) => {
    const to = tasks.findIndex((task) => !task.prune && needs(task));
    if (to < 0 || to >= from) return;
    const [task] = tasks.splice(from, 1);
    task!.phase = tasks[to]!.phase;
    task!.wave = tasks[to]!.wave;
    task!.id = `${task!.phase}|${task!.key}`;
    tasks.splice(to, 0, task!);
  };
  for (let i = 0; i < tasks.length; i++) {
    const { object, prune } = tasks[i]!;
    if (prune) continue;
    if (object.kind === "Namespace") lift(i, (t) => t.object.metadata.namespace === object.metadata.name);
    else if (object.kind === "CustomResourceDefinition") {
      const { group, names } = object.spec ?? {};
      lift(i, (t) => gvkOf(t.object).group === group && t.object.kind === names?.kind);
    }
  }
}

/** Groups that wait for each other: same phase and wave. */
export function groupTasks(tasks: readonly Task[]): Task[][] {
  const groups: Task[][] = [];
  for (const task of tasks) {
    const group = groups.at(-1);
    if (group && group[0]!.phase === task.phase && group[0]!.wave === task.wave) group.push(task);
    else groups.push([task]);
  }
  return groups;
}

/** The CRDs of a sync, by the group and kind they bring. */
export function broughtKinds(targets: readonly CompareTarget[]): Set<string> {
  const kinds = new Set<string>();
  for (const { object } of targets) {
    if (object.kind === "CustomResourceDefinition") kinds.add(`${object.spec?.group}/${object.spec?.names?.kind}`);
  }
  return kinds;
}

export const pruneAllowed = (object: KubeObject, options: readonly string[]): boolean =>
  syncOption("Prune", object, options) !== "false" && object.metadata.annotations?.[META.helmKeep] !== "keep";
