import type { KubeObject } from "../kube/object.ts";
import { META } from "./application.ts";

/** Kinds in the order in which they are made; all others come after. */
const KIND_ORDER = (
  "Namespace NetworkPolicy ResourceQuota LimitRange PodSecurityPolicy PodDisruptionBudget ServiceAccount Secret SecretList ConfigMap StorageClass " +
  "PersistentVolume PersistentVolumeClaim CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding ClusterRoleBindingList Role RoleList " +
  "RoleBinding RoleBindingList Service DaemonSet Pod ReplicationController ReplicaSet Deployment HorizontalPodAutoscaler StatefulSet Job CronJob " +
  "IngressClass Ingress APIService"
).split(" ");
const RANK = new Map(KIND_ORDER.map((kind, index) => [kind, index - KIND_ORDER.length]));

export type Phase = "PreSync" | "Sync" | "PostSync" | "SyncFail";
export const PHASES: readonly Phase[] = ["PreSync", "Sync", "PostSync", "SyncFail"];

export interface Ordered {
  phase: Phase;
  wave: number;
  object: KubeObject;
}

/** Phase, then wave, then kind, then name; the namespace is not part of it. */
export function compareTasks(a: Ordered, b: Ordered): number {
  return (
    PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase) ||
    a.wave - b.wave ||
    (RANK.get(a.object.kind) ?? 0) - (RANK.get(b.object.kind) ?? 0) ||
    (a.object.kind < b.object.kind ? -1 : a.object.kind > b.object.kind ? 1 : 0) ||
    (a.object.metadata.name < b.object.metadata.name ? -1 : a.object.metadata.name > b.object.metadata.name ? 1 : 0)
  );
}

/** `+3` is 3; anything that is no whole number is 0. Argo's annotation beats Helm's weight. */
export function waveOf(object: KubeObject): number {
  const { annotations } = object.metadata;
  for (const text of [annotations?.[META.syncWave], annotations?.[META.helmWeight]]) {
    if (text !== undefined && /^[+-]?\d{1,9}$/.test(text)) return Number(text);
  }
  return 0;
}

export interface Hook {
  phases: Phase[];
  /** Named phases that this version does not run: those around the deletion of an application. */
  unsupported: string[];
  /** Only when the object is to be left alone altogether. */
  skip: boolean;
  deletePolicies: string[];
}

const HELM_HOOKS: Record<string, Phase> = {
  "pre-install": "PreSync",
  "pre-upgrade": "PreSync",
  "post-install": "PostSync",
  "post-upgrade": "PostSync",
};
const HELM_POLICIES: Record<string, string> = {
  "hook-succeeded": "HookSucceeded",
  "hook-failed": "HookFailed",
  "before-hook-creation": "BeforeHookCreation",
};

/** What makes an object a hook; undefined for an ordinary one. An Argo annotation, whatever it says, silences Helm's. */
export function hookOf(object: KubeObject): Hook | undefined {
  const { annotations } = object.metadata;
  const argo = csv(annotations?.[META.hook]);
  const helm = csv(annotations?.[META.helmHook]);
  if (argo.length === 0 && (helm.length === 0 || (helm.length === 1 && helm[0] === "crd-install"))) return undefined;
  const named = argo.length
    ? argo.filter((name): name is Phase => PHASES.includes(name as Phase))
    : helm.flatMap((name) => HELM_HOOKS[name] ?? []);
  const unsupported = [
    ...argo.filter((name) => /^(Pre|Post)Delete$/.test(name)),
    ...(argo.length ? [] : helm.filter((name) => /^(pre|post)-delete$/.test(name))),
  ];
  const policies = [
    ...csv(annotations?.[META.hookDelete]),
    ...csv(annotations?.[META.helmHookDelete]).flatMap((p) => HELM_POLICIES[p] ?? []),
  ];
  return {
    phases: [...new Set(named)],
    unsupported,
    skip: argo.length === 1 && argo[0] === "Skip",
    deletePolicies: policies.length ? policies : ["BeforeHookCreation"],
  };
}

/** The name of a hook that has only `generateName`: another one for each run of an operation. */
export function hookName(object: KubeObject, phase: Phase, revision: string, startedAt: string): string {
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
export function syncOption(name: string, object: KubeObject | undefined, appOptions: readonly string[] | undefined): string | undefined {
  const find = (options: readonly string[]) => options.find((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
  return find(csv(object?.metadata.annotations?.[META.syncOptions])) ?? find((appOptions ?? []).map((option) => option.trim()));
}
