import { at, type Case, condition, conditions, judged } from "./testing.ts";

/** Branches in which the order of the conditions, a missing field or an unusual reason decides. */
const CRD = "apiextensions.k8s.io/CustomResourceDefinition";
const MANAGED = "rds.crossplane.io/Instance";
const ROUTE = "gateway.networking.k8s.io/HTTPRoute";
const GRPC = "gateway.networking.k8s.io/GRPCRoute";
const SAP = "services.cloud.sap.com/ServiceBinding";
const SPOT = "spot.io/SpotDeployment";
const STRATEGY = "promoter.argoproj.io/PromotionStrategy";
const COMMIT = "promoter.argoproj.io/CommitStatus";
const INFERENCE = "serving.kserve.io/InferenceService";
const ISB = "numaplane.numaproj.io/ISBServiceRollout";
const STACK = "stacks.crossplane.io/ClusterStackInstall";
const GRAFANA = "grafana.integreatly.org/GrafanaFolder";

const of = (generation: number, text: string) => ({ ...condition(text), observedGeneration: generation });
const parents = (...list: object[]) => ({
  meta: { generation: 2 },
  status: { parents: [{ parentRef: { name: "p" }, conditions: list }] },
});
const environment = (active: object, proposed: object, branch = "prod") => ({ branch, active, proposed });
const strategy = (...environments: object[]) => ({ status: { ...conditions("Ready=True"), environments } });
const dry = (sha?: string) => ({ dry: sha === undefined ? {} : { sha } });

const cases: Case[] = [
  [
    CRD,
    "a schema that is refused, before it is established",
    { status: conditions("NonStructuralSchema=True: bad") },
    "Degraded: Schema violations found: bad",
  ],
  [
    CRD,
    "refused names come before its end",
    { status: conditions("NamesAccepted=False: taken", "Terminating=True") },
    "Degraded: CRD names have not been accepted: taken",
  ],
  [
    CRD,
    "its end comes before refused names",
    { status: conditions("Terminating=True: soon", "NamesAccepted=False") },
    "Progressing: CRD is terminating: soon",
  ],
  [
    CRD,
    "installing, and not yet known whether established",
    { status: conditions("Established=Unknown(Installing)") },
    "Progressing: CRD is being installed",
  ],
  [
    MANAGED,
    "ready once, and not synced any more",
    { status: conditions("Ready=True", "Synced=False: denied") },
    "Degraded: denied",
  ],
  [
    MANAGED,
    "ready, and its last operation failed",
    { status: conditions("Ready=True", "LastAsyncOperation=False: quota") },
    "Degraded: quota",
  ],
  [
    MANAGED,
    "synced and ready",
    { status: conditions("Synced=True", "Ready=True") },
    "Healthy: Resource is up-to-date.",
  ],
  [STACK, "ready without a reason", { status: { conditionedStatus: conditions("Ready=True") } }, "Healthy"],
  [
    STACK,
    "nothing known",
    { status: { conditionedStatus: conditions() } },
    "Progressing: Waiting for stack to be installed",
  ],
  [
    ROUTE,
    "one condition of an older generation",
    parents(of(2, "Accepted=True"), of(1, "ResolvedRefs=True")),
    "Progressing: Waiting for HTTPRoute status",
  ],
  [ROUTE, "conditions without a generation", parents(condition("Accepted=True")), "Healthy: HTTPRoute is healthy"],
  [ROUTE, "refused without a generation", parents(condition("Accepted=False: no")), "Degraded: Parent p: no"],
  [
    GRPC,
    "one condition of an older generation",
    parents(of(2, "Accepted=True"), of(1, "ResolvedRefs=True")),
    "Healthy: GRPCRoute is healthy",
  ],
  [GRPC, "conditions without a generation", parents(condition("Accepted=True")), "Healthy: GRPCRoute is healthy"],
  [
    GRPC,
    "all of an older generation",
    parents(of(1, "ResolvedRefs=False: no such Service")),
    "Degraded: Parent p: no such Service",
  ],
  [
    SAP,
    "failed, and something older after it",
    { meta: { generation: 2 }, status: { conditions: [of(2, "Failed=True: no"), of(1, "Ready=True")] } },
    "Degraded: no",
  ],
  [
    SAP,
    "something older before its failure",
    { meta: { generation: 2 }, status: { conditions: [of(1, "Ready=True"), of(2, "Failed=True")] } },
    "Progressing: Waiting for spec update to be observed",
  ],
  [SPOT, "no conditions, and a phase", { status: { phase: "Degraded", conditions: [] } }, "Healthy"],
  [
    SPOT,
    "on its way",
    { status: { phase: "Progressing", conditions: [] } },
    "Progressing: Waiting for rollout to finish steps",
  ],
  [SPOT, "paused", { status: { phase: "Degraded", ...conditions("Paused=True") } }, "Suspended: Rollout is paused"],
  [
    "argoproj.io/Rollout",
    "a phase of a later release",
    { spec: {}, status: { phase: "Resting", message: "zzz" } },
    "Unknown: Lua returned an invalid health status",
  ],
  [
    "apps.kruise.io/DaemonSet",
    "no partition",
    {
      meta: { generation: 2 },
      spec: { updateStrategy: { rollingUpdate: {} } },
      status: { observedGeneration: 2, desiredNumberScheduled: 1, updatedNumberScheduled: 1, numberAvailable: 1 },
    },
    "Healthy: All Daemonset workloads are ready and updated",
  ],
  [
    "cluster.x-k8s.io/MachineDeployment",
    "running while it is scaled",
    { status: { phase: "Running", replicas: 3, readyReplicas: 2 } },
    "Healthy: Machines are running under this deployment",
  ],
  [
    "core.gardener.cloud/Shoot",
    "ill for a moment",
    {
      meta: { labels: { "shoot.gardener.cloud/status": "unhealthy" } },
      status: { conditions: [{ status: "False", lastTransitionTime: new Date().toISOString() }] },
    },
    "Degraded: Component state: Unhealthy",
  ],
  [
    "karpenter.sh/NodePool",
    "its class is not ready yet",
    { status: conditions("NodeClassReady=False: no class") },
    "Progressing: Waiting for NodePool to be ready",
  ],
  [
    "kafka.banzaicloud.io/KafkaCluster",
    "rolling, before any broker is known",
    { status: { state: "ClusterRollingUpgrading" } },
    "Progressing: Kafka Cluster is Rolling Upgrading.",
  ],
  [
    "projectcontour.io/HTTPProxy",
    "another condition is False where it includes others",
    { meta: { generation: 1 }, spec: { includes: [] }, status: { conditions: [of(1, "Other=False")] } },
    "Healthy: HTTPProxy inclusions cannot be health checked",
  ],
  [
    "k8s.mariadb.com/User",
    "a condition without a message, and not Ready",
    { status: conditions("Other=True") },
    "Progressing",
  ],
  [
    "opentelemetry.io/OpenTelemetryCollector",
    "no node for its daemon",
    { spec: { mode: "daemonset" }, status: { scale: { statusReplicas: "0/0" } } },
    "Healthy: DaemonSet has no eligible nodes (0/0)",
  ],
  [
    GRAFANA,
    "two conditions without a reason",
    { status: conditions("FolderSynchronized=True", "Other=True") },
    "Healthy",
  ],
  [
    INFERENCE,
    "nothing but that it is stopped, which is unknown",
    { status: conditions("Stopped=Unknown") },
    "Progressing",
  ],
  [
    INFERENCE,
    "not stopped",
    { status: conditions("Stopped=False", "Ready=True") },
    "Healthy: InferenceService is healthy.",
  ],
  [
    ISB,
    "its upgrade failed, and then its child",
    at(1, 1, conditions("ProgressiveUpgradeSucceeded=False", "ChildResourcesHealthy=False(ISBSvcFailed): no")),
    "Degraded: Progressive upgrade failed",
  ],
  [ISB, "nothing is known", at(1, 1), "Unknown: Unknown status"],
  [
    "numaplane.numaproj.io/NumaflowControllerRollout",
    "has no upgrade by steps",
    at(1, 1, conditions("ProgressiveUpgradeSucceeded=False", "ChildResourcesHealthy=True")),
    "Healthy: Healthy",
  ],
  [
    COMMIT,
    "not ready for another reason than an error",
    { status: conditions("Ready=False(Denied): no access") },
    "Degraded: Commit status reconciliation failed (Denied): no access",
  ],
  [
    "promoter.argoproj.io/ArgoCDCommitStatus",
    "not ready, and without a reason",
    { status: conditions("Ready=False") },
    "Degraded: Argo CD commit status reconciliation failed (Unknown): Unknown error",
  ],
  [
    STRATEGY,
    "only the hydrator's note of a proposal",
    strategy(environment(dry("1234567890"), { ...dry(), note: { drySha: "abcdefghij" } })),
    "Progressing: Promotion in progress for environment 'prod' from '1234567' to '': 0 pending, 0 successful, 0 failed. Hydrator has processed dry commit 'abcdefg'. ",
  ],
  [
    STRATEGY,
    "an empty note",
    strategy(environment(dry("1234567890"), { ...dry("1234567890"), note: { drySha: "" } })),
    "Healthy: All environments are up-to-date on commit '1234567'. Hydrator has processed dry commit '1234567'.",
  ],
  [
    STRATEGY,
    "the first environment without a proposal",
    strategy(environment(dry("1"), dry()), environment(dry(), dry(), "dev")),
    "Progressing: The proposed commit DRY SHA is missing or empty in environment 'prod'.",
  ],
];
test.each(cases)("%s: %s", (kind, _, given, want) => {
  expect(judged(kind, given)).toBe(want);
});

test.each(["argoproj.io/AnalysisRun", "argoproj.io/Experiment", SPOT])(
  "%s counts for nothing before it has said something",
  (kind) => {
    expect(judged(kind, { status: {} })).toBeUndefined();
  },
);
