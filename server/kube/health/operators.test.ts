import { at, type Case, conditions, judged } from "./testing.ts";

const cases: Case[] = [
  // Databases
  [
    "postgresql.cnpg.io/Cluster",
    "asleep",
    { status: conditions("cnpg.io/hibernation=True: asleep") },
    "Suspended: asleep",
  ],
  [
    "postgresql.cnpg.io/Cluster",
    "failing over",
    { status: { conditions: [], phase: "Failing over", phaseReason: "n-2 is gone" } },
    "Degraded: n-2 is gone",
  ],
  [
    "elasticsearch.k8s.elastic.co/Elasticsearch",
    "too few nodes",
    { spec: { nodeSets: [{ count: 2 }, { count: 1 }] }, status: { availableNodes: 1 } },
    "Progressing: The desired amount of availableNodes is 3 but the current amount is 1",
  ],
  [
    "k8s.mariadb.com/MariaDB",
    "failed",
    { status: conditions("Ready=True: ok", "Backup=False(Failed): disk") },
    "Degraded: disk",
  ],
  [
    "pxc.percona.com/PerconaXtraDBCluster",
    "stopping",
    { status: { state: "stopping", ready: 1, size: 3 } },
    "Degraded: Cluster is stopping (1/3 node(s) are ready)",
  ],
  // Storage
  [
    "ceph.rook.io/CephCluster",
    "its troubles, in order",
    { status: { ceph: { health: "HEALTH_WARN", details: { B: { message: "two" }, A: { message: "one" } } } } },
    "Degraded: Ceph health is HEALTH_WARN (one; two)",
  ],
  [
    "minio.min.io/Tenant",
    "nothing a wait would mend",
    { status: { currentState: "Different versions across MinIO Pools" } },
    "Degraded: Different versions across MinIO Pools",
  ],
  [
    "kubevirt.io/VirtualMachine",
    "stopped",
    { status: { ...conditions("Ready=False"), printableStatus: "Stopped" } },
    "Suspended: Stopped",
  ],
  // Clusters and policies
  [
    "cluster.x-k8s.io/MachinePool",
    "what is missing",
    { status: { phase: "Scaling", ...conditions("Ready=False(Waiting)", "Bootstrap=True") } },
    "Healthy: MachinePool is Scaling: Not Ready (Waiting)",
  ],
  [
    "karpenter.sh/NodeClaim",
    "how far it is",
    { status: conditions("Launched=True", "Registered=True") },
    "Progressing: Node registered, waiting for initialization",
  ],
  [
    "policy.open-cluster-management.io/Policy",
    "who does not comply",
    { spec: {}, status: { compliant: "NonCompliant", status: [{ clustername: "a" }] } },
    "Degraded: NonCompliant clusters: a",
  ],
  [
    "work.karmada.io/ResourceBinding",
    "not all have reported",
    { spec: { clusters: [{}, {}] }, status: { aggregatedStatus: [{}] } },
    "Progressing: Current resource status is insufficient",
  ],
  [
    "core.gardener.cloud/Shoot",
    "ill for a long time",
    {
      meta: { labels: { "shoot.gardener.cloud/status": "unhealthy" } },
      status: { conditions: [{ status: "False", lastTransitionTime: "2020-01-01T00:00:00Z" }] },
    },
    "Degraded: Component state: Unhealthy",
  ],
  // OpenShift
  [
    "route.openshift.io/Route",
    "a router refuses",
    { status: { ingress: [conditions("Admitted=False")] } },
    "Degraded: Route is degraded",
  ],
  [
    "operators.coreos.com/Subscription",
    "waits for a person, and runs",
    {
      spec: { installPlanApproval: "Manual" },
      status: {
        state: "UpgradePending",
        installedCSV: "x",
        ...conditions("InstallPlanPending=True(RequiresApproval)"),
      },
    },
    "Healthy: .status.state is 'UpgradePending' (manual InstallPlan approval pending; treated as healthy)\n",
  ],
  // Secrets
  [
    "external-secrets.io/ExternalSecret",
    "the policy OnChange does not make an older condition worthless",
    {
      spec: { refreshPolicy: "OnChange" },
      status: {
        refreshTime: "2026-01-02T00:00:00Z",
        conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z", message: "synced" }],
      },
    },
    "Healthy: synced",
  ],
  [
    "external-secrets.io/ClusterExternalSecret",
    "only the last word counts",
    { status: conditions("Ready=True: ok", "PartiallyReady=True: 1 of 2") },
    "Degraded: 1 of 2",
  ],
  // What is seen of the rest
  [
    "operator.victoriametrics.com/VMAny",
    "any kind of the group",
    at(1, 1, { updateStatus: "failed", reason: "no secret" }),
    "Degraded: no secret",
  ],
  [
    "grafana-org-operator.kubitus-project.gitlab.io/Whatever",
    "any kind of the group",
    { status: conditions("Ready=Unknown: soon") },
    "Progressing: soon",
  ],
  [
    "grafana.integreatly.org/GrafanaFolder",
    "all conditions in one sentence",
    { status: conditions("A=True(Good): fine", "B=False(Bad)") },
    "Degraded: Good for A because fine, Bad for B",
  ],
  [
    "opentelemetry.io/OpenTelemetryCollector",
    "some replicas",
    { spec: {}, status: { scale: { statusReplicas: "1/2" } } },
    "Progressing: Replicas are starting up",
  ],
  ["core.humio.com/HumioView", "gone", { status: { state: "NotFound" } }, "Missing: Component state: NotFound."],
  [
    "capabilities.3scale.net/Product",
    "orphaned",
    { status: conditions("Orphan=True") },
    "Degraded: 3scale Product references non-existing resources",
  ],
];
test.each(cases)("%s: %s", (kind, _, given, want) => {
  expect(judged(kind, given)).toBe(want);
});
