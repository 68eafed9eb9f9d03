import { compare } from "../../base/lang/compare.ts";
import type { KubeObject } from "../../kube/object.ts";
import { rankOf } from "../../kube/order.ts";
import { META } from "./application.ts";

export type Phase = "PreSync" | "Sync" | "PostSync" | "SyncFail";
export const PHASES: readonly Phase[] = ["PreSync", "Sync", "PostSync", "SyncFail"];

export interface Ordered {
  phase: Phase;
  wave: number;
  object: KubeObject;
}

/** Phase, then wave, then the rank of the kind, then name: kinds without a rank stand among each other by name. The namespace is not part of it. */
export function compareTasks(a: Ordered, b: Ordered): number {
  return (
    PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase) ||
    a.wave - b.wave ||
    rankOf(a.object.kind) - rankOf(b.object.kind) ||
    compare(a.object.metadata.name, b.object.metadata.name) ||
    compare(a.object.kind, b.object.kind)
  );
}

/** `+3` is 3; anything that is no whole number is 0. Argo's annotation beats Helm's weight. */
export function waveOf(object: KubeObject): number {
  const { annotations } = object.metadata;
  for (const text of [annotations?.[META.syncWave], annotations?.[META.helmWeight]]) {
    if (text !== undefined && /^[+-]?\d{1,15}$/.test(text)) return Number(text);
  }
  return 0;
}

export type DeletionHook = "PreDelete" | "PostDelete";

export interface Hook {
  phases: Phase[];
  /** Around the deletion of the application. */
  partings: DeletionHook[];
  /** Set only if the object is skipped completely. */
  skip: boolean;
  deletePolicies: string[];
}

const HELM_HOOKS: Record<string, Phase> = {
  // Counts only beside other hook types; alone it makes no hook.
  "crd-install": "PreSync",
  "pre-install": "PreSync",
  "pre-upgrade": "PreSync",
  "post-install": "PostSync",
  "post-upgrade": "PostSync",
};
const HELM_PARTINGS: Record<string, DeletionHook> = { "pre-delete": "PreDelete", "post-delete": "PostDelete" };
const HELM_POLICIES: Record<string, string> = {
  "hook-succeeded": "HookSucceeded",
  "hook-failed": "HookFailed",
  "before-hook-creation": "BeforeHookCreation",
};

const isPhase = (name: string): name is Phase => PHASES.includes(name as Phase);
const isParting = (name: string): name is DeletionHook => name === "PreDelete" || name === "PostDelete";

/** The hook settings of an object; undefined for an ordinary object. An Argo annotation with a known hook overrides Helm's. */
export function hookOf(object: KubeObject): Hook | undefined {
  const { annotations } = object.metadata;
  const helm = annotations?.[META.helmHook];
  // The annotation alone makes a hook, also where nothing it says is known: such an object is never applied.
  if (annotations?.[META.hook] === undefined && (helm === undefined || helm === "crd-install")) return undefined;
  const argo = csv(annotations?.[META.hook]).filter((name) => isPhase(name) || isParting(name) || name === "Skip");
  const named = argo.length ? argo.filter(isPhase) : csv(helm).flatMap((name) => HELM_HOOKS[name] ?? []);
  const partings = argo.length ? argo.filter(isParting) : csv(helm).flatMap((name) => HELM_PARTINGS[name] ?? []);
  const policies = [
    ...csv(annotations?.[META.hookDelete]),
    ...csv(annotations?.[META.helmHookDelete]).flatMap((p) => HELM_POLICIES[p] ?? []),
  ];
  return {
    phases: [...new Set(named)],
    partings: [...new Set(partings)],
    skip: argo.length === 1 && argo[0] === "Skip",
    deletePolicies: policies.length ? policies : ["BeforeHookCreation"],
  };
}

/** The name of a hook that has only `generateName`: another one for each run of an operation. */
export function hookName(object: KubeObject, phase: Phase | DeletionHook, revision: string, startedAt: string): string {
  return `${object.metadata.generateName ?? ""}${revision.slice(0, 7)}-${phase}-${Math.floor(Date.parse(startedAt) / 1_000)}`.toLowerCase();
}

export function csv(text: string | undefined): string[] {
  return [
    ...new Set(
      (text ?? "")
        .split(",")
        .map((part) => part.trim())
        .filter(Boolean),
    ),
  ];
}

/** A sync option's value: the object's own annotation beats the application's list. */
export function syncOption(
  name: string,
  object: KubeObject | undefined,
  appOptions: readonly string[] | undefined,
): string | undefined {
  const find = (options: readonly string[]) =>
    options.find((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
  return (
    find(csv(object?.metadata.annotations?.[META.syncOptions])) ??
    find((appOptions ?? []).map((option) => option.trim()))
  );
}
