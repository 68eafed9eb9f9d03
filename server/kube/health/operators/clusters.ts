import type { KubeObject } from "../../object.ts";
import { type Checks, conditions, findCondition, firstOf, inOrder, phases, stale, waiting, when } from "../rules.ts";
import { type Condition, conditionsOf, type Health, type HealthCheck, health } from "../types.ts";

const notReady = conditions(["Ready", "False", "Degraded"]);
const paused = (kind: string) => when(({ spec }) => spec?.paused, "Suspended", `${kind} is paused`);

const machineDeployment = firstOf(
  paused("MachineDeployment"),
  phases("status.phase", { Healthy: ["Running"] }, "Machines are running under this deployment"),
  phases("status.phase", { Progressing: ["ScalingUp"] }, "Cluster is spawning machines"),
  phases("status.phase", { Progressing: ["ScalingDown"] }, "Cluster is stopping machines"),
  phases("status.phase", { Degraded: ["Failed"] }, "MachineDeployment is failed"),
  waiting("Waiting for machines"),
);

const machine: HealthCheck = (object) => {
  const phase = object.status?.phase;
  if (phase === "Running") return health("Healthy", "Machine is running");
  const told = conditionsOf(object).find((c) => c.type === "Ready" && c.status === "False");
  return health(phase === "Failed" ? "Degraded" : "Progressing", told ? told.message : "Condition is unknown");
};

const machinePool: HealthCheck = (object) => {
  const phase: string | undefined = object.status?.phase;
  const missing = conditionsOf(object)
    .filter((c) => c.type !== undefined && c.status === "False")
    .map((c) => `Not ${c.type}${c.reason === undefined ? "" : ` (${c.reason})`}`);
  const good = phase === "Running" || phase === "Scaling";
  const bad = phase === "Failed" || phase === "Unknown";
  const message = phase === undefined ? "" : `MachinePool is ${phase}`;
  const open = bad ? "Degraded" : "Progressing";
  return health(good ? "Healthy" : open, missing.length ? `${message}: ${missing.join(", ")}` : message);
};

const machineHealth: HealthCheck = ({ status }) => {
  if (status?.currentHealthy === undefined) return health("Progressing");
  return health(status.expectedMachines === status.currentHealthy ? "Healthy" : "Degraded");
};

const controlPlane: HealthCheck = (object) => {
  const list = conditionsOf(object) as (Condition & { severity?: string })[];
  if (!object.status?.conditions) return health("Progressing", "Provisioning...");
  if (list.some((c) => c.type === "Ready" && c.status === "True")) return health("Healthy", "Control plane is ready");
  const errors = list.filter((c) => c.status === "False" && c.severity === "Error");
  // The space after each is the ecosystem's.
  if (errors.length) return health("Degraded", errors.map((c) => `${c.message ?? ""} `).join(""));
  return health(
    "Progressing",
    `Control plane is not ready${object.status.ready === false ? " (.status.ready is false)" : ""}`,
  );
};

/** Gardener sums up the health of its clusters in a label. */
const SHOOT: Record<string, Health> = {
  healthy: health("Healthy", "Component state: Healthy"),
  progressing: health("Progressing", "Component state: Update in progress"),
  unhealthy: health("Degraded", "Component state: Unhealthy"),
  unknown: health("Unknown", "Component state: Unknown"),
};
const shoot: HealthCheck = ({ metadata }) =>
  SHOOT[metadata.labels?.["shoot.gardener.cloud/status"] ?? ""] ?? health("Progressing", "Update in progress");

const nodeClaim = firstOf(
  when(
    (object) => object.metadata.generation !== undefined && stale(object),
    "Progressing",
    "Waiting for NodeClaim spec to be reconciled",
  ),
  inOrder(["Disrupting", "True", "Suspended"]),
  conditions(["Ready", "True", "Healthy"], ["Ready", "False", "Degraded"]),
  inOrder(
    ["Initialized", "True", "Progressing", "Node initialized, waiting for Ready"],
    ["Registered", "True", "Progressing", "Node registered, waiting for initialization"],
    ["Launched", "True", "Progressing", "Node launched, waiting for registration"],
  ),
  waiting("Waiting for NodeClaim to be launched"),
);

/** Karmada: every cluster that was chosen must have reported. */
const binding = firstOf(
  when(
    ({ spec, status }) =>
      !status || !spec?.clusters?.length || spec.clusters.length !== status.aggregatedStatus?.length,
    "Progressing",
    "Current resource status is insufficient",
  ),
  when(
    ({ status }) =>
      status.aggregatedStatus.some(
        (one: { health?: string; applied?: boolean }) =>
          one.health === "Unhealthy" || (one.health === "Unknown" && one.applied !== true),
      ),
    "Degraded",
    "Current resource status is unhealthy",
  ),
  when(() => true, "Healthy"),
);

const reported = when(
  ({ status }) => status?.compliant === undefined,
  "Progressing",
  "Waiting for the status to be reported",
);
const isCompliant = ({ status }: KubeObject) => status.compliant === "Compliant";

const configurationPolicy = firstOf(
  reported,
  when(
    ({ metadata, status }) => status.lastEvaluatedGeneration !== metadata.generation,
    "Progressing",
    "Waiting for the status to be updated",
  ),
  when(({ status }) => !status.compliancyDetails, "Progressing", "Waiting for compliance"),
  (object) => {
    const details: { conditions?: Condition[] }[] = object.status.compliancyDetails;
    const told = details
      .flatMap((d) => d.conditions ?? [])
      .filter((c) => c.message !== undefined && c.type !== undefined);
    return health(isCompliant(object) ? "Healthy" : "Degraded", told.map((c) => `${c.type} - ${c.message}`).join("; "));
  },
);

interface Entry {
  compliant?: string;
  clustername?: string;
  templateMeta?: { name?: string };
}
/** A policy at the hub speaks of clusters, its copy in a cluster of templates. */
const policy = firstOf(
  when(({ spec }) => spec?.disabled, "Healthy", "Policy is disabled"),
  when(
    ({ status }) => status && status.compliant === undefined && !status.status && status.placement?.length > 0,
    "Healthy",
    "No clusters match this policy",
  ),
  reported,
  (object) => {
    const { status: clusters, details } = object.status as { status?: Entry[]; details?: Entry[] };
    const [what, list, name] = clusters
      ? (["clusters", clusters, (e: Entry) => e.clustername] as const)
      : (["templates", details ?? [], (e: Entry) => e.templateMeta?.name] as const);
    const bad = list
      .filter((entry) => entry.compliant !== "Compliant")
      .map(name)
      .filter((named) => named !== undefined);
    const message = bad.length ? `NonCompliant ${what}: ${bad.join(", ")}` : `All ${what} are compliant`;
    return health(isCompliant(object) ? "Healthy" : "Degraded", clusters || details ? message : undefined);
  },
);

/** Contour's only condition, if it speaks of the newest generation. */
const validNow = (object: KubeObject) =>
  (conditionsOf(object) as (Condition & { observedGeneration?: number })[]).find(
    (c) =>
      c.type === "Valid" &&
      c.observedGeneration === object.metadata.generation &&
      (c.status === "True" || c.status === "False"),
  );

const withReason = (c: Condition) => (c.message ? `${c.reason}: ${c.message}` : c.reason);

export const clusters: Checks = {
  "cluster.x-k8s.io/Cluster": firstOf(
    paused("Cluster"),
    notReady,
    phases("status.phase", { Healthy: ["Provisioned"] }, "Cluster is running"),
    phases("status.phase", { Degraded: ["Failed"] }, ""),
    waiting("Waiting for clusters"),
  ),
  "cluster.x-k8s.io/Machine": machine,
  "cluster.x-k8s.io/MachineDeployment": machineDeployment,
  "cluster.x-k8s.io/MachineHealthCheck": machineHealth,
  "cluster.x-k8s.io/MachinePool": machinePool,
  "addons.cluster.x-k8s.io/ClusterResourceSet": firstOf(
    conditions(
      ["ResourcesApplied", "True", "Healthy", "cluster resource set is applied"],
      ["ResourcesApplied", "False", "Degraded"],
    ),
    waiting("Initializing cluster resource set"),
  ),
  "controlplane.cluster.x-k8s.io/AWSManagedControlPlane": controlPlane,
  "core.gardener.cloud/Shoot": shoot,
  "karpenter.k8s.aws/EC2NodeClass": firstOf(
    conditions(["Ready", "False", "Degraded"], ["Ready", "True", "Healthy", "EC2NodeClass is ready"]),
    waiting("Waiting for EC2NodeClass to be ready"),
  ),
  "karpenter.sh/NodeClaim": nodeClaim,
  "karpenter.sh/NodePool": firstOf(
    conditions(["Ready", "False", "Degraded"], ["Ready", "True", "Healthy"]),
    waiting("Waiting for NodePool to be ready"),
  ),
  "work.karmada.io/ResourceBinding": binding,
  "work.karmada.io/ClusterResourceBinding": binding,
  "policy.open-cluster-management.io/CertificatePolicy": firstOf(
    reported,
    when(isCompliant, "Healthy", "All certificates found comply with the policy"),
    // The wording is the ecosystem's.
    when(() => true, "Degraded", "At least once certificate does not comply with the policy"),
  ),
  "policy.open-cluster-management.io/ConfigurationPolicy": configurationPolicy,
  "policy.open-cluster-management.io/OperatorPolicy": firstOf(
    when(({ status }) => !status?.conditions, "Progressing", "Waiting for the status to be reported"),
    when(stale, "Progressing", "Waiting for the status to be updated"),
    conditions(["Compliant", "True", "Healthy"], ["Compliant", "*", "Degraded"]),
    waiting("Waiting for the compliance condition"),
  ),
  "policy.open-cluster-management.io/Policy": policy,
  "hypershift.openshift.io/HostedCluster": firstOf(
    inOrder(["Degraded", "True", "Degraded"], ["Available", "True", "Healthy"], ["Progressing", "True", "Progressing"]),
    when(({ status }) => status?.conditions, "Progressing", "Waiting for HostedCluster to become available"),
    waiting("Waiting for HostedCluster status"),
  ),
  "nmstate.io/NodeNetworkConfigurationPolicy": firstOf(
    conditions(
      ["Available", "True", "Healthy", withReason],
      ["Degraded", "True", "Degraded", withReason],
      ["Progressing", "True", "Progressing", withReason],
      ["Ignored", "True", "Suspended", withReason],
    ),
    waiting("Waiting for policy to be applied"),
  ),
  "projectcontour.io/HTTPProxy": (object) => {
    const { metadata, spec, status = {} } = object;
    const told = validNow(object);
    if (told?.status === "True") return health("Healthy", status.description);
    // A proxy may be applied before those that it includes. If it were Degraded, a wave would wait for them for ever.
    const list = conditionsOf(object) as (Condition & { observedGeneration?: number })[];
    if (spec?.includes && list.some((c) => c.status === "False" && c.observedGeneration === metadata.generation))
      return health("Healthy", "HTTPProxy inclusions cannot be health checked");
    if (told) return health("Degraded", status.description);
    return health(
      "Progressing",
      status.conditions || status.currentStatus === undefined ? "Waiting for status" : status.description,
    );
  },
  "projectcontour.io/ExtensionService": (object) => {
    const told = validNow(object);
    return told
      ? health(told.status === "True" ? "Healthy" : "Degraded", told.message)
      : health("Progressing", "Waiting for status");
  },
  "proclaim.dogmatiq.io/DNSSDServiceInstance": (object) => {
    const [adopted, advertised, found] = ["Adopted", "Advertised", "Discoverable"].map((type) =>
      findCondition(object, type),
    );
    if (adopted?.status === "False") return health("Degraded", adopted.message);
    if (advertised?.reason === "AdvertiseError" || advertised?.reason === "UnadvertiseError")
      return health("Degraded", advertised.message);
    if (found?.reason === "DiscoveryError") return health("Unknown", found.message);
    return health(found?.status === "True" ? "Healthy" : "Progressing", found?.message);
  },
};
