import type { KubeObject } from "../object.ts";
import { aggregateHealth, healthOf } from "./health.ts";

const object = (apiVersion: string, kind: string, rest: object, metadata: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: "n", ...metadata },
  ...rest,
});
const deployment = (spec: object, status: object, generation = 1) =>
  object("apps/v1", "Deployment", { spec, status }, { generation });
const pod = (status: object, restartPolicy = "Always") => object("v1", "Pod", { spec: { restartPolicy }, status });
const conditions = (...list: object[]) => ({ status: { conditions: list } });

const cases: [string, { given: KubeObject; want: string | undefined }][] = [
  ["paused deployment", { given: deployment({ paused: true }, {}), want: "Suspended: Deployment is paused" }],
  [
    "deployment not yet observed",
    {
      given: deployment({}, { observedGeneration: 1 }, 2),
      want: "Progressing: Waiting for rollout to finish: observed deployment generation less than desired generation",
    },
  ],
  [
    "deployment over its deadline",
    {
      given: deployment(
        {},
        { observedGeneration: 1, conditions: [{ type: "Progressing", reason: "ProgressDeadlineExceeded" }] },
      ),
      want: 'Degraded: Deployment "n" exceeded its progress deadline',
    },
  ],
  [
    "deployment being updated",
    {
      given: deployment({ replicas: 3 }, { observedGeneration: 1, updatedReplicas: 1 }),
      want: "Progressing: Waiting for rollout to finish: 1 out of 3 new replicas have been updated...",
    },
  ],
  [
    "deployment with old replicas",
    {
      given: deployment({ replicas: 1 }, { observedGeneration: 1, replicas: 2, updatedReplicas: 1 }),
      want: "Progressing: Waiting for rollout to finish: 1 old replicas are pending termination...",
    },
  ],
  [
    "deployment not available",
    {
      given: deployment(
        { replicas: 2 },
        { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 0 },
      ),
      want: "Progressing: Waiting for rollout to finish: 0 of 2 updated replicas are available...",
    },
  ],
  [
    "deployment in full",
    {
      given: deployment(
        { replicas: 2 },
        { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
      ),
      want: "Healthy",
    },
  ],
  [
    "stateful set not yet observed",
    {
      given: object("apps/v1", "StatefulSet", { spec: {}, status: {} }),
      want: "Progressing: Waiting for statefulset spec update to be observed...",
    },
  ],
  [
    "stateful set waiting",
    {
      given: object("apps/v1", "StatefulSet", {
        spec: { replicas: 3 },
        status: { observedGeneration: 1, readyReplicas: 1 },
      }),
      want: "Progressing: Waiting for 2 pods to be ready...",
    },
  ],
  [
    "stateful set partitioned",
    {
      given: object("apps/v1", "StatefulSet", {
        spec: { replicas: 3, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } },
        status: { observedGeneration: 1, readyReplicas: 3, updatedReplicas: 1 },
      }),
      want: "Progressing: Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
    },
  ],
  [
    "stateful set rolling",
    {
      given: object("apps/v1", "StatefulSet", {
        spec: { replicas: 1 },
        status: {
          observedGeneration: 1,
          readyReplicas: 1,
          updatedReplicas: 1,
          updateRevision: "b",
          currentRevision: "a",
        },
      }),
      want: "Progressing: waiting for statefulset rolling update to complete 1 pods at revision b...",
    },
  ],
  [
    "stateful set in full",
    {
      given: object("apps/v1", "StatefulSet", {
        spec: { replicas: 1 },
        status: {
          observedGeneration: 1,
          readyReplicas: 1,
          currentReplicas: 1,
          updateRevision: "a",
          currentRevision: "a",
        },
      }),
      want: "Healthy: statefulset rolling update complete 1 pods at revision a...",
    },
  ],
  [
    "daemon set on delete",
    {
      given: object("apps/v1", "DaemonSet", {
        spec: { updateStrategy: { type: "OnDelete" } },
        status: { desiredNumberScheduled: 2, updatedNumberScheduled: 1 },
      }),
      want: "Healthy: daemon set 1 out of 2 new pods have been updated",
    },
  ],
  [
    "daemon set not available",
    {
      given: object("apps/v1", "DaemonSet", {
        spec: {},
        status: { desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1 },
      }),
      want: 'Progressing: Waiting for daemon set "n" rollout to finish: 1 of 2 updated pods are available...',
    },
  ],
  [
    "replica set that cannot make pods",
    {
      given: object("apps/v1", "ReplicaSet", {
        spec: { replicas: 1 },
        ...conditions({ type: "ReplicaFailure", status: "True", message: "quota" }),
      }),
      want: "Degraded: quota",
    },
  ],
  [
    "pod that cannot pull",
    {
      given: pod({
        phase: "Pending",
        containerStatuses: [{ name: "c", state: { waiting: { reason: "ImagePullBackOff", message: "no image" } } }],
      }),
      want: "Degraded: no image",
    },
  ],
  ["pod pending", { given: pod({ phase: "Pending" }), want: "Progressing" }],
  ["pod ready", { given: pod({ phase: "Running", conditions: [{ type: "Ready", status: "True" }] }), want: "Healthy" }],
  [
    "pod restarted and not ready",
    {
      given: pod({ phase: "Running", containerStatuses: [{ name: "c", lastState: { terminated: {} } }] }),
      want: "Degraded",
    },
  ],
  [
    "pod failed",
    {
      given: pod(
        { phase: "Failed", containerStatuses: [{ name: "c", state: { terminated: { exitCode: 3 } } }] },
        "Never",
      ),
      want: 'Degraded: container "c" failed with exit code 3',
    },
  ],
  [
    "pod out of memory",
    {
      given: pod(
        {
          phase: "Failed",
          containerStatuses: [{ name: "c", state: { terminated: { exitCode: 137, reason: "OOMKilled" } } }],
        },
        "Never",
      ),
      want: "Degraded: OOMKilled",
    },
  ],
  ["pod of a job running", { given: pod({ phase: "Running" }, "Never"), want: "Progressing" }],
  ["claim bound", { given: object("v1", "PersistentVolumeClaim", { status: { phase: "Bound" } }), want: "Healthy" }],
  ["claim lost", { given: object("v1", "PersistentVolumeClaim", { status: { phase: "Lost" } }), want: "Degraded" }],
  [
    "load balancer without address",
    { given: object("v1", "Service", { spec: { type: "LoadBalancer" } }), want: "Progressing" },
  ],
  ["cluster service", { given: object("v1", "Service", { spec: {} }), want: "Healthy" }],
  ["ingress without address", { given: object("networking.k8s.io/v1", "Ingress", {}), want: "Progressing" }],
  [
    "ingress with address",
    {
      given: object("networking.k8s.io/v1", "Ingress", { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } }),
      want: "Healthy",
    },
  ],
  [
    "job failed",
    {
      given: object("batch/v1", "Job", conditions({ type: "Failed", status: "True", message: "backoff" })),
      want: "Degraded: backoff",
    },
  ],
  [
    "job complete",
    { given: object("batch/v1", "Job", conditions({ type: "Complete", status: "True" })), want: "Healthy" },
  ],
  [
    "job suspended",
    {
      given: object("batch/v1", "Job", conditions({ type: "Suspended", status: "True", message: "m" })),
      want: "Suspended",
    },
  ],
  [
    "pod whose first container is tried again",
    {
      given: pod({
        phase: "Pending",
        initContainerStatuses: [{ name: "i", state: { waiting: { reason: "CrashLoopBackOff", message: "again" } } }],
      }),
      want: "Progressing",
    },
  ],
  ["job running", { given: object("batch/v1", "Job", {}), want: "Progressing" }],
  [
    "autoscaler without metrics",
    {
      given: object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        conditions({
          type: "ScalingActive",
          status: "False",
          reason: "FailedGetResourceMetric",
          message: "no metrics",
        }),
      ),
      want: "Degraded: no metrics",
    },
  ],
  [
    "autoscaler at work",
    {
      given: object("autoscaling/v2", "HorizontalPodAutoscaler", conditions({ type: "AbleToScale", status: "True" })),
      want: "Healthy",
    },
  ],
  [
    "autoscaler, new",
    { given: object("autoscaling/v2", "HorizontalPodAutoscaler", {}), want: "Progressing: Waiting to Autoscale" },
  ],
  [
    "API service available",
    {
      given: object(
        "apiregistration.k8s.io/v1",
        "APIService",
        conditions({ type: "Available", status: "True", reason: "Passed", message: "ok" }),
      ),
      want: "Healthy: Passed: ok",
    },
  ],
  [
    "workflow in error",
    {
      given: object("argoproj.io/v1alpha1", "Workflow", { status: { phase: "Error", message: "no" } }),
      want: "Degraded: no",
    },
  ],
  [
    "object being deleted",
    {
      given: object("v1", "Service", { spec: {} }, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
      want: "Progressing: Pending deletion",
    },
  ],
  ["kind without a check", { given: object("v1", "ConfigMap", {}), want: undefined }],
];
test.each(cases)("%s", (_, { given, want }) => {
  const got = healthOf(given);
  expect(got && [got.status, got.message].filter(Boolean).join(": ")).toBe(want);
});

const sums: [string, { given: Parameters<typeof aggregateHealth>[0]; want: string }][] = [
  ["nothing is healthy", { given: [], want: "Healthy" }],
  [
    "the worst counts",
    {
      given: [
        { health: { status: "Progressing" }, missing: false },
        { health: { status: "Degraded" }, missing: false },
      ],
      want: "Degraded",
    },
  ],
  [
    "one missing object does not count",
    { given: [{ health: { status: "Healthy" }, missing: false }, { missing: true }], want: "Healthy" },
  ],
  ["all missing is Missing", { given: [{ missing: true }, { missing: true }], want: "Missing" }],
  ["kinds without a check do not count", { given: [{ missing: false }], want: "Healthy" }],
];
test.each(sums)("application health: %s", (_, { given, want }) => {
  expect(aggregateHealth(given)).toBe(want);
});
