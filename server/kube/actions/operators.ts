import type { KubeObject } from "../object.ts";
import { type Action, annotation, annotationOf, count, Refusal, set, timestamp, touch, write } from "./types.ts";
import { isSuspended, resumeRun, suspendRun } from "./workloads.ts";

/** Flux looks again when this annotation changes. */
const reconcile: Action = {
  name: "reconcile",
  disabled: isSuspended,
  run: touch(annotation("reconcile.fluxcd.io/requestedAt"), (now) => `By Argo CD at: ${now.replace("Z", "")}`),
};
const switchable: Action[] = [
  { name: "suspend", disabled: isSuspended, run: suspendRun },
  { name: "resume", disabled: (object) => !isSuspended(object), run: resumeRun },
];
const flux = [reconcile, ...switchable];

const PAUSED = "autoscaling.keda.sh/paused";
const REPLICAS = "autoscaling.keda.sh/paused-replicas";
const kedaPaused = (object: KubeObject): boolean => annotationOf(object, PAUSED) === "true";
const kedaHeld = (object: KubeObject): boolean => kedaPaused(object) || annotationOf(object, REPLICAS) !== undefined;
const forget = (...names: string[]) =>
  set(...names.map((name): [string[], undefined] => [annotation(name), undefined]));

const scaledJob: Action[] = [
  { name: "pause", disabled: kedaPaused, run: set([annotation(PAUSED), "true"]) },
  { name: "resume", disabled: (object) => !kedaPaused(object), run: forget(PAUSED) },
];
const scaledObject: Action[] = [
  { name: "pause", disabled: kedaHeld, run: set([annotation(PAUSED), "true"]) },
  {
    name: "paused-replicas",
    disabled: kedaPaused,
    parameters: (object) => [{ name: "replicas", default: annotationOf(object, REPLICAS) ?? "0" }],
    run: (object, { parameters }) => {
      const replicas = count(parameters, "replicas");
      if (replicas instanceof Refusal) return replicas;
      return write(object, annotation(REPLICAS), String(replicas));
    },
  },
  { name: "resume", disabled: (object) => !kedaHeld(object), run: forget(PAUSED, REPLICAS) },
];

const isPaused = ({ spec }: KubeObject): boolean => spec?.pause === true;

const LOOP = "cnpg.io/reconciliationLoop";
const isStopped = (object: KubeObject): boolean => annotationOf(object, LOOP) === "disabled";

/** `any` is the one after the primary, `2` the second of the cluster, anything else a whole name. */
function instanceOf({ metadata, status }: KubeObject, wanted: string): string | undefined {
  const healthy: string[] = status?.instancesStatus?.healthy ?? [];
  if (wanted === "any") return healthy[(healthy.indexOf(status?.currentPrimary) + 1) % healthy.length];
  return healthy.find((name) => name === (/^\d+$/.test(wanted) ? `${metadata.name}-${wanted}` : wanted));
}

const promote: Action = {
  name: "promote",
  disabled: ({ status }) => !(status?.instancesStatus?.healthy?.length >= 2),
  parameters: () => [{ name: "instance", default: "any" }],
  run: (object, { parameters, now }) => {
    const { instance = "any" } = parameters;
    const selected = instanceOf(object, instance);
    if (selected === undefined)
      return new Refusal(`Could not find a healthy instance matching the criteria: ${instance}`);
    Object.assign(object.status, {
      targetPrimary: selected,
      targetPrimaryTimestamp: timestamp(now),
      phase: "Switchover in progress",
      phaseReason: `Switching over to ${selected}`,
    });
  },
};

export const operators: Record<string, Action[]> = {
  "source.toolkit.fluxcd.io/Bucket": flux,
  "source.toolkit.fluxcd.io/GitRepository": flux,
  "source.toolkit.fluxcd.io/HelmChart": flux,
  "source.toolkit.fluxcd.io/HelmRepository": flux,
  "source.toolkit.fluxcd.io/OCIRepository": flux,
  "helm.toolkit.fluxcd.io/HelmRelease": flux,
  "kustomize.toolkit.fluxcd.io/Kustomization": flux,
  "image.toolkit.fluxcd.io/ImageRepository": flux,
  "image.toolkit.fluxcd.io/ImageUpdateAutomation": flux,
  "notification.toolkit.fluxcd.io/Receiver": flux,
  "notification.toolkit.fluxcd.io/Alert": switchable,
  "notification.toolkit.fluxcd.io/Provider": switchable,
  "keda.sh/ScaledJob": scaledJob,
  "keda.sh/ScaledObject": scaledObject,
  "postgresql.cnpg.io/Cluster": [
    { name: "restart", run: touch(annotation("kubectl.kubernetes.io/restartedAt")) },
    { name: "reload", run: touch(annotation("cnpg.io/reloadedAt")) },
    promote,
    { name: "suspend", offered: (object) => !isStopped(object), run: set([annotation(LOOP), "disabled"]) },
    { name: "resume", offered: isStopped, run: forget(LOOP) },
  ],
  "psmdb.percona.com/PerconaServerMongoDB": [
    { name: "pause", disabled: isPaused, run: set([["spec", "pause"], true]) },
    { name: "unpause", disabled: (object) => !isPaused(object), run: set([["spec", "pause"], false]) },
  ],
  "promoter.argoproj.io/PullRequest": [
    {
      name: "merge",
      disabled: ({ spec }) => spec?.state !== "open",
      run: set([["spec", "state"], "merged"]),
    },
  ],
};
