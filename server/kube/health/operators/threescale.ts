import type { KubeObject } from "../../object.ts";
import { type Checks, type ConditionRow, conditions, firstOf, waiting, when } from "../rules.ts";
import { conditionsOf, type HealthCheck, type HealthStatus, health } from "../types.ts";

/** The words for a condition that is True, when it has no message of its own. */
const WORDS: Record<string, [HealthStatus, string]> = {
  Invalid: ["Degraded", "configuration is invalid"],
  Orphan: ["Degraded", "references non-existing resources"],
  Failed: ["Degraded", "synchronization failed"],
  Waiting: ["Suspended", "is waiting for approval"],
  "In-progress": ["Progressing", "is in progress"],
};

interface Words {
  /** The good condition, and what it says: `Ready` and `is ready`. */
  good?: [type: string, words: string];
  /** Conditions that count beside it. */
  also: readonly string[];
  /** Another word for failure; with the ecosystem's spelling. */
  failed?: string;
}

const told = (kind: string, { good = ["Ready", "is ready"], also, failed }: Words): HealthCheck => {
  const rows = also.map((type): ConditionRow => {
    const [verdict, words] = WORDS[type]!;
    return [
      type,
      "True",
      verdict,
      (c) => c.message ?? (type === "Failed" && failed ? failed : `3scale ${kind} ${words}`),
    ];
  });
  return conditions([good[0], "True", "Healthy", `3scale ${kind} ${good[1]}`], ...rows);
};

const capability = (kind: string, words: Words): HealthCheck =>
  firstOf(told(kind, words), waiting(`Waiting for 3scale ${kind} status...`));

const positive = (value: unknown): boolean => typeof value === "number" && value > 0;
const notReady = (object: KubeObject) => conditionsOf(object).find((c) => c.type === "Ready" && c.status !== "True");

const application = firstOf(
  when(({ status }) => status?.state === "suspended", "Suspended", "3scale Application is suspended"),
  (object) => {
    const known = positive(object.status?.adminId);
    const ready = conditionsOf(object).find((c) => c.type === "Ready" && (c.status === "True" || !known));
    if (ready?.status === "True") return health("Healthy", "3scale Application is ready");
    return ready && health("Degraded", ready.message ?? "3scale Application is not ready");
  },
  waiting("Waiting for 3scale Application status..."),
);

const tenant = firstOf((object) => {
  const { status } = object;
  const ready = conditionsOf(object).some((c) => c.type === "Ready" && c.status === "True");
  if (ready && positive(status.tenantId) && positive(status.adminId))
    return health("Healthy", "3scale Tenant is ready");
  const bad = notReady(object);
  return bad && health("Degraded", bad.message ?? "3scale Tenant is degraded");
}, waiting("Waiting for 3scale Tenant status..."));

const manager = firstOf(
  when(
    ({ status: { deployments } = {} }) => deployments?.ready && !deployments.starting && !deployments.stopped,
    "Healthy",
    "3scale APIManager is available",
  ),
  (object) => {
    const available = conditionsOf(object).find((c) => c.type === "Available" && (c.status === "True" || c.reason));
    if (available?.status === "True") return health("Healthy", "3scale APIManager is available");
    return available && health("Degraded", `3scale APIManager is degraded: ${available.reason}`);
  },
  waiting("Waiting for 3scale APIManager status..."),
);

export const threescale: Checks = {
  "capabilities.3scale.net/ActiveDoc": capability("ActiveDoc", { also: ["Invalid", "Orphan", "Failed"] }),
  "capabilities.3scale.net/ApplicationAuth": capability("ApplicationAuth", {
    also: ["Failed"],
    failed: "3scale ApplicationAuth failed",
  }),
  "capabilities.3scale.net/Backend": capability("Backend", {
    good: ["Synced", "is synced"],
    also: ["Invalid", "Failed"],
  }),
  "capabilities.3scale.net/CustomPolicyDefinition": capability("CustomPolicyDefinition", {
    also: ["Invalid", "Failed"],
  }),
  "capabilities.3scale.net/DeveloperAccount": capability("DeveloperAccount", {
    also: ["Invalid", "Failed", "Waiting"],
  }),
  "capabilities.3scale.net/OpenAPI": capability("OpenAPI", {
    also: ["Invalid", "Failed"],
    failed: "3scale OpenAPI reconciliation failed",
  }),
  "capabilities.3scale.net/Product": capability("Product", {
    good: ["Synced", "is synced"],
    also: ["Invalid", "Orphan", "Failed"],
  }),
  "capabilities.3scale.net/ProxyConfigPromote": capability("ProxyConfigPromote", {
    also: ["In-progress", "Failed"],
    failed: "3cale ProxyConfigPromote failed",
  }),
  "capabilities.3scale.net/DeveloperUser": firstOf(
    when(
      ({ status }) => status?.developerUserState === "suspended",
      "Suspended",
      "3scale Developer user is waiting for admin approval",
    ),
    capability("DeveloperUser", { also: ["Invalid", "Orphan", "Failed"] }),
  ),
  "capabilities.3scale.net/Application": application,
  "capabilities.3scale.net/Tenant": tenant,
  "apps.3scale.net/APIManager": manager,
};
