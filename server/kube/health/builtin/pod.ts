import { conditionsOf, type HealthCheck, health } from "../types.ts";

interface ContainerStatus {
  name: string;
  state?: {
    waiting?: { reason?: string; message?: string };
    terminated?: { exitCode: number; reason?: string; message?: string };
  };
  lastState?: { terminated?: unknown };
}

// A Pod that always restarts never says "Failed"; these reasons of a waiting container do.
const BROKEN = /^Err|(Error|BackOff)$/;

export const pod: HealthCheck = (object) => {
  const { spec = {}, status = {} } = object;
  // An init container may fail and be retried while the pod is pending: only the other containers count for its health.
  const containers: ContainerStatus[] = status.containerStatuses ?? [];
  const always = spec.restartPolicy === "Always";
  if (always) {
    const waiting = containers
      .map((c) => c.state?.waiting)
      .filter((w) => w?.reason !== undefined && BROKEN.test(w.reason));
    if (waiting.length)
      return health(
        "Degraded",
        waiting
          .map((w) => w!.message ?? "")
          .filter(Boolean)
          .join(", "),
      );
  }
  switch (status.phase) {
    case "Pending":
      return health("Progressing", status.message);
    case "Succeeded":
      return health("Healthy", status.message);
    case "Failed":
      return health("Degraded", status.message || failure([...(status.initContainerStatuses ?? []), ...containers]));
    case "Running":
      if (!always) return health(spec.restartPolicy ? "Progressing" : "Unknown", status.message);
      if (conditionsOf(object).find((c) => c.type === "Ready")?.status === "True")
        return health("Healthy", status.message);
      return health(containers.some((c) => c.lastState?.terminated) ? "Degraded" : "Progressing", status.message);
  }
  return health("Unknown", status.message);
};

function failure(containers: ContainerStatus[]): string | undefined {
  for (const { name, state } of containers) {
    const ended = state?.terminated;
    if (!ended) continue;
    if (ended.message) return ended.message;
    if (ended.reason === "OOMKilled") return ended.reason;
    if (ended.exitCode !== 0) return `container "${name}" failed with exit code ${ended.exitCode}`;
  }
  return undefined;
}
