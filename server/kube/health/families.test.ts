import { at, type Case, condition, conditions, judged } from "./testing.ts";

const cases: Case[] = [
  // cert-manager
  [
    "cert-manager.io/Certificate",
    "issuing comes before ready",
    { status: conditions("Ready=True: ok", "Issuing=True: renewing") },
    "Progressing: renewing",
  ],
  ["cert-manager.io/Certificate", "nothing said", {}, "Progressing: Waiting for certificate"],
  ["cert-manager.io/Issuer", "not ready", { status: conditions("Ready=False: no account") }, "Degraded: no account"],
  [
    "acme.cert-manager.io/Challenge",
    "refused",
    { status: { state: "invalid", reason: "wrong record" } },
    "Degraded: wrong record",
  ],
  [
    "acme.cert-manager.io/Challenge",
    "waits for a record",
    { status: { state: "pending", reason: "no record yet" } },
    "Progressing: no record yet",
  ],
  [
    "acme.cert-manager.io/Order",
    "pending, with a reason",
    { status: { state: "pending", reason: "r" } },
    "Progressing: Order is pending",
  ],
  [
    "acme.cert-manager.io/Order",
    "a state of later releases",
    { status: { state: "parked" } },
    "Progressing: Order is parked",
  ],
  // Flux
  [
    "kustomize.toolkit.fluxcd.io/Kustomization",
    "suspended",
    { spec: { suspend: true } },
    "Suspended: Kustomization is suspended",
  ],
  [
    "kustomize.toolkit.fluxcd.io/Kustomization",
    "ready",
    { status: conditions("Ready=True(Succeeded)") },
    "Healthy: Succeeded",
  ],
  [
    "kustomize.toolkit.fluxcd.io/Kustomization",
    "at work",
    { status: conditions("Ready=Unknown(Progressing)", "Reconciling=True(New)") },
    "Progressing: Progressing",
  ],
  [
    "source.toolkit.fluxcd.io/GitRepository",
    "fetched but not kept",
    { status: conditions("Ready=True(Succeeded)") },
    "Degraded: Succeeded",
  ],
  [
    "source.toolkit.fluxcd.io/GitRepository",
    "outdated",
    { status: conditions("Ready=False(Failed)", "ArtifactOutdated=True(NewRevision)") },
    "Degraded: Failed NewRevision",
  ],
  [
    "helm.toolkit.fluxcd.io/HelmRelease",
    "released",
    { spec: {}, status: conditions("Ready=True(Installed)", "Released=True(Installed)") },
    "Healthy: Installed",
  ],
  ["notification.toolkit.fluxcd.io/Receiver", "not reconciled", {}, "Progressing: Status unknown"],
  // Crossplane, Upbound, Config Connector: whatever the kind
  [
    "s3.aws.example.crossplane.io/Thing",
    "any kind of any provider",
    { status: conditions("Synced=True", "Ready=True") },
    "Healthy: Resource is up-to-date.",
  ],
  [
    "s3.aws.example.crossplane.io/Thing",
    "not synced",
    { status: conditions("Synced=False: denied", "Ready=True") },
    "Degraded: denied",
  ],
  [
    "s3.aws.upbound.io/Bucket",
    "not synced, after ready",
    { status: conditions("Ready=True", "Synced=False: denied") },
    "Degraded: denied",
  ],
  ["gcp.upbound.io/ProviderConfig", "nothing to say", { status: {} }, "Healthy: Resource is up-to-date."],
  ["gcp.upbound.io/Composition", "a kind that does report", { status: {} }, "Progressing: Provisioning ..."],
  ["apiextensions.crossplane.io/Composition", "nothing to say", { status: {} }, "Healthy: Resource is up-to-date."],
  ["gcp.upbound.io/ProviderConfig", "in use", { status: { users: 2 } }, "Healthy: Resource is in use."],
  [
    "iam.aws.crossplane.io/Role",
    "paused",
    { status: conditions("Synced=False(ReconcilePaused)") },
    "Suspended: ReconcilePaused",
  ],
  [
    "sql.cnrm.cloud.google.com/SQLUser",
    "waits for another",
    { status: conditions("Ready=False(DependencyNotReady): no instance") },
    "Suspended: no instance",
  ],
  [
    "sql.cnrm.cloud.google.com/SQLUser",
    "not seen yet",
    at(2, 1, conditions("Ready=True(UpToDate): ok")),
    "Progressing: Update in progress",
  ],
  // Argo
  [
    "argoproj.io/Rollout",
    "its own phase",
    { ...at(2, 2), status: { observedGeneration: "2", phase: "Paused", message: "CanaryPauseStep" } },
    "Suspended: CanaryPauseStep",
  ],
  [
    "argoproj.io/Rollout",
    "not observed",
    { meta: { generation: 3 }, status: { observedGeneration: "2" } },
    "Progressing: Waiting for rollout spec update to be observed",
  ],
  [
    "argoproj.io/ApplicationSet",
    "a failure further down counts first",
    { status: conditions("ResourcesUpToDate=True: ok", "ErrorOccurred=True: no repository") },
    "Degraded: no repository",
  ],
  [
    "argoproj.io/AnalysisRun",
    "inconclusive",
    { status: { phase: "Inconclusive" } },
    "Unknown: Analysis run was inconclusive",
  ],
  // Kubernetes itself
  [
    "batch/CronJob",
    "the last run failed",
    { spec: {}, status: { lastScheduleTime: "2026-01-02T00:00:00Z", lastSuccessfulTime: "2026-01-01T00:00:09Z" } },
    "Degraded: CronJob has not completed its last execution successfully",
  ],
  ["batch/CronJob", "never scheduled", { spec: {}, status: {} }, "Healthy: CronJob has not been scheduled yet"],
  [
    "apiextensions.k8s.io/CustomResourceDefinition",
    "a name that is taken",
    { status: conditions("NamesAccepted=False: taken", "Established=False") },
    "Degraded: CRD names have not been accepted: taken",
  ],
  [
    "apiextensions.k8s.io/CustomResourceDefinition",
    "the condition that counts gives the words",
    { status: conditions("NonStructuralSchema=True: no type", "Established=True: it is served") },
    "Degraded: Schema violations found: no type",
  ],
  [
    "policy/PodDisruptionBudget",
    "too few pods",
    { status: conditions("DisruptionAllowed=False(InsufficientPods)") },
    "Healthy: PodDisruptionBudget has InsufficientPods",
  ],
  ["snapshot.storage.k8s.io/VolumeSnapshot", "failed", { status: { error: { message: "full" } } }, "Degraded: full"],
  // Gateways
  [
    "gateway.networking.k8s.io/HTTPRoute",
    "a parent that speaks of an older generation does not count",
    {
      meta: { generation: 2 },
      status: {
        parents: [
          { parentRef: { name: "old" }, conditions: [{ type: "Accepted", status: "False", observedGeneration: 1 }] },
          {
            parentRef: { name: "new" },
            conditions: [{ type: "Accepted", status: "False", observedGeneration: 2, message: "no listener" }],
          },
        ],
      },
    },
    "Degraded: Parent new: no listener",
  ],
  [
    "gateway.networking.k8s.io/TLSRoute",
    "one parent is done, the other at it",
    {
      status: {
        parents: [
          { parentRef: { name: "a" }, ...conditions("Accepted=True", "ResolvedRefs=True") },
          { parentRef: { name: "b" }, ...conditions("Accepted=True", "ResolvedRefs=True", "Programmed=False: soon") },
        ],
      },
    },
    "Progressing: Parent b: soon",
  ],
  [
    "gateway.networking.k8s.io/TLSRoute",
    "half of what is needed is said",
    { status: { parents: [{ parentRef: { name: "a" }, ...conditions("Accepted=True") }] } },
    "Progressing: Parent a: Waiting for TLSRoute conditions",
  ],
  [
    "gateway.networking.k8s.io/Gateway",
    "a listener",
    { status: { listeners: [{ conditions: [condition("Programmed=False")] }] } },
    "Progressing: Listener: Listener is still being programmed",
  ],
  ["gloo.solo.io/Upstream", "a number for a state", { status: { state: 2, reason: "no route" } }, "Degraded: no route"],
  [
    "gateway.solo.io/RouteTable",
    "one namespace is enough",
    { status: { statuses: { a: {}, b: { state: "Accepted" } } } },
    "Healthy: The resource has been validated",
  ],
  // Messages
  [
    "kafka.strimzi.io/Kafka",
    "being created",
    { status: conditions("NotReady=True(Creating): wait") },
    "Progressing: Waiting for Kafka Cluster",
  ],
  ["kafka.strimzi.io/KafkaTopic", "refused", { status: conditions("NotReady=True(Invalid): no") }, "Degraded: no"],
  [
    "rabbitmq.com/Vhost",
    "made",
    { status: conditions("Ready=True(SuccessfulCreateOrUpdate)") },
    "Healthy: RabbitMQ vhost ready",
  ],
  [
    "rabbitmq.com/RabbitmqCluster",
    "scaled to nothing",
    { spec: { replicas: 0 }, status: conditions("AllReplicasReady=False(ScaledToZero)") },
    "Suspended: RabbitmqCluster is scaled to 0 replicas",
  ],
  [
    "platform.confluent.io/SchemaRegistry",
    "provisioning",
    { status: { phase: "PROVISIONING" } },
    "Progressing: SchemaRegistry provisioning",
  ],
  // Kruise
  [
    "apps.kruise.io/CloneSet",
    "its partition is reached",
    {
      ...at(2, 2, { updatedAvailableReplicas: 1, updatedReplicas: 2, expectedUpdatedReplicas: 2 }),
      spec: { updateStrategy: { partition: 1 } },
    },
    "Suspended: Cloneset needs manual intervention",
  ],
  [
    "apps.kruise.io/BroadcastJob",
    "done",
    { status: { phase: "completed", desired: 2, succeeded: 2 } },
    "Healthy: BroadcastJob is completed successfully",
  ],
  [
    "game.kruise.io/GameServer",
    "on its way",
    { status: { currentState: "Creating", desiredState: "Ready" } },
    "Progressing: State change: Creating → Ready",
  ],
  // KEDA, serving, batch
  ["keda.sh/ScaledObject", "paused", { status: conditions("Ready=True: ok", "Paused=True: held") }, "Suspended: held"],
  [
    "keda.sh/ScaledObject",
    "fallen back",
    { status: conditions("Ready=True: ok", "Fallback=True: no metrics") },
    "Degraded: no metrics",
  ],
  [
    "serving.knative.dev/Service",
    "one is unknown",
    { status: conditions("Ready=Unknown(Rolling): soon") },
    "Progressing: Ready is Unknown, since Rolling. soon\n",
  ],
  [
    "serving.kserve.io/InferenceService",
    "its model failed to load",
    {
      status: { modelStatus: { transitionStatus: "BlockedByFailedLoad" }, ...conditions("PredictorReady=False(Down)") },
    },
    "Degraded: 0: transitionStatus | BlockedByFailedLoad | 1: PredictorReady | False | Down",
  ],
  [
    "serving.kserve.io/InferenceService",
    "stopped by its user",
    { status: conditions("PredictorReady=False(Stopped)", "Stopped=True") },
    "Suspended: InferenceService is Stopped",
  ],
  [
    "sparkoperator.k8s.io/SparkApplication",
    "enough executors of a range",
    {
      spec: { dynamicAllocation: { enabled: true, minExecutors: 2 } },
      status: { applicationState: { state: "RUNNING" }, executorState: { a: "RUNNING", b: "RUNNING" } },
    },
    "Healthy: SparkApplication is Running",
  ],
  [
    "sparkoperator.k8s.io/SparkApplication",
    "too few",
    {
      spec: { executor: { instances: 2 } },
      status: { applicationState: { state: "RUNNING" }, executorState: { a: "RUNNING" } },
    },
    "Progressing: Waiting for Executor pods",
  ],
  [
    "flagger.app/Canary",
    "on its way",
    { status: { phase: "Progressing", canaryWeight: 20, ...conditions("Promoted=Unknown: soon") } },
    "Progressing: Progressing --- Canary Weight: 20 % --- soon",
  ],
  [
    "openfaas.com/Function",
    "scaled to nothing",
    { status: conditions("Ready=True: ok") },
    "Suspended: No replicas available",
  ],
  [
    "openfaas.com/Function",
    "the first condition that counts decides",
    { status: { replicas: 1, ...conditions("Ready=True: ok", "Stalled=True: stuck") } },
    "Healthy: ok",
  ],
  // Numaflow, Numaplane
  ["numaflow.numaproj.io/Pipeline", "being paused", at(1, 1, { phase: "Pausing" }), "Healthy: Pipeline is paused"],
  [
    "numaflow.numaproj.io/MonoVertex",
    "a part is ill",
    at(1, 1, { phase: "Running", ...conditions("PodsHealthy=False") }),
    "Degraded: Subresources are unhealthy",
  ],
  [
    "numaplane.numaproj.io/PipelineRollout",
    "its child is not well",
    at(1, 1, { phase: "Deployed", ...conditions("ChildResourcesHealthy=False(PipelineFailed): no source") }),
    "Degraded: no source",
  ],
  [
    "numaplane.numaproj.io/MonoVertexRollout",
    "nobody knows how its child is",
    at(1, 1, { phase: "Deployed", ...conditions("ChildResourcesHealthy=False(MonoVertexUnknown): gone") }),
    "Unknown: Unknown MonoVertex status",
  ],
  [
    "numaplane.numaproj.io/ISBServiceRollout",
    "upgrading",
    at(1, 1, { phase: "Pending" }),
    "Progressing: Update in progress",
  ],
  // Promoter
  [
    "promoter.argoproj.io/PullRequest",
    "open",
    { status: { id: "7", state: "open", ...conditions("Ready=True") } },
    "Healthy: Pull request is open as PR 7",
  ],
  [
    "promoter.argoproj.io/TimedCommitStatus",
    "one branch waits",
    { status: { ...conditions("Ready=True"), environments: [{ branch: "a", phase: "success" }, { branch: "b" }] } },
    "Progressing: Timed commit gate pending for branch(es): b",
  ],
  [
    "promoter.argoproj.io/ChangeTransferPolicy",
    "on its way",
    {
      status: {
        ...conditions("Ready=True"),
        active: { dry: { sha: "1234567890" } },
        proposed: { dry: { sha: "abcdef0123" }, commitStatuses: [{ key: "k", phase: "pending" }] },
      },
    },
    "Progressing: Promotion in progress from '1234567' to 'abcdef0': 1 pending, 0 successful, 0 failed. Pending commit statuses: k. ",
  ],
  [
    "promoter.argoproj.io/PromotionStrategy",
    "everywhere the same commit",
    {
      status: {
        ...conditions("Ready=True"),
        environments: [
          { branch: "a", active: { dry: { sha: "1234567890" } }, proposed: { dry: { sha: "1234567890" } } },
        ],
      },
    },
    "Healthy: All environments are up-to-date on commit '1234567'. Hydrator has processed dry commit '1234567'.",
  ],
];
test.each(cases)("%s: %s", (kind, _, given, want) => {
  expect(judged(kind, given)).toBe(want);
});
