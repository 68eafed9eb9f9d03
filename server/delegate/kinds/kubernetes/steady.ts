import type { KubeClient } from "../../../kube/client.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { type Container, podsOf } from "./pods.ts";

/** Why a workload that says it is ready is not believed yet. */
export interface Unsteady {
  why: string;
  /** A container of it has ended before. */
  restarted: boolean;
}

// Most programs that cannot start end within this time: a setting is missing, a database is not there.
const STEADY_MS = 5_000;
// Kubernetes starts a container that has ended again after 10 s, then 20 s, 40 s and so on.
const AFTER_RESTART_MS = 20_000;
/** So old by the Pod's own clock is old whatever clocks differ. */
const OLD_MS = 60_000;
const WORKLOADS = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"];

/** Kinds whose containers are meant to keep running. */
export const keepsRunning = ({ kind }: KubeObject): boolean => WORKLOADS.includes(kind);

/**
 * Kubernetes takes a container without a readiness probe for ready from its first moment, so that one that crashes again and again is ready for
 * an instant each time. Such a container must run for some seconds before it counts here. Probes and `minReadySeconds` are believed as they are.
 */
export class Steadiness {
  /** When a run of a container was first seen. */
  readonly #seen = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Looks at the Pods of a workload that says it is ready. Where these may not be read, the workload is believed. */
  async check(client: KubeClient, object: KubeObject): Promise<Unsteady | undefined> {
    if (!keepsRunning(object) || (object.spec?.minReadySeconds ?? 0) * 1_000 >= STEADY_MS) return undefined;
    const pods = await podsOf(client, object);
    return typeof pods === "string" ? undefined : pods.map((pod) => this.unsteady(pod)).find(Boolean);
  }

  unsteady(pod: KubeObject): Unsteady | undefined {
    if (pod.status?.phase === "Succeeded") return undefined;
    const probed = new Set<string>();
    for (const { name, readinessProbe, startupProbe } of pod.spec?.containers ?? [])
      if (readinessProbe || startupProbe) probed.add(name);
    for (const container of (pod.status?.containerStatuses ?? []) as Container[]) {
      if (probed.has(container.name)) continue;
      const why = this.#whyNot(pod, container);
      if (why)
        return {
          why: `container ${container.name} of Pod ${pod.metadata.name} ${why}`,
          restarted: (container.restartCount ?? 0) > 0,
        };
    }
    return undefined;
  }

  #whyNot({ metadata }: KubeObject, { name, restartCount = 0, state }: Container): string | undefined {
    if (state?.waiting?.reason === "CrashLoopBackOff") return "ends again and again (CrashLoopBackOff)";
    if (state?.terminated?.exitCode) return `ended with exit code ${state.terminated.exitCode}`;
    const startedAt = state?.running?.startedAt;
    if (!startedAt || Date.now() - Date.parse(startedAt) >= OLD_MS) return undefined;
    const run = `${metadata.uid}/${name}/${startedAt}`;
    const first = this.#seen.get(run) ?? this.#now();
    this.#seen.set(run, first);
    const needed = restartCount > 0 ? AFTER_RESTART_MS : STEADY_MS;
    if (this.#now() - first >= needed) return undefined;
    const restarts = restartCount > 0 ? ` after ${restartCount} restart${restartCount > 1 ? "s" : ""}` : "";
    return `has just started${restarts}; without a readiness probe it counts as ready when it has run for ${needed / 1_000} s`;
  }
}
