import { compare } from "../../../base/lang/compare.ts";
import type { KubeObject } from "../../object.ts";
import { type Checks, conditions, findCondition, firstOf, number, phases, waiting, when } from "../rules.ts";
import { type Condition, conditionsOf, type Health, type HealthCheck, type HealthStatus, health } from "../types.ts";

/** KEDA: degraded beats everything; a scaler that is ready may be paused. The last condition that counts gives the message. */
const scaler =
  (bad: (c: Condition) => boolean, wait: string): HealthCheck =>
  (object) => {
    const list = conditionsOf(object);
    const isReady = (c: Condition) => c.type === "Ready" && c.status === "True";
    const isPaused = (c: Condition) => c.type === "Paused" && c.status === "True";
    const message = list.findLast((c) => bad(c) || isReady(c) || isPaused(c))?.message;
    if (list.some(bad)) return health("Degraded", message);
    if (!list.some(isReady)) return health("Progressing", wait);
    return health(list.some(isPaused) ? "Suspended" : "Healthy", message);
  };

const KNATIVE = ["ConfigurationsReady", "RoutesReady", "Ready"];
const knativeService: HealthCheck = (object) => {
  if (!object.status?.conditions) return health("Progressing", "Waiting for status update.");
  const list = conditionsOf(object);
  const open = list.filter((c) => c.status === "False" || c.status === "Unknown");
  if (open.length === 0 && list.filter((c) => c.status === "True" && KNATIVE.includes(c.type ?? "")).length === 3)
    return health("Healthy", "Knative Service is healthy.");
  const lines = open.map(
    (c) => `${c.type} is ${c.status}${c.reason ? `, since ${c.reason}.` : ""}${c.message ? ` ${c.message}` : ""}\n`,
  );
  return health(open.some((c) => c.status === "False") ? "Degraded" : "Progressing", lines.join(""));
};

const inference: HealthCheck = ({ status }) => {
  const waits = health("Progressing", "Waiting for InferenceService to report status...");
  if (!status) return waits;
  const model: string | undefined = status.modelStatus?.transitionStatus;
  const [loading, broken] = [
    model === "InProgress",
    model !== undefined && model !== "UpToDate" && model !== "InProgress",
  ];
  const list: Condition[] | undefined = status.conditions;
  if (!list) return waits;
  if (list.some((c) => c.type === "Stopped" && c.status === "True"))
    return health("Suspended", "InferenceService is Stopped");
  // A service that is not stopped is well.
  const open = list.map((c, i) => ({ c, i })).filter(({ c }) => c.type !== "Stopped" && c.status !== "True");
  const unsure = list.some((c) => c.status === "Unknown");
  if (!loading && !broken && !unsure && open.length === 0) return health("Healthy", "InferenceService is healthy.");
  const parts = open.map(({ c, i }) =>
    [`${i + 1}: ${c.type ?? "condition"}`, c.status, c.reason, c.message].filter(Boolean).join(" | "),
  );
  const head = loading || broken ? `0: transitionStatus | ${model}` : "";
  return health(broken ? "Degraded" : "Progressing", [head, ...parts].join(" | "));
};

/** Elastic executors: as many as wanted, or within the bounds of dynamic allocation. */
const enoughExecutors = ({ spec, status }: KubeObject): boolean => {
  if (!status.executorState) return false;
  const running = Object.values(status.executorState).filter((state) => state === "RUNNING").length;
  if (running === spec?.executor?.instances) return true;
  const { least = 0, most = Number.POSITIVE_INFINITY } = bounds(spec) ?? {};
  if (bounds(spec)) return running >= least && running <= most;
  return spec?.dynamicAllocation === undefined && spec?.executor?.instances === undefined && running >= 1;
};

/** How many executors there may be: of the specification, or else of Spark's own settings. */
function bounds(spec: KubeObject["spec"]): { least?: number; most?: number } | undefined {
  const { enabled, minExecutors, maxExecutors } = spec?.dynamicAllocation ?? {};
  if (enabled) return { least: minExecutors, most: maxExecutors };
  const conf = spec?.sparkConf ?? {};
  const prefix = ["spark.streaming.dynamicAllocation", "spark.dynamicAllocation"].find(
    (p) => conf[`${p}.enabled`] === "true",
  );
  const read = (name: string) =>
    conf[`${prefix}.${name}`] === undefined ? undefined : Number(conf[`${prefix}.${name}`]);
  return prefix === undefined ? undefined : { least: read("minExecutors"), most: read("maxExecutors") };
}
const state = (
  words: Partial<Record<HealthStatus, readonly string[]>>,
  text: string | ((object: KubeObject) => string),
) => phases("status.applicationState.state", words, text);

const spark = firstOf(
  state({ Progressing: [""] }, "SparkApplication was added, enqueuing it for submission"),
  when(
    (object) => object.status?.applicationState?.state === "RUNNING" && enoughExecutors(object),
    "Healthy",
    "SparkApplication is Running",
  ),
  state({ Progressing: ["SUBMITTED"] }, "SparkApplication was submitted successfully"),
  state({ Healthy: ["COMPLETED"] }, "SparkApplication was Completed"),
  state({ Degraded: ["FAILED", "SUBMISSION_FAILED", "FAILING"] }, ({ status }) => status.applicationState.errorMessage),
  state({ Progressing: ["PENDING_RERUN"] }, "SparkApplication is Pending Rerun"),
  state({ Missing: ["INVALIDATING"] }, "SparkApplication is in InvalidatingState"),
  state(
    { Progressing: ["SUCCEEDING"] },
    // The break and the blanks are the ecosystem's.
    `The driver pod has been completed successfully. The executor pods terminate and are cleaned up.\n${" ".repeat(32)}Under this circumstances, we assume the executor pod are completed.`,
  ),
  state(
    { Progressing: ["UNKNOWN"] },
    "SparkApplication is in UnknownState because either driver pod or one or all executor pods in unknown state  ",
  ),
  waiting("Waiting for Executor pods"),
);

const flink = firstOf(
  when(
    ({ status }) => status?.reconciliationStatus?.success || status?.reconciliationStatus?.state === "DEPLOYED",
    "Healthy",
  ),
  when(
    ({ status }) =>
      status?.reconciliationStatus && ["DEPLOYED_NOT_READY", "DEPLOYING"].includes(status.jobManagerDeploymentStatus),
    "Progressing",
    "Waiting for deploying",
  ),
  when(
    ({ status }) => status?.reconciliationStatus && status.jobManagerDeploymentStatus === "ERROR",
    "Degraded",
    ({ status }) => status.reconciliationStatus.error,
  ),
  waiting("Waiting for Flink operator"),
);

const readyFunction = conditions(
  ["Ready", "False", "Degraded"],
  ["Stalled", "True", "Degraded"],
  ["Ready", "True", "Healthy"],
);
/** A function that is ready without a replica waits for its first call. */
const asleep: HealthCheck = (object) =>
  readyFunction(object)?.status === "Healthy" && !(number(object.status.replicas) > 0)
    ? health("Suspended", "No replicas available")
    : undefined;

const gaveUp = ({ reason, message = "" }: Condition) =>
  reason === "ProgressDeadlineExceeded" || /timeout|failed/i.test(message);
const spin: HealthCheck = (object): Health => {
  const { spec, status } = object;
  if (!status) return health("Progressing", "Waiting for status to be available");
  const [available, progressing] = [findCondition(object, "Available"), findCondition(object, "Progressing")];
  if (progressing?.status === "False" && gaveUp(progressing))
    return health("Degraded", progressing.message ?? "Application deployment has failed");
  if (available?.status !== "True")
    return health("Degraded", available && (available.message ?? "Application is not available"));
  const [have, wanted] = [status.readyReplicas ?? 0, spec?.replicas ?? 1];
  if (have < wanted) return health("Progressing", `Waiting for replicas to be ready (${have}/${wanted})`);
  if (progressing?.status === "True")
    return health("Progressing", progressing.message ?? "Application progress status");
  return health("Healthy", `Application is healthy with ${have}/${wanted} replicas ready`);
};

const CANARY: Record<string, HealthStatus> = {
  Failed: "Degraded",
  Progressing: "Progressing",
  Finalising: "Progressing",
  Promoting: "Progressing",
  Succeeded: "Healthy",
  Initialized: "Healthy",
};
const canary: HealthCheck = (object) => {
  const { status } = object;
  if (!status) return health("Unknown", "No status");
  const weight = Number(status.canaryWeight) > 0 ? `Canary Weight: ${status.canaryWeight} %` : "";
  const text = conditionsOf(object).reduce(
    (all, { message = "" }) => (all ? `${all} --- ${message}` : message),
    weight,
  );
  return health(
    CANARY[status.phase] ?? "Unknown",
    [status.phase, text].filter((part) => part !== undefined).join(" --- "),
  );
};

/** Newest last: a condition without a time counts as the newest. */
const keycloak: HealthCheck = (object) => {
  if (!object.status?.conditions) return health("Progressing", "Waiting for Keycloak status conditions to exist");
  const time = (c: Condition) => (c as { lastTransitionTime?: string }).lastTransitionTime ?? "~";
  const list = [...conditionsOf(object)].sort((a, b) => compare(time(a), time(b)));
  for (const { type, status, message } of list) {
    if (type === "Ready" && status === "True") return health("Healthy");
    if (type === "HasErrors" && status === "True") return health("Degraded", `Has Errors: ${message}`);
  }
  return health("Progressing");
};

/** Each condition in its order: one of an older generation is waited for, unless one before it says that it failed. */
const sap: HealthCheck = (object) => {
  if (!Array.isArray(object.status?.conditions)) return health("Progressing", "Waiting for status");
  const { generation } = object.metadata;
  for (const { type, status, message, observedGeneration: seen } of conditionsOf(object) as (Condition & {
    observedGeneration?: number;
  })[]) {
    if (seen !== undefined && generation !== undefined && seen !== generation)
      return health("Progressing", "Waiting for spec update to be observed");
    const failed = (type === "Succeeded" && status === "False") || (type === "Failed" && status === "True");
    if (failed) return health("Degraded", message);
  }
  return health("Healthy", "Ready to use");
};

const ISTIO: [HealthStatus, string, string][] = [
  ["Unknown", "NONE", "Component is not present."],
  ["Progressing", "UPDATING", "Component is being updated to a different version."],
  ["Progressing", "RECONCILING", "Controller has started but not yet completed reconciliation loop for the component."],
  ["Healthy", "HEALTHY", "Component is healthy."],
  ["Degraded", "ERROR", "Component is in an error state."],
];

const jobState = (words: Partial<Record<HealthStatus, readonly string[]>>) => phases("status.jobStatus.state", words);

export const serving: Checks = {
  "keda.sh/ScaledObject": scaler(
    (c) => (c.type === "Ready" && c.status === "False") || (c.type === "Fallback" && c.status === "True"),
    "Creating HorizontalPodAutoscaler Object",
  ),
  "keda.sh/ScaledJob": scaler(
    (c) => c.type === "Ready" && (c.status === "False" || c.status === "Unknown"),
    "Waiting for ScaledJob",
  ),
  "serving.knative.dev/Service": knativeService,
  "serving.kserve.io/InferenceService": inference,
  "sparkoperator.k8s.io/SparkApplication": spark,
  "flink.apache.org/FlinkDeployment": flink,
  "flink.apache.org/FlinkSessionJob": firstOf(
    jobState({
      Healthy: ["RUNNING", "FINISHED"],
      Progressing: ["RECONCILING", "CREATED"],
      Suspended: ["SUSPENDED", "CANCELED"],
    }),
    when(
      ({ status }) => status?.jobStatus?.state === "FAILED" || status?.error !== undefined,
      "Degraded",
      ({ status }) => status.error ?? "FlinkSessionJob failed",
    ),
    waiting("Waiting for FlinkSessionJob to be reconciled"),
  ),
  "openfaas.com/Function": firstOf(asleep, readyFunction, waiting("Waiting for Function")),
  "core.spinkube.dev/SpinApp": spin,
  "flagger.app/Canary": canary,
  "k8s.keycloak.org/Keycloak": keycloak,
  "services.cloud.sap.com/ServiceBinding": sap,
  "services.cloud.sap.com/ServiceInstance": sap,
  "install.istio.io/IstioOperator": ({ status }) => {
    const row = ISTIO.find(([, word], i) => status?.status === word || status?.status === i);
    return row ? health(row[0], row[2]) : health("Progressing", "Waiting for Istio Control Plane");
  },
};
