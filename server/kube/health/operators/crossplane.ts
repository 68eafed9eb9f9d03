import type { KubeObject } from "../../object.ts";
import { type Checks, type ConditionRow, conditions, findCondition, firstOf, waiting, when } from "../rules.ts";
import { conditionsOf, type HealthCheck, health } from "../types.ts";

/** Configuration objects whose controller never reports anything. */
const SILENT = [
  "Composition",
  "CompositionRevision",
  "DeploymentRuntimeConfig",
  "ClusterProviderConfig",
  "ProviderConfig",
  "ProviderConfigUsage",
  "ControllerConfig",
];
const SILENT_CONFIGS = ["ClusterProviderConfig", "ProviderConfig", "ProviderConfigUsage"];
const UP_TO_DATE = "Resource is up-to-date.";

const empty = ({ status }: KubeObject): boolean =>
  status === undefined || status === null || Object.keys(status).length === 0;
const configures = ({ kind }: KubeObject): boolean => kind === "ProviderConfig" || kind === "ClusterProviderConfig";

const BAD: ConditionRow[] = [
  ["LastAsyncOperation", "False", "Degraded"],
  ["Synced", "False", "Degraded"],
];
const GOOD = ["Ready", "Healthy", "Offered", "Established", "ValidPipeline", "RevisionHealthy"];
const good = (type: string): ConditionRow => [type, "True", "Healthy", UP_TO_DATE];

/** Any resource of a provider: synced with the cloud and ready there. */
const managed = (silent: readonly string[], ...verdicts: HealthCheck[]): HealthCheck =>
  firstOf(
    when(({ status }) => status === undefined || status === null, "Healthy", UP_TO_DATE),
    when((object) => empty(object) && silent.includes(object.kind), "Healthy", UP_TO_DATE),
    when(
      (object) => configures(object) && !object.status.conditions && object.status.users !== undefined,
      "Healthy",
      "Resource is in use.",
    ),
    ...verdicts,
    waiting("Provisioning ..."),
  );

/** The classic AWS provider tells the states of its two conditions by their reasons. */
const aws =
  (what: string): HealthCheck =>
  (object) => {
    if (!Array.isArray(object.status?.conditions)) return health("Progressing", `Waiting for ${what} to be created`);
    const [ready, synced] = [findCondition(object, "Ready"), findCondition(object, "Synced")];
    const [isReady, isSynced] = [ready?.status === "True", synced?.status === "True"];
    const reasons = conditionsOf(object).filter((c) => c.type === "Synced");
    const paused = reasons.some((c) => c.reason === "ReconcilePaused");
    const failure = reasons.findLast((c) => c.reason === "ReconcileError");
    if (isReady && isSynced) return health("Healthy", ready?.reason);
    if (!isSynced && paused) return health("Suspended", "ReconcilePaused");
    if (!isReady && isSynced && !paused) return health("Progressing", `Waiting for ${what} to be available`);
    return health("Degraded", failure?.message);
  };

/** A package is installed first, then healthy. */
const installed: HealthCheck = (object) => {
  if (!Array.isArray(object.status?.conditions)) return health("Progressing", "Waiting for provider to be installed");
  const both = [findCondition(object, "Installed"), findCondition(object, "Healthy")];
  const message = both.map((c) => c?.reason ?? "").join(" ");
  return health(both.every((c) => c?.status === "True") ? "Healthy" : "Degraded", message);
};

export const crossplane: Checks = {
  "*.crossplane.io/*": managed(SILENT, conditions(...BAD), conditions(...GOOD.map(good))),
  "*.upbound.io/*": managed(SILENT_CONFIGS, conditions(...BAD), conditions(good("Ready"))),
  "cloudfront.aws.crossplane.io/Distribution": aws("distribution"),
  "iam.aws.crossplane.io/Policy": aws("Policy"),
  "iam.aws.crossplane.io/Role": aws("Role"),
  "iam.aws.crossplane.io/RolePolicyAttachment": aws("RolePolicyAttachment"),
  "rds.aws.crossplane.io/DBCluster": aws("DBCluster"),
  "rds.aws.crossplane.io/DBInstance": aws("DBInstance"),
  "route53.aws.crossplane.io/ResourceRecordSet": aws("resourcrecordset"),
  "s3.aws.crossplane.io/Bucket": aws("Bucket"),
  "pkg.crossplane.io/Provider": installed,
  "stacks.crossplane.io/ClusterStackInstall": ({ status }) => {
    const list: { type?: string; status?: string; reason?: string }[] = status?.conditionedStatus?.conditions ?? [];
    const told = list.filter((c) => c.type === "Ready");
    const ready = told.find((c) => c.status === "True") ?? told.at(-1);
    if (!ready) return health("Progressing", "Waiting for stack to be installed");
    return health(ready.status === "True" ? "Healthy" : "Progressing", ready.reason);
  },
};
