import { type Checks, conditions, each, findCondition, firstOf, phases, waiting, when } from "../rules.ts";
import { type HealthCheck, health } from "../types.ts";

/** Strimzi has a condition of its own for errors. */
const strimzi = (name: string): HealthCheck =>
  firstOf(
    conditions(["NotReady", "True", "Degraded"], ["Ready", "True", "Healthy", ""]),
    waiting(`Waiting for ${name}`),
  );

/** A new cluster is not ready while it is being created: that is progress. */
const strimziKafka: HealthCheck = (object) => {
  const list = (object.status?.conditions ?? []).filter(
    (c: { type?: string; reason?: string }) => c.type !== "NotReady" || c.reason !== "Creating",
  );
  return strimzi("Kafka Cluster")({ ...object, status: { conditions: list } });
};

const component = (kind: string): HealthCheck =>
  firstOf(
    phases("status.phase", { Healthy: ["RUNNING"] }, `${kind} running`),
    phases("status.phase", { Progressing: ["PROVISIONING"] }, `${kind} provisioning`),
    waiting(`Waiting for ${kind}`),
  );

const connector = firstOf(
  when(
    ({ status }) =>
      status?.state === "CREATED" && status.connectorState === "RUNNING" && status.failedTasksCount === undefined,
    "Healthy",
    "Connector running",
  ),
  when(
    ({ status }) => status?.state === "ERROR",
    "Degraded",
    ({ status }) => (status.conditions?.length ? status.conditions[0].message : "No conditions available"),
  ),
  when(
    ({ status }) => status?.state !== undefined && status.failedTasksCount > 0,
    "Degraded",
    "Connector has failed tasks",
  ),
  waiting("Waiting for Kafka Connector"),
);

interface Broker {
  configurationState?: string;
  gracefulActionState?: { cruiseControlState?: string };
}
const SETTLED = ["GracefulUpscaleSucceeded", "GracefulDownscaleSucceeded"];

const banzai: HealthCheck = ({ status }) => {
  // While it rolls, one broker after another is out of sync: that is progress.
  if (status?.state === "ClusterRollingUpgrading") return health("Progressing", "Kafka Cluster is Rolling Upgrading.");
  if (!status?.brokersState) return undefined;
  const brokers = Object.values<Broker>(status.brokersState);
  const settled = brokers.filter(
    (b) => b.configurationState === "ConfigInSync" && SETTLED.includes(b.gracefulActionState?.cruiseControlState ?? ""),
  );
  if (settled.length !== brokers.length)
    return health("Degraded", "Broker Config is out of Sync or CruiseControlState is not Ready");
  const topic = status.cruiseControlTopicStatus;
  if (topic === "CruiseControlTopicReady")
    return status.state === "ClusterRunning"
      ? health("Healthy", "Kafka Brokers, CruiseControl and cluster are in Healthy State.")
      : undefined;
  if (topic !== undefined && topic !== "CruiseControlTopicNotReady") return undefined;
  return status.state === "ClusterReconciling" ? health("Progressing", "Kafka Cluster is Reconciling.") : undefined;
};

/** What the topology operator makes inside of RabbitMQ. */
const topology =
  (kind: string): HealthCheck =>
  (object) => {
    const what = `RabbitMQ ${kind.toLowerCase()}`;
    for (const { type, status, reason } of object.status?.conditions ?? []) {
      if (type !== "Ready") continue;
      if (status === "True" && reason === "SuccessfulCreateOrUpdate") return health("Healthy", `${what} ready`);
      if (status === "False" && reason === "FailedCreateOrUpdate")
        return health("Degraded", `${what} failed to be created or updated`);
    }
    return health("Unknown", `${what} status is unknown`);
  };

const rabbit: HealthCheck = (object) => {
  const cluster = findCondition(object, "ClusterAvailable");
  const replicas = findCondition(object, "AllReplicasReady");
  if (cluster?.status === "Unknown" || replicas?.status === "Unknown")
    return health("Progressing", "Waiting for RabbitMQ cluster readiness (conditions unknown)");
  if (replicas?.reason === "ScaledToZero" && replicas.status === "False" && object.spec?.replicas === 0)
    return health("Suspended", "RabbitmqCluster is scaled to 0 replicas");
  if (cluster?.status === "False") return health("Progressing", "Waiting for RabbitMQ cluster formation");
  if (replicas?.status === "False") return health("Progressing", "Waiting for RabbitMQ instances ready");
  return cluster?.status === "True" && replicas?.status === "True"
    ? health("Healthy", "RabbitMQ cluster ready")
    : undefined;
};

const TOPOLOGY = ["Binding", "Exchange", "Permission", "Policy", "Queue", "Shovel", "User", "Vhost"];

export const messaging: Checks = {
  "kafka.strimzi.io/Kafka": strimziKafka,
  "kafka.strimzi.io/KafkaBridge": strimzi("KafkaBridge"),
  "kafka.strimzi.io/KafkaConnect": strimzi("Kafka Connect"),
  "kafka.strimzi.io/KafkaConnector": strimzi("KafkaConnector"),
  "kafka.strimzi.io/KafkaTopic": strimzi("Kafka Topic"),
  "kafka.strimzi.io/KafkaUser": strimzi("Kafka User"),
  ...each(
    "platform.confluent.io",
    ["Connect", "ControlCenter", "Kafka", "KsqlDB", "SchemaRegistry", "Zookeeper"],
    component,
  ),
  "platform.confluent.io/Connector": connector,
  "kafka.banzaicloud.io/KafkaCluster": firstOf(banzai, waiting("Waiting for KafkaCluster")),
  ...each("rabbitmq.com", TOPOLOGY, topology),
  "rabbitmq.com/RabbitmqCluster": firstOf(
    conditions(["ReconcileSuccess", "False", "Degraded"]),
    rabbit,
    waiting("Waiting for RabbitMQ Operator"),
  ),
};
