import type { KubeObject } from "../../object.ts";
import {
  type Checks,
  type ConditionRow,
  conditions,
  each,
  firstOf,
  inOrder,
  phases,
  ready,
  stale,
  waiting,
  when,
} from "../rules.ts";
import { conditionsOf, type Health, type HealthCheck, type HealthStatus, health } from "../types.ts";

const HUMIO: Record<string, HealthStatus> = {
  Exists: "Healthy",
  NotFound: "Missing",
  ConfigError: "Degraded",
  Unknown: "Unknown",
};
const humio: HealthCheck = ({ status }) => {
  const verdict = HUMIO[status?.state];
  return verdict ? health(verdict, `Component state: ${status.state}.`) : health("Progressing", "Update in progress");
};
const HUMIO_CLUSTER: Record<string, [HealthStatus, string]> = {
  Running: ["Healthy", "Cluster is in a healthy running state"],
  Restarting: ["Progressing", "Cluster pods are being restarted"],
  Upgrading: ["Progressing", "Cluster pods are being upgraded"],
  ConfigError: ["Degraded", "User-provided cluster specification resulted in a configuration error"],
  Pending: ["Progressing", "Cluster is waiting on resources to be provisioned"],
  Unknown: ["Unknown", "Component state: Unknown."],
};
const humioCluster: HealthCheck = ({ status }) => {
  const row = HUMIO_CLUSTER[status?.state];
  return row ? health(row[0], status.message ?? row[1]) : health("Progressing", "Update in progress");
};

/** Grafana's operator writes all its conditions into one sentence, up to the first that is bad. */
const synchronised: HealthCheck = (object) => {
  let text = "";
  let verdict: HealthStatus = "Progressing";
  for (const { type, status, reason, message } of conditionsOf(object)) {
    if (status === undefined) continue;
    const of = type === undefined ? "" : ` for ${type}${message === undefined ? "" : ` because ${message}`}`;
    text += (text && ", ") + (reason === undefined ? "" : reason + of);
    // This one says that something is amiss when it is True.
    const bad = type === "FolderUIDMismatch" ? "True" : "False";
    if (status === bad) return health("Degraded", text);
    if (status === "True") verdict = "Healthy";
  }
  return health(verdict, text);
};

const reasonOr =
  (words: string) =>
  ({ status }: KubeObject): string =>
    status.reason || words;
const victoria = firstOf(
  when(
    (object) => !object.status || (object.metadata.generation !== undefined && stale(object)),
    "Progressing",
    "Waiting for the operator to reconcile",
  ),
  phases("status.updateStatus", { Healthy: ["operational"] }, "All components are operational"),
  phases("status.updateStatus", { Progressing: ["expanding"] }, reasonOr("Reconciliation in progress")),
  phases("status.updateStatus", { Suspended: ["paused"] }, reasonOr("Reconciliation is paused")),
  phases("status.updateStatus", { Degraded: ["failed"] }, reasonOr("Reconciliation failed")),
  waiting("Waiting for the operator to report status"),
);

const prometheus: HealthCheck = (object) => {
  const told = conditionsOf(object).findLast((c) => c.type === "Available");
  if (!told) return health("Progressing", "Waiting for initialization");
  if (told.status === "True") return health("Healthy", "All instances are available");
  return health(told.reason === "SomePodsNotReady" ? "Progressing" : "Degraded", told.message ?? told.reason);
};

/** `2/3` replicas; a sidecar has none of its own. */
const collector: HealthCheck = ({ spec, status }): Health => {
  if (!status) return health("Progressing", "Waiting for OpenTelemetry Collector status");
  const text: string | undefined = status.scale?.statusReplicas;
  if (text === undefined)
    return spec?.mode === "sidecar"
      ? health("Healthy", "Collector is running in sidecar mode")
      : health("Progressing", "Scale status not available");
  const match = /(\d+)\/(\d+)/.exec(text);
  if (!match) return health("Progressing", `Unable to parse replica status: ${text}`);
  const [ready, total] = [Number(match[1]), Number(match[2])];
  if (ready === 0)
    return spec?.mode === "daemonset" && total === 0
      ? health("Healthy", "DaemonSet has no eligible nodes (0/0)")
      : health("Degraded", "No replicas are ready");
  return ready === total
    ? health("Healthy", "All replicas are ready")
    : health("Progressing", "Replicas are starting up");
};

const keptn = (kind: string, field = "status"): HealthCheck =>
  firstOf(
    phases(`status.${field}`, { Healthy: ["Succeeded"] }, `${kind} is healthy`),
    phases(`status.${field}`, { Degraded: ["Failed"] }, `${kind} is degraded`),
    waiting(`${kind} is progressing`),
  );

const KEPTN = ["KeptnAppVersion", "KeptnTask", "KeptnWorkloadInstance", "KeptnWorkloadVersion"];
const SYNCED: ConditionRow[] = [
  ["RemoteSynced", "True", "Healthy", "Resource is ready"],
  ["RemoteSynced", "False", "Degraded"],
];

export const observability: Checks = {
  ...each(
    "core.humio.com",
    ["HumioAction", "HumioAlert", "HumioIngestToken", "HumioParser", "HumioRepository", "HumioView"],
    () => humio,
  ),
  "core.humio.com/HumioCluster": humioCluster,
  "grafana.integreatly.org/Grafana": firstOf(
    when(({ status }) => status?.stageStatus === undefined, "Progressing", "Waiting for Grafana status info"),
    when(
      ({ status }) => status.stageStatus === "failed",
      "Degraded",
      ({ status }) => `Failed at stage ${status.stage}`,
    ),
    when(({ status }) => status.stage === "complete" && status.stageStatus === "success", "Healthy"),
    waiting(({ status }) => status.stage),
  ),
  ...each("grafana.integreatly.org", ["GrafanaDashboard", "GrafanaFolder"], () => synchronised),
  "grafana.integreatly.org/GrafanaDatasource": firstOf(
    when(({ status }) => !status || status.uid === "", "Progressing"),
    when(({ status }) => status.NoMatchingInstances, "Degraded", "can't find matching grafana instance"),
    when(() => true, "Healthy"),
  ),
  "grafana-org-operator.kubitus-project.gitlab.io/*": firstOf(
    conditions(["Ready", "False", "Degraded"], ["Ready", "True", "Healthy"], ["Ready", "*", "Progressing"]),
    waiting("Waiting ..."),
  ),
  "operator.victoriametrics.com/*": victoria,
  "monitoring.coreos.com/Prometheus": prometheus,
  "opentelemetry.io/OpenTelemetryCollector": collector,
  "datadoghq.com/DatadogMetric": firstOf(
    inOrder(
      [
        "Error",
        "True",
        "Degraded",
        (c) => (c.reason ? `${c.reason}: ` : "") + (c.message ?? "DatadogMetric reported an error"),
      ],
      ["Valid", "False", "Degraded", (c) => c.message ?? "DatadogMetric is not valid"],
    ),
    when(() => true, "Healthy", "DatadogMetric is healthy"),
  ),
  ...each("coralogix.com", ["Alert", "RecordingRuleGroupSet"], () =>
    firstOf(conditions(...SYNCED), waiting("Waiting for status to be updated")),
  ),
  ...each("lifecycle.keptn.sh", KEPTN, (kind) => keptn(kind)),
  "lifecycle.keptn.sh/KeptnEvaluation": keptn("KeptnEvaluation", "overallStatus"),
  "metrics.keptn.sh/Analysis": firstOf(
    when(({ status }) => status?.pass === true, "Healthy", "Analysis is healthy"),
    when(({ status }) => status?.warning === true, "Healthy", "Analysis is healthy with warnings"),
    when(({ status }) => status?.pass === false, "Degraded", "Analysis is degraded"),
    waiting("Analysis is progressing"),
  ),
  "metrics.keptn.sh/KeptnMetric": firstOf(
    when(({ status }) => status?.errMsg, "Degraded", "KeptnMetric is degraded"),
    when(({ status }) => status?.value !== undefined, "Healthy", "KeptnMetric is healthy"),
    waiting("KeptnMetric is progressing"),
  ),
  "jaegertracing.io/Jaeger": firstOf(
    phases("status.phase", { Healthy: ["Running"] }, "Jaeger is Running"),
    phases("status.phase", { Degraded: ["Failed"] }, "Jaeger Failed For Some Reason"),
    waiting("Waiting for Jaeger"),
  ),
  "camel.apache.org/Integration": ready("Waiting for Integration"),
};
