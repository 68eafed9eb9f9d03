import type { KubeObject } from "../../object.ts";
import { type Checks, firstOf, observed, waiting, when } from "../rules.ts";
import { conditionsOf, type Health, type HealthCheck, health } from "../types.ts";

const failedUpgrade = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.["numaplane.numaproj.io/progressive-result-state"] === "failed";

interface Flow {
  paused?: readonly string[];
  name: string;
  /** The message when a condition is False; by default the condition's own. */
  unhealthy?: string;
  /** Numaplane upgrades these step by step. */
  progressive?: boolean;
}

/** Numaflow: a phase, and conditions that must not be False. */
const flow = (kind: string, { name = kind, paused = [], unhealthy, progressive = true }: Partial<Flow>): HealthCheck =>
  firstOf(
    (object): Health | undefined => {
      const { status } = object;
      if (!status || !observed(object)) return undefined;
      const bad = conditionsOf(object).findLast((c) => c.status === "False");
      if (status.phase === "Failed") return health("Degraded", status.message);
      if (progressive && failedUpgrade(object)) return health("Degraded", "Failed progressive upgrade");
      if (bad) return health("Degraded", unhealthy ?? bad.message);
      if (paused.includes(status.phase)) return health("Healthy", `${name} is paused`);
      return status.phase === "Running" ? health("Healthy", `${name} is healthy`) : undefined;
    },
    waiting(`Waiting for ${name} status`),
  );

const SUBRESOURCES = "Subresources are unhealthy";

interface Child {
  /** As it is called where nothing is known of it. */
  name?: string;
  /** The only reason of a child's failure that counts; without it all do. */
  failure?: string;
  /** The condition that reports a pause. */
  pause?: string;
  /** Whether it is upgraded step by step. */
  progressive?: boolean;
}
/** Numaplane's rollouts: an upgrade in progress, then its result, then a pause, then the child. */
const rollout = ({ name, failure, pause, progressive = true }: Child): HealthCheck =>
  firstOf(
    when((object) => !object.status || !observed(object), "Progressing", "Not yet reconciled"),
    (object) => {
      const { status } = object;
      const find = (type: string, is: string) => conditionsOf(object).filter((c) => c.type === type && c.status === is);
      const upgradeFailed = progressive && find("ProgressiveUpgradeSucceeded", "False").length > 0;
      const upgrading = (status.upgradeInProgress ?? "") !== "" || status.phase === "Pending";
      if (upgrading && !upgradeFailed) return health("Progressing", "Update in progress");
      if (find("ChildResourcesHealthy", "False").some((c) => c.reason === "Progressing"))
        return health("Progressing", "Child Progressing");
      if (status.phase === "Failed") return health("Degraded", status.message);
      for (const { type, status: is, reason, message } of conditionsOf(object)) {
        if (is !== "False") continue;
        if (type === "ChildResourcesHealthy" && (failure === undefined || reason === failure))
          return health("Degraded", message);
        if (progressive && type === "ProgressiveUpgradeSucceeded")
          return health("Degraded", "Progressive upgrade failed");
      }
      const paused = pause === undefined ? undefined : find(pause, "True")[0];
      if (paused) return health("Healthy", paused.message);
      return find("ChildResourcesHealthy", "True").length > 0
        ? health("Healthy", "Healthy")
        : health("Unknown", `Unknown ${name ? `${name} ` : ""}status`);
    },
  );

export const numa: Checks = {
  "numaflow.numaproj.io/InterStepBufferService": flow("InterStepBufferService", {}),
  "numaflow.numaproj.io/MonoVertex": flow("MonoVertex", { paused: ["Paused"], unhealthy: SUBRESOURCES }),
  "numaflow.numaproj.io/Pipeline": flow("Pipeline", { paused: ["Paused", "Pausing"], unhealthy: SUBRESOURCES }),
  "numaflow.numaproj.io/Vertex": flow("Vertex", { paused: ["Paused"], progressive: false }),
  "numaplane.numaproj.io/MonoVertexRollout": rollout({
    name: "MonoVertex",
    failure: "MonoVertexFailed",
    pause: "MonoVertexPausingOrPaused",
  }),
  "numaplane.numaproj.io/PipelineRollout": rollout({
    name: "Pipeline",
    failure: "PipelineFailed",
    pause: "PipelinePausingOrPaused",
  }),
  "numaplane.numaproj.io/ISBServiceRollout": rollout({ failure: "ISBSvcFailed" }),
  "numaplane.numaproj.io/NumaflowControllerRollout": rollout({ progressive: false }),
};
