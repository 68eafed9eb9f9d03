import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import type { Cluster } from "./cluster.ts";

const APPS = { group: "apps", version: "v1", namespaced: true };
const REPLICA_SETS: Resource = { ...APPS, kind: "ReplicaSet", plural: "replicasets" };
const CONTROLLER_REVISIONS: Resource = { ...APPS, kind: "ControllerRevision", plural: "controllerrevisions" };
const REVISION = "deployment.kubernetes.io/revision";

/** The kinds that roll out. */
export const WORKLOADS = {
  Deployment: { ...APPS, kind: "Deployment", plural: "deployments" },
  StatefulSet: { ...APPS, kind: "StatefulSet", plural: "statefulsets" },
  DaemonSet: { ...APPS, kind: "DaemonSet", plural: "daemonsets" },
} satisfies Record<string, Resource>;

/** One state that a workload had. */
export interface Revision {
  number: number;
  name: string;
  /** How to go back to it: a body and the type it is sent as. */
  patch: { body: unknown; contentType: string };
}

/** All revisions that the cluster still has, the newest last. */
export async function revisionsOf({ client }: Cluster, workload: KubeObject): Promise<Outcome<Revision[]>> {
  const { namespace, uid } = workload.metadata;
  const deployment = workload.kind === "Deployment";
  const listed = await client.list(deployment ? REPLICA_SETS : CONTROLLER_REVISIONS, { namespace: namespace! });
  if (listed.kind !== "done") return listed;
  const own = listed.value.items.filter(({ metadata }) =>
    metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.controller),
  );
  const found = own.map((one) => (deployment ? ofReplicaSet(one) : ofControllerRevision(one)));
  return done(found.filter(({ number }) => number > 0).sort((a, b) => a.number - b.number));
}

function ofReplicaSet({ metadata, spec }: KubeObject): Revision {
  const { "pod-template-hash": _, ...labels } = spec.template.metadata?.labels ?? {};
  const template = { ...spec.template, metadata: { ...spec.template.metadata, labels } };
  const body = [{ op: "replace", path: "/spec/template", value: template }];
  const number = Number(metadata.annotations?.[REVISION] ?? 0);
  return { number, name: metadata.name, patch: { body, contentType: "application/json-patch+json" } };
}

/** It holds the patch itself. */
const ofControllerRevision = ({ metadata, revision, data }: KubeObject): Revision => ({
  number: Number(revision ?? 0),
  name: metadata.name,
  patch: { body: data, contentType: "application/strategic-merge-patch+json" },
});

/** The revision that a workload is at now; 0 when it is unknown. */
export function currentOf(workload: KubeObject, revisions: readonly Revision[]): number {
  if (workload.kind === "Deployment") return Number(workload.metadata.annotations?.[REVISION] ?? 0);
  const name = workload.status?.updateRevision;
  return (name ? revisions.find((revision) => revision.name === name) : revisions.at(-1))?.number ?? 0;
}

/** The revision to go back to: the one that is named, or the one before the current one. */
export function previousOf(
  workload: KubeObject,
  revisions: readonly Revision[],
  wanted: number | undefined,
): Outcome<Revision> {
  const current = currentOf(workload, revisions);
  const kept = revisions.map(({ number }) => number).join(", ") || "none";
  const found =
    wanted === undefined
      ? revisions.filter(({ number }) => number < current).at(-1)
      : revisions.find((r) => r.number === wanted);
  if (found) return done(found);
  const which = wanted === undefined ? `a revision before ${current}` : `the revision ${wanted}`;
  return stop("RevisionNotFound", `${which} is not there; the cluster keeps ${kept}`);
}
