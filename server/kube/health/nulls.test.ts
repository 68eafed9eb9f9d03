import { healthOf } from "./health.ts";
import { type Case, condition, conditions, judged } from "./testing.ts";

const upgrade = (upgradeInProgress: unknown) => ({
  meta: { generation: 1 },
  status: { observedGeneration: 1, upgradeInProgress, ...conditions("ChildResourcesHealthy=True") },
});
const scaled = (status: object) => ({
  spec: { replicas: 1 },
  status: { observedGeneration: 1, replicas: 1, readyReplicas: 1, ...status },
});
const PAUSED = { spec: { updateStrategy: { paused: "no" } }, meta: { generation: 1 } };

// A null means the same as nothing; of two conditions of one type, and of words that no release writes, each kind believes what it reads.
const cases: Case[] = [
  [
    "gloo.solo.io/Upstream",
    "a status of null",
    { status: null as unknown as object },
    "Progressing: Update in progress",
  ],
  [
    "ceph.rook.io/CephObjectStore",
    "a phase of null",
    { status: { phase: null } },
    "Progressing: Waiting for status to be reported",
  ],
  [
    "kustomize.toolkit.fluxcd.io/Kustomization",
    "an empty item",
    { status: { conditions: [null, condition("Ready=True")] } },
    "Healthy",
  ],
  [
    "operator.victoriametrics.com/VMAgent",
    "a generation of null",
    { meta: { generation: null }, status: { updateStatus: "paused" } },
    "Suspended: Reconciliation is paused",
  ],
  [
    "apps/StatefulSet",
    "no revisions",
    scaled({}),
    "Healthy: statefulset rolling update complete 0 pods at revision ...",
  ],
  [
    "apps/StatefulSet",
    "a first revision",
    scaled({ updateRevision: "" }),
    "Healthy: statefulset rolling update complete 0 pods at revision ...",
  ],
  [
    "apps/ReplicaSet",
    "the first failure counts",
    { status: conditions("ReplicaFailure=False", "ReplicaFailure=True: no") },
    "Healthy",
  ],
  [
    "iam.aws.crossplane.io/Role",
    "paused, and synced before",
    { status: conditions("Ready=True", "Synced=False(ReconcilePaused)", "Synced=False(Other)") },
    "Suspended: ReconcilePaused",
  ],
  [
    "rds.aws.crossplane.io/DBCluster",
    "the failure is told",
    { status: conditions("Synced=False(ReconcileError): no", "Synced=False(Other): x") },
    "Degraded: no",
  ],
  [
    "stacks.crossplane.io/ClusterStackInstall",
    "ready once",
    { status: { conditionedStatus: conditions("Ready=False(A)", "Ready=True(B)") } },
    "Healthy: B",
  ],
  [
    "apps.3scale.net/APIManager",
    "available once",
    { status: conditions("Available=True", "Available=False") },
    "Healthy: 3scale APIManager is available",
  ],
  ["numaplane.numaproj.io/PipelineRollout", "no upgrade", upgrade(""), "Healthy: Healthy"],
  ["numaplane.numaproj.io/PipelineRollout", "an upgrade", upgrade("Progressive"), "Progressing: Update in progress"],
  [
    "apps.kruise.io/CloneSet",
    "a pause that is not a boolean",
    { ...PAUSED, status: { observedGeneration: 1, replicas: 1, updatedAvailableReplicas: 1 } },
    "Healthy: All Cloneset workloads are ready and updated",
  ],
  [
    "flagger.app/Canary",
    "a condition without words",
    { status: { phase: "Succeeded", conditions: [condition("A=True"), condition("B=True: done")] } },
    "Healthy: Succeeded --- done",
  ],
];
test.each(cases)("%s: %s", (kind, _, given, want) => {
  expect(judged(kind, given)).toBe(want);
});

test.each([
  ["apps/v1beta1", "Deployment", "Deployment"],
  ["apps/v1beta2", "StatefulSet", "StatefulSet"],
  ["batch/v1beta1", "Job", "Job"],
  ["autoscaling/v2beta2", "HorizontalPodAutoscaler", "HPA"],
])("nothing is known of %s %s", (apiVersion, kind, name) => {
  expect(healthOf({ apiVersion, kind, metadata: { name: "a" } })).toEqual({
    status: "Unknown",
    message: `unsupported ${name} GVK: ${apiVersion}, Kind=${kind}`,
  });
});

test("conditions of an HPA v1 that are null or empty", () => {
  const hpa = (text: string) =>
    healthOf({
      apiVersion: "autoscaling/v1",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "a", annotations: { "autoscaling.alpha.kubernetes.io/conditions": text } },
    });
  expect(hpa("null")).toEqual({ status: "Progressing", message: "Waiting to Autoscale" });
  expect(hpa("")?.status).toBe("Unknown");
});

test("a Pod whose restart policy is not known", () => {
  const pod = (status: object) => healthOf({ apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, status });
  expect(pod({ phase: "Running" })).toEqual({ status: "Unknown" });
  expect(pod({ phase: "Pending" })).toEqual({ status: "Progressing" });
});
