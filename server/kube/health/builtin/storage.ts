import { type Checks, conditions, each, firstOf, phases, waiting, when } from "../rules.ts";
import { type HealthCheck, health } from "../types.ts";

const CEPH = new Map<unknown, "Healthy" | "Degraded">([
  ["HEALTH_OK", "Healthy"],
  ["HEALTH_WARN", "Degraded"],
  ["HEALTH_ERR", "Degraded"],
]);
const STATES = new Map<unknown, "Healthy" | "Degraded">([
  ["Created", "Healthy"],
  ["Connected", "Healthy"],
  ["Error", "Degraded"],
]);

/** Ceph's own health first; only a cluster that is well is asked for its state. */
const cephCluster: HealthCheck = ({ status }) => {
  if (!status) return health("Progressing", "Waiting for status to be reported");
  const parts: string[] = [];
  const { health: word, details = {} } = status.ceph ?? {};
  const verdict = CEPH.get(word);
  if (word !== undefined) {
    const told = Object.keys(details)
      .sort()
      .map((key) => details[key]?.message)
      .filter((message) => message !== undefined);
    parts.push(`Ceph health is ${word}${told.length ? ` (${told.join("; ")})` : ""}`);
  }
  let state: "Healthy" | "Degraded" | "Progressing" | undefined = verdict;
  if (verdict === "Healthy" && status.state !== undefined) {
    parts.push(`Ceph cluster state is ${status.state}`);
    state = STATES.get(status.state) ?? "Progressing";
  }
  if (status.message) parts.push(status.message);
  return health(state ?? "Progressing", parts.join(" - "));
};

const cephObjectStore: HealthCheck = ({ status }) => {
  const { phase, info } = status ?? {};
  const open = phase === "Failure" ? "Degraded" : "Progressing";
  const verdict = phase === "Ready" ? "Healthy" : open;
  const message = phase === undefined ? "Waiting for status to be reported" : `Ceph object store phase is ${phase}`;
  return health(verdict, info?.endpoint ? `${message} - endpoint: ${info.endpoint}` : message);
};

/** MinIO's states are sentences; those that waiting does not mend are named. */
const BROKEN_TENANT = [
  "Statefulset not controlled by operator",
  "Another MinIO Tenant already exists in the namespace",
  "Tenant credentials are not set properly",
  "Different versions across MinIO Pools",
  "Pool Decommissioning Not Allowed",
];
const tenant = firstOf(
  phases("status.currentState", { Healthy: ["Initialized"], Degraded: BROKEN_TENANT }),
  waiting(({ status }) => status?.currentState ?? "No status info available"),
);

const NO_STATUS = "No status available";
/** What Astra runs once: it ends, runs, or is broken. */
const once = firstOf(
  phases(
    "status.state",
    { Healthy: ["Completed"], Progressing: ["Running"] },
    ({ kind, status }) => `${kind} ${status.state}`,
  ),
  when(
    ({ status }) => status?.state !== undefined,
    "Degraded",
    ({ status }) => status.state,
  ),
  waiting(NO_STATUS),
);

const dataVolume = firstOf(
  phases("status.phase", { Healthy: ["Succeeded"], Suspended: ["Paused"] }),
  (object) => {
    const failed = object.status?.conditions?.find(
      (c: { type?: string; status?: string; reason?: string }) =>
        c.type === "Running" && c.status === "False" && c.reason === "Error",
    );
    return failed && health("Degraded", failed.message);
  },
  phases("status.phase", { Degraded: ["Failed", "Unknown"] }),
  waiting(({ status }) => status?.phase ?? NO_STATUS),
);

const virtualMachine: HealthCheck = ({ status }) => {
  const list: { type?: string; status?: string }[] = status?.conditions ?? [];
  if (list.some((c) => c.type === "Paused" && c.status === "True")) return health("Suspended", "Paused");
  const ready = list.findLast((c) => c.type === "Ready");
  const stopped = status?.created ? (["Progressing", "Starting"] as const) : (["Suspended", "Stopped"] as const);
  const known = ready?.status === "True" ? (["Healthy", "Running"] as const) : stopped;
  const [verdict, word] = ready ? known : (["Progressing", NO_STATUS] as const);
  return health(verdict, status?.printableStatus ?? word);
};

const machineInstance = firstOf(
  phases("status.phase", {
    Degraded: ["Failed"],
    Progressing: ["Pending", "Scheduling", "Scheduled"],
    Suspended: ["Succeeded"],
    Unknown: ["Unknown"],
  }),
  conditions(["Paused", "True", "Suspended"]),
  conditions(["Ready", "True", "Healthy", "Running"], ["Ready", "*", "Degraded"]),
  waiting(({ status }) => status?.phase ?? NO_STATUS),
);

export const storage: Checks = {
  "ceph.rook.io/CephCluster": cephCluster,
  "ceph.rook.io/CephObjectStore": cephObjectStore,
  "objectbucket.io/ObjectBucketClaim": firstOf(
    phases(
      "status.phase",
      { Healthy: ["Bound"], Degraded: ["Failed"] },
      ({ status }) => `Object bucket claim phase is ${status.phase}`,
    ),
    when(({ status }) => !status, "Progressing", "Waiting for status to be reported"),
    waiting(({ status }) =>
      status.phase === undefined ? "Waiting for phase to be reported" : `Object bucket claim phase is ${status.phase}`,
    ),
  ),
  "minio.min.io/Tenant": tenant,
  "trident.netapp.io/TridentBackendConfig": firstOf(
    when(
      ({ status }) => status?.phase === "Bound" && status.lastOperationStatus === "Success",
      "Healthy",
      ({ status }) => status.message,
    ),
    phases("status.lastOperationStatus", { Degraded: ["Failed"] }, ({ status }) => status.message),
    waiting("Waiting for backend creation"),
  ),
  "trident.netapp.io/TridentOrchestrator": firstOf(
    phases("status.status", { Healthy: ["Installed"], Degraded: ["Failed", "Error"] }, ({ status }) => status.message),
    waiting("Waiting for trident installation"),
  ),
  ...each(
    "astra.netapp.io",
    ["Backup", "ExecHooksRun", "ResourceBackup", "ResticVolumeBackup", "Snapshot"],
    () => once,
  ),
  "astra.netapp.io/AppVault": firstOf(
    phases("status.state", { Healthy: ["available", "Available"] }, "AppVault Available"),
    phases("status.state", { Degraded: ["failed", "Failed"] }, "AppVault Failed"),
    waiting(NO_STATUS),
  ),
  "astra.netapp.io/Application": firstOf(
    conditions(
      [
        "Ready",
        "True",
        "Healthy",
        (_, { status }) => `Astra Application Ready, protectionState: ${status.protectionState ?? "unknown"}`,
      ],
      ["Ready", "False", "Degraded", (c) => `Astra Application Degraded, message: ${c.message ?? ""}`],
    ),
    waiting(NO_STATUS),
  ),
  "astra.netapp.io/ExecHook": firstOf(
    when(({ spec }) => spec?.enabled === true, "Healthy", "ExecHook enabled"),
    when(({ spec }) => spec?.enabled === false, "Suspended", "ExecHook disabled"),
    waiting(NO_STATUS),
  ),
  "astra.netapp.io/Schedule": ({ status }) =>
    health(
      "Healthy",
      status?.lastScheduleTime === undefined
        ? "Protection policy not yet executed"
        : `Protection policy lastScheduleTime: ${status.lastScheduleTime}`,
    ),
  "cdi.kubevirt.io/DataVolume": dataVolume,
  "kubevirt.io/VirtualMachine": virtualMachine,
  "kubevirt.io/VirtualMachineInstance": machineInstance,
};
