import { type Case, condition, conditions, judged } from "./testing.ts";

const valid = (status: string, generation = 1) => ({
  meta: { generation: 1 },
  status: {
    currentStatus: status === "True" ? "valid" : "invalid",
    description: "told",
    conditions: [{ ...condition(`Valid=${status}`), observedGeneration: generation }],
  },
});
const broker = (configurationState: string) => ({
  configurationState,
  gracefulActionState: { cruiseControlState: "GracefulUpscaleSucceeded" },
});
const ready = { cruiseControlTopicStatus: "CruiseControlTopicReady" };

const CRD = "apiextensions.k8s.io/CustomResourceDefinition";
const ZOOKEEPER = "zookeeper.pravega.io/ZookeeperCluster";
const EC2 = "karpenter.k8s.aws/EC2NodeClass";
const EC2_WAITS = "Progressing: Waiting for EC2NodeClass to be ready";
const PROXY = "projectcontour.io/HTTPProxy";
const INCLUDES = "Healthy: HTTPProxy inclusions cannot be health checked";
const KAFKA = "kafka.banzaicloud.io/KafkaCluster";
const STORAGE = "ocs.openshift.io/StorageCluster";
const TRIDENT = "trident.netapp.io/TridentOrchestrator";
const KNATIVE = "operator.knative.dev/KnativeServing";
const SUMMARY =
  "1: Ready | False\n2: InstallSucceeded | True\n3: DependenciesInstalled | True\n4: DeploymentsAvailable | True\n";

const cases: Case[] = [
  [
    CRD,
    "new",
    { status: conditions("NamesAccepted=True", "Established=False(Installing)") },
    "Progressing: CRD is being installed",
  ],
  [
    CRD,
    "refused",
    { status: conditions("NamesAccepted=True", "Established=False(Other)") },
    "Degraded: CRD is not established",
  ],
  [EC2, "ready", { status: conditions("Ready=True") }, "Healthy: EC2NodeClass is ready"],
  [EC2, "not ready", { status: conditions("SubnetsReady=True", "Ready=False: no role") }, "Degraded: no role"],
  [
    EC2,
    "no subnets, before it is ready",
    { status: conditions("SubnetsReady=False: none", "Ready=Unknown") },
    EC2_WAITS,
  ],
  [EC2, "new", {}, EC2_WAITS],
  [
    ZOOKEEPER,
    "complete",
    { status: { replicas: 3, readyReplicas: 3 } },
    "Healthy: All ZK Nodes have joined the ensemble",
  ],
  [
    ZOOKEEPER,
    "incomplete",
    { status: { replicas: 3, readyReplicas: 2 } },
    "Progressing: Waiting for ZK Nodes to join the ensemble",
  ],
  [
    ZOOKEEPER,
    "none",
    { status: { replicas: 0, readyReplicas: 0 } },
    "Progressing: Waiting for ZK Nodes to join the ensemble",
  ],
  [TRIDENT, "failed", { status: { status: "Failed", message: "no" } }, "Degraded: no"],
  [TRIDENT, "in error", { status: { status: "Error", message: "bound to another" } }, "Degraded: bound to another"],
  [PROXY, "valid", valid("True"), "Healthy: told"],
  [PROXY, "invalid", valid("False"), "Degraded: told"],
  [
    PROXY,
    "includes others that are not there yet",
    { ...valid("False"), spec: { includes: [{ name: "x" }] } },
    INCLUDES,
  ],
  [PROXY, "of an older generation", valid("False", 0), "Progressing: Waiting for status"],
  [
    PROXY,
    "another condition",
    { status: { currentStatus: "invalid", ...conditions("Other=False") } },
    "Progressing: Waiting for status",
  ],
  [PROXY, "an empty condition", { status: { conditions: [{}] } }, "Progressing: Waiting for status"],
  [
    PROXY,
    "without conditions",
    { status: { currentStatus: "NotReconciled", description: "soon" } },
    "Progressing: soon",
  ],
  [
    KAFKA,
    "rolling, with a broker out of sync",
    {
      status: {
        ...ready,
        state: "ClusterRollingUpgrading",
        brokersState: { 0: broker("ConfigInSync"), 1: broker("ConfigOutOfSync") },
      },
    },
    "Progressing: Kafka Cluster is Rolling Upgrading.",
  ],
  [
    KAFKA,
    "ids of the user's choice",
    {
      status: {
        ...ready,
        state: "ClusterRunning",
        brokersState: { 101: broker("ConfigInSync"), 103: broker("ConfigInSync") },
      },
    },
    "Healthy: Kafka Brokers, CruiseControl and cluster are in Healthy State.",
  ],
  [
    KAFKA,
    "running, with a broker out of sync",
    { status: { ...ready, state: "ClusterRunning", brokersState: { 0: broker("ConfigOutOfSync") } } },
    "Degraded: Broker Config is out of Sync or CruiseControlState is not Ready",
  ],
  ["mariadb.mmontes.io/MariaDB", "failed", { status: conditions("Ready=False(Failed): disk") }, "Degraded: disk"],
  [STORAGE, "available", { status: conditions("Available=True: ok", "Upgradeable=False") }, "Healthy: ok"],
  [
    STORAGE,
    "upgradeable alone says nothing",
    { status: conditions("Upgradeable=True") },
    "Unknown: StorageCluster is in an unknown state.",
  ],
  [
    KNATIVE,
    "not ready yet",
    {
      status: conditions(
        "Ready=False",
        "InstallSucceeded=True",
        "DependenciesInstalled=True",
        "DeploymentsAvailable=True",
      ),
    },
    `Progressing: ${SUMMARY}`,
  ],
  [
    "promoter.argoproj.io/CommitStatus",
    "never observed",
    { meta: { generation: 1 }, status: { conditions: [{ ...condition("Ready=True"), observedGeneration: 0 }] } },
    "Progressing: Waiting for commit status spec update to be observed",
  ],
  [
    "policy.open-cluster-management.io/Policy",
    "an empty entry",
    { spec: {}, status: { compliant: "NonCompliant", status: [{}] } },
    "Degraded: All clusters are compliant",
  ],
  [
    "apiregistration.k8s.io/APIService",
    "no message",
    { status: conditions("Available=False(MissingEndpoints)") },
    "Progressing: MissingEndpoints: ",
  ],
];
test.each(cases)("%s: %s", (kind, _, given, want) => {
  expect(judged(kind, given)).toBe(want);
});
