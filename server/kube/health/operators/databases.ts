import type { KubeObject } from "../../object.ts";
import { type Checks, conditions, each, firstOf, number, observed, phases, waiting, when } from "../rules.ts";
import { type Condition, conditionsOf, type HealthCheck, type HealthStatus, health } from "../types.ts";

/** CloudNativePG's phases are sentences. */
const CNPG: Partial<Record<HealthStatus, readonly string[]>> = {
  Healthy: ["Cluster in healthy state"],
  Progressing: [
    "Setting up primary",
    "Creating a new replica",
    "Upgrading cluster",
    "Waiting for the instances to become active",
    "Promoting to primary cluster",
  ],
  Degraded: [
    "Switchover in progress",
    "Failing over",
    "Upgrading Postgres major version",
    "Cluster upgrade delayed",
    "Waiting for user action",
    "Primary instance is being restarted in-place",
    "Primary instance is being restarted without a switchover",
    "Cluster cannot execute instance online upgrade due to missing architecture binary",
    "Online upgrade in progress",
    "Applying configuration",
  ],
  Suspended: [
    "Unable to create required cluster objects",
    "Cluster cannot proceed to reconciliation due to an unknown plugin being required",
    "Cluster has incomplete or invalid image catalog",
    "Cluster is unrecoverable and needs manual intervention",
  ],
};
const phaseReason = ({ status }: KubeObject): string | undefined => status?.phaseReason;

const cnpgCluster = firstOf(
  when(
    ({ metadata }) => metadata.annotations?.["cnpg.io/reconciliationLoop"] === "disabled",
    "Suspended",
    "Cluster reconciliation is suspended",
  ),
  conditions(["cnpg.io/hibernation", "True", "Suspended"], ["cnpg.io/hibernation", "*", "Degraded"]),
  when(({ status }) => !status?.conditions, "Progressing", phaseReason),
  phases("status.phase", CNPG, phaseReason),
  when(() => true, "Unknown", phaseReason),
);

const seen = (object: KubeObject) => object.metadata.generation === undefined || observed(object);
const cnpgDatabase = firstOf(
  when(
    (object) => object.status?.applied === true && seen(object),
    "Healthy",
    ({ status }) => status.message,
  ),
  when(
    (object) => object.status?.applied === false && seen(object),
    "Degraded",
    ({ status }) => status.message ?? "CloudNativePG failed to apply the Database",
  ),
  // A first try often fails because its owner is not there yet: that is not failure.
  waiting(({ status }) => status?.message || "Waiting for CloudNativePG to reconcile Database"),
);

const NO_STATUS = "No status info available";
/** MariaDB: the first condition that is not True is what it waits for. */
const mariaDb = (
  broken: (condition: Condition) => boolean,
  text: (condition: Condition) => string | undefined,
): HealthCheck =>
  firstOf((object) => {
    if (!Array.isArray(object.status?.conditions)) return undefined;
    const list = conditionsOf(object);
    const open = list.find((c) => c.status === "False");
    const last = open ?? list.at(-1);
    const word = open && broken(open) ? "Degraded" : "Progressing";
    return health(open ? word : "Healthy", last && text(last));
  }, waiting(NO_STATUS));
const both = (c: Condition) => `${c.reason ?? ""} ${c.message ?? ""}`;
const own = (c: Condition) => c.message;

/** The last word before the one that counts is its message while it waits. */
const mariaDbReady = firstOf(
  conditions(["Ready", "True", "Healthy"], ["Ready", "*", "Degraded"]),
  waiting((object) => (conditionsOf(object).length ? conditionsOf(object).at(-1)!.message : NO_STATUS)),
);

const sqlJob: HealthCheck = (object) => {
  const list = conditionsOf(object);
  const ended = list.find((c) => (c.reason === "JobComplete" || c.reason === "JobFailed") && c.status === "True");
  const told = ended ?? list.at(-1);
  if (!told) return health("Progressing", NO_STATUS);
  const end = ended?.reason === "JobComplete" ? "Healthy" : "Degraded";
  return health(ended ? end : "Progressing", both(told));
};

const nodes = ({ status }: KubeObject) => `${status.ready ?? 0}/${status.size ?? 0} node(s) are ready`;
const UNKNOWN_TO_ARGO =
  "is unknown. Ensure your ArgoCD is current and then check for/file a bug report: https://github.com/argoproj/argo-cd/issues";
const xtraDb = firstOf(
  phases("status.state", { Progressing: ["initializing"], Healthy: ["ready"] }, nodes),
  phases("status.state", { Unknown: ["paused"] }, "Cluster is paused"),
  phases("status.state", { Degraded: ["stopping"] }, (object) => `Cluster is stopping (${nodes(object)})`),
  phases(
    "status.state",
    { Degraded: ["error"] },
    ({ status }) => `Cluster is on error: ${(status.message ?? []).join(", ")}`,
  ),
  when(() => true, "Unknown", `Cluster status ${UNKNOWN_TO_ARGO}`),
);
const mongoDb = firstOf(
  phases(
    "status.state",
    { Progressing: ["initializing", "stopping"], Healthy: ["ready"], Degraded: ["error"], Suspended: ["paused"] },
    nodes,
  ),
  when(({ status }) => status, "Unknown", nodes),
  when(() => true, "Unknown", "Cluster status is unknown"),
);

const clickHouse = (name: string): HealthCheck =>
  firstOf(
    phases("status.status", { Healthy: ["Completed"] }, `${name} installation completed successfully`),
    phases("status.status", { Progressing: ["InProgress"] }, `${name} installation in progress`),
    when(
      ({ status }) => status?.status !== undefined,
      "Degraded",
      ({ status }) => `${name} status: ${status.status}`,
    ),
    waiting(`${name} status not yet available`),
  );

const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);
const COLOURS = { Healthy: ["green"], Progressing: ["yellow"], Degraded: ["red"] };

const beat = firstOf(
  when(
    ({ status }) =>
      status?.health === "yellow" && status.availableNodes !== undefined && status.expectedNodes !== undefined,
    "Progressing",
    ({ status }) =>
      `Elastic Beat status is deploying, there is ${status.availableNodes} instance(s) on ${status.expectedNodes} expected`,
  ),
  phases(
    "status.health",
    { Healthy: ["green"], Degraded: ["red"] },
    ({ status }) => `Elastic Beat status is ${capital(status.health)}`,
  ),
  when(
    ({ status }) =>
      status?.health === "yellow" || (status?.health === undefined && status?.expectedNodes !== undefined),
    "Progressing",
    "Elastic Beat phase is progressing",
  ),
  when(() => true, "Unknown", `Elastic Beat status ${UNKNOWN_TO_ARGO}`),
);

const NODE_COLOURS = new Map<unknown, "Progressing" | "Degraded">([
  ["yellow", "Progressing"],
  ["red", "Degraded"],
]);

const elasticsearch: HealthCheck = ({ spec, status = {} }) => {
  const unknown = health("Unknown", `Elasticsearch Cluster status ${UNKNOWN_TO_ARGO}`);
  const wanted = (spec?.nodeSets ?? []).reduce((sum: number, set: { count?: number }) => sum + number(set.count), 0);
  const { availableNodes, health: colour, phase } = status;
  if (availableNodes === undefined || availableNodes > wanted) return unknown;
  if (availableNodes < wanted)
    return health(
      "Progressing",
      `The desired amount of availableNodes is ${wanted} but the current amount is ${availableNodes}`,
    );
  if (colour === undefined) return unknown;
  if (phase === "ApplyingChanges" || phase === "MigratingData")
    return health("Progressing", `Elasticsearch phase is ${phase}`);
  if (phase === "Invalid") return health("Degraded", "Elasticsearch phase is Invalid");
  if (phase !== "Ready") return unknown;
  if (colour === "green") return health("Healthy", "Elasticsearch Cluster status is Green");
  const verdict = NODE_COLOURS.get(colour);
  return verdict
    ? health(
        verdict,
        `Elasticsearch Cluster status is ${capital(colour)}. Check the status of indices, replicas and shards`,
      )
    : unknown;
};

const atlas =
  (busy: (ready: Condition) => boolean): HealthCheck =>
  (object) => {
    const ready = conditionsOf(object).find((c) => c.type === "Ready");
    if (!ready) return health("Progressing", "Waiting for Atlas Operator");
    const not = busy(ready) ? "Progressing" : "Degraded";
    return health(ready.status === "True" ? "Healthy" : not, ready.reason);
  };

export const databases: Checks = {
  "postgresql.cnpg.io/Cluster": cnpgCluster,
  "postgresql.cnpg.io/Database": cnpgDatabase,
  "postgresql.cnpg.io/Backup": firstOf(
    phases("status.phase", { Healthy: ["completed"] }, "Backup completed"),
    phases(
      "status.phase",
      { Degraded: ["failed", "walArchivingFailing", "invalid backup definition"] },
      ({ status }) => status.error ?? status.phase,
    ),
    waiting(({ status }) => status?.phase || "Waiting for backup to be processed"),
  ),
  "acid.zalan.do/postgresql": firstOf(
    when(
      ({ status }) => status?.PostgresClusterStatus === undefined,
      "Progressing",
      "Waiting for postgres cluster status...",
    ),
    phases("status.PostgresClusterStatus", { Healthy: ["Running"], Progressing: ["Creating", "Updating"] }),
    when(
      () => true,
      "Degraded",
      ({ status }) => status.PostgresClusterStatus,
    ),
  ),
  "k8s.mariadb.com/MariaDB": mariaDb((c) => c.reason === "Failed", own),
  "mariadb.mmontes.io/MariaDB": mariaDb((c) => c.reason === "Failed", own),
  "k8s.mariadb.com/Backup": mariaDb((c) => c.reason === "CronJobScheduled" && c.message === "Failed", both),
  "k8s.mariadb.com/SqlJob": sqlJob,
  ...each("k8s.mariadb.com", ["Database", "Grant", "User"], () => mariaDbReady),
  "pxc.percona.com/PerconaXtraDBCluster": xtraDb,
  "psmdb.percona.com/PerconaServerMongoDB": mongoDb,
  "zookeeper.pravega.io/ZookeeperCluster": firstOf(
    when(
      ({ status }) => status && status.readyReplicas !== 0 && status.readyReplicas === status.replicas,
      "Healthy",
      "All ZK Nodes have joined the ensemble",
    ),
    waiting("Waiting for ZK Nodes to join the ensemble"),
  ),
  "clickhouse.altinity.com/ClickHouseInstallation": clickHouse("ClickHouse"),
  "clickhouse-keeper.altinity.com/ClickHouseKeeperInstallation": clickHouse("ClickHouseKeeper"),
  "beat.k8s.elastic.co/Beat": beat,
  "elasticsearch.k8s.elastic.co/Elasticsearch": elasticsearch,
  "logstash.k8s.elastic.co/Logstash": firstOf(
    phases("status.health", COLOURS, ({ status }) => `Logstash status is ${capital(status.health)}`),
    waiting("Waiting for Logstash"),
  ),
  "db.atlasgo.io/AtlasMigration": atlas((c) => c.reason === "Reconciling"),
  "db.atlasgo.io/AtlasSchema": atlas((c) => c.message === "Reconciling" || c.message === "GettingDevDB"),
  "cassandra.rook.io/Cluster": firstOf(
    when(
      ({ status }) =>
        status?.racks && !Object.values<{ members?: number; readyMembers?: number }>(status.racks).some(short),
      "Healthy",
    ),
    waiting("Waiting for Cassandra Cluster"),
  ),
  "solr.apache.org/SolrCloud": firstOf(
    when(({ status }) => !status?.solrNodes, "Progressing", "Waiting for solr to exist"),
    when(
      ({ status }) => status.solrNodes.some((node: { ready?: boolean }) => !node.ready),
      "Progressing",
      "Not all replicas are ready",
    ),
    when(() => true, "Healthy", "Solr is ready"),
  ),
};

function short({ members, readyMembers }: { members?: number; readyMembers?: number }): boolean {
  return members !== undefined && readyMembers !== undefined && members !== readyMembers;
}
