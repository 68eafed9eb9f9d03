import type { KubeObject } from "../../object.ts";
import { always, type Checks, conditions, firstOf, inOrder, waiting, when } from "../rules.ts";
import { type Condition, conditionsOf, type HealthCheck, health } from "../types.ts";

const deploymentConfig: HealthCheck = (object) => {
  const { conditions, replicas } = object.status ?? {};
  const rolledOut = (c: Condition) => c.type === "Progressing" && c.reason === "NewReplicationControllerAvailable";
  const good = conditionsOf(object).filter((c) => c.status === "True" && (c.type === "Available" || rolledOut(c)));
  const waits = health("Progressing", "replication controller is waiting for pods to run");
  if (!conditions || replicas === undefined) return waits;
  if (good.length === 2 || replicas === 0) return health("Healthy", "replication controller successfully rolled out");
  return good.length === 1 ? waits : health("Degraded", "Deployment config is degraded");
};

/** A route is admitted by each of its routers. */
const route: HealthCheck = ({ status }) => {
  const ingress: { conditions?: Condition[] }[] | undefined = status?.ingress;
  const list = (ingress ?? []).flatMap((i) => i.conditions ?? []).filter((c) => c.type === "Admitted");
  if (ingress && list.filter((c) => c.status === "True").length >= ingress.length)
    return health("Healthy", "Route is healthy");
  if (list.some((c) => c.status === "False")) return health("Degraded", "Route is degraded");
  return health("Progressing", "Route is still getting admitted");
};

/** Each condition in a line of its own, numbered from 1; the newline at the end is the ecosystem's. */
const line = (c: Condition, i: number) => `${i + 1}: ${c.type ?? "condition"} | ${c.status ?? "Unknown"}\n`;
const listed = (list: readonly Condition[]) => list.map(line).join("");

/** An operator that is there and waits for approval of its upgrade is healthy. */
function awaitsApproval({ spec, status }: KubeObject, list: readonly Condition[]): boolean {
  const waits = list.some(
    (c) => c.type === "InstallPlanPending" && c.status === "True" && c.reason === "RequiresApproval",
  );
  return spec?.installPlanApproval === "Manual" && waits && status.installedCSV !== undefined;
}

const subscription: HealthCheck = (object) => {
  const list = conditionsOf(object);
  const { conditions, state } = object.status ?? {};
  if (!conditions) return health("Progressing", "An install plan for a subscription is pending installation");
  const manual = awaitsApproval(object, list);
  const lines = list.map((c, i) => (manual && c.type === "InstallPlanPending" ? "" : line(c, i))).join("");
  const held = manual && state === "UpgradePending";
  const note = held ? " (manual InstallPlan approval pending; treated as healthy)" : "";
  const message =
    lines + (state === undefined ? ".status.state not yet known\n" : `.status.state is '${state}'${note}\n`);
  const bad = list.some(
    (c) =>
      (c.type === "InstallPlanMissing" && c.reason !== "ReferencedInstallPlanNotFound") ||
      (["CatalogSourcesUnhealthy", "InstallPlanFailed", "ResolutionFailed"].includes(c.type ?? "") &&
        c.status === "True"),
  );
  if (bad || state === "UpgradeFailed") return health("Degraded", message);
  const pending = list.some((c) => c.type === "InstallPlanPending" && c.status === "True") && !manual;
  const settled = held || (state !== undefined && !["", "UpgradeAvailable", "UpgradePending"].includes(state));
  return health(pending || !settled ? "Progressing" : "Healthy", message);
};

/** Knative's operator: all of these must be True, and none may be open. */
const knative =
  (kind: string, needed: readonly string[], open: readonly string[]): HealthCheck =>
  (object) => {
    const list = conditionsOf(object);
    if (!object.status?.conditions) return health("Progressing", `Waiting for ${kind}`);
    const good = list.filter((c) => needed.includes(c.type ?? "") && c.status === "True");
    const unsure = list.some((c) => (open.includes(c.type ?? "") && c.status === "False") || c.status === "Unknown");
    if (unsure) return health("Progressing", listed(list));
    return good.length === needed.length ? health("Healthy", `${kind} is healthy.`) : health("Degraded", listed(list));
  };

export const openshift: Checks = {
  "apps.openshift.io/DeploymentConfig": deploymentConfig,
  "route.openshift.io/Route": route,
  "operators.coreos.com/Subscription": subscription,
  "operator.knative.dev/KnativeEventing": knative("KnativeEventing", ["Ready", "InstallSucceeded"], ["Ready"]),
  "operator.knative.dev/KnativeServing": knative(
    "KnativeServing",
    ["Ready", "InstallSucceeded", "DependenciesInstalled", "DeploymentsAvailable"],
    ["Ready", "DeploymentsAvailable"],
  ),
  "operator.openshift.io/IngressController": firstOf(
    conditions(
      ["Degraded", "True", "Degraded"],
      ["DeploymentReplicasAllAvailable", "False", "Progressing"],
      ["Progressing", "True", "Progressing", (c) => c.reason],
      ["Available", "True", "Healthy", "IngressController is available"],
    ),
    waiting("Status of IngressController is not known yet"),
  ),
  "ocs.openshift.io/StorageCluster": firstOf(
    inOrder(["Degraded", "True", "Degraded"], ["Progressing", "True", "Progressing"], ["Available", "True", "Healthy"]),
    always("Unknown", "StorageCluster is in an unknown state."),
  ),
  "tower.ansible.com/AnsibleJob": (object) => {
    const { status, url } = object.status?.ansibleJobResult ?? {};
    const message = `${status} job - ${url}`;
    if (status === "successful") return health("Healthy", message);
    if (["failed", "error", "canceled"].includes(status)) return health("Degraded", message);
    if (["new", "pending", "waiting", "running"].includes(status)) return health("Progressing", message);
    return health("Progressing", "Waiting for AnsibleJob");
  },
  "kiali.io/Kiali": firstOf((object) => {
    for (const { type, status, reason, message } of conditionsOf(object)) {
      if (type === "Successful" && status === "True") return health("Healthy", message);
      if (type === "Failure" && status === "True") return health("Degraded", message);
      if (type === "Running" && reason === "Running") return health("Progressing", message);
    }
    return undefined;
  }, waiting("Waiting for Kiali")),
  "kyverno.io/Policy": firstOf(
    when(
      (object) =>
        conditionsOf(object).some(
          (c) => c.type === "Ready" && c.status === "True" && c.reason === "Succeeded" && c.message === "Ready",
        ),
      "Healthy",
      "Policy is ready",
    ),
    waiting("Waiting for Policy to be ready"),
  ),
  "kyverno.io/ClusterPolicy": firstOf(
    conditions(["Ready", "True", "Healthy"], ["Ready", "*", "Degraded"]),
    waiting("Waiting for ClusterPolicy to become ready"),
  ),
};
