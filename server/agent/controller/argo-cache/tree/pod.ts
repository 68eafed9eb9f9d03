import type { KubeObject } from "../../../../kube/object.ts";
import { milli } from "./quantity.ts";

export interface InfoItem {
  name: string;
  value: string;
}

/** The resource requests of Pods that are summed up per node: cpu, memory and storage, in thousandths. */
export type Requests = Record<string, number>;

interface ContainerState {
  waiting?: { reason?: string };
  running?: object;
  terminated?: { reason?: string; signal?: number; exitCode?: number };
}
interface ContainerStatus {
  name?: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: ContainerState;
}
interface Container {
  name?: string;
  image?: string;
  restartPolicy?: string;
  resources?: { requests?: Record<string, unknown> };
}

/** Objects of a cluster may have any shape. */
const list = <T>(value: unknown): T[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "object" && one !== null) : [];

const isSidecar = (container: Container | undefined): boolean => container?.restartPolicy === "Always";
export const hasEnded = (pod: KubeObject): boolean => ["Succeeded", "Failed"].includes(pod.status?.phase);

/** The lines that Argo CD shows beside a Pod; `kubectl get pods` prints the same reason. */
export function podInfo(pod: KubeObject): InfoItem[] {
  const { spec = {}, metadata } = pod;
  const containers = list<Container>(spec.containers);
  const sidecars = list<Container>(spec.initContainers).filter(isSidecar);
  const { reason, ready, restarts } = stateOf(pod);
  const requests = hasEnded(pod) ? undefined : podRequests(pod);
  return [
    ...(reason ? [{ name: "Status Reason", value: leaving(metadata.deletionTimestamp, pod, reason) }] : []),
    { name: "Node", value: String(spec.nodeName ?? "") },
    { name: "Containers", value: `${ready}/${containers.length + sidecars.length}` },
    ...(restarts > 0 ? [{ name: "Restart Count", value: String(restarts) }] : []),
    ...(requests
      ? [
          { name: "cpu", value: String(requests.cpu ?? 0) },
          { name: "memory", value: String(requests.memory ?? 0) },
        ]
      : []),
  ];
}

function leaving(deleted: string | undefined, pod: KubeObject, reason: string): string {
  if (!deleted) return reason;
  if (pod.status?.reason === "NodeLost") return "Unknown";
  return hasEnded(pod) ? reason : "Terminating";
}

function stateOf({ spec = {}, status = {} }: KubeObject): { reason: string; ready: number; restarts: number } {
  const conditions = list<{ type?: string; status?: string; reason?: string }>(status.conditions);
  const gated = conditions.some((one) => one.type === "PodScheduled" && one.reason === "SchedulingGated");
  const inits = new Map(list<Container>(spec.initContainers).map((one) => [one.name, one]));
  const found = {
    reason: String(gated ? "SchedulingGated" : status.reason || status.phase || ""),
    ready: 0,
    restarts: 0,
  };

  let initializing = false;
  for (const [i, container] of list<ContainerStatus>(status.initContainerStatuses).entries()) {
    const { state = {} } = container;
    found.restarts += container.restartCount ?? 0;
    if (state.terminated && (state.terminated.exitCode ?? 0) === 0) continue;
    if (isSidecar(inits.get(container.name)) && container.started) {
      if (container.ready) found.ready++;
      continue;
    }
    const waiting = state.waiting?.reason;
    if (state.terminated) found.reason = `Init:${endOf(state.terminated)}`;
    else if (waiting && waiting !== "PodInitializing") found.reason = `Init:${waiting}`;
    else found.reason = `Init:${i}/${inits.size}`;
    initializing = true;
    break;
  }
  const initialized = conditions.find((one) => one.type === "Initialized")?.status === "True";
  if (initializing && !initialized) return found;

  let running = false;
  for (const container of list<ContainerStatus>(status.containerStatuses).reverse()) {
    const { state = {} } = container;
    found.restarts += container.restartCount ?? 0;
    if (state.waiting?.reason) found.reason = state.waiting.reason;
    else if (state.terminated) found.reason = endOf(state.terminated);
    else if (container.ready && state.running) {
      running = true;
      found.ready++;
    }
  }
  if (found.reason === "Completed" && running) found.reason = "Running";
  return found;
}

const endOf = ({ reason, signal, exitCode = 0 }: NonNullable<ContainerState["terminated"]>): string =>
  reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);

/** What the scheduler counts: the containers together with the sidecars, or the largest step of the start, and the overhead. */
export function podRequests({ spec = {} }: KubeObject): Requests {
  const total: Requests = {};
  const add = (to: Requests, more: Requests) => {
    for (const [name, value] of Object.entries(more)) to[name] = (to[name] ?? 0) + value;
  };
  for (const container of list<Container>(spec.containers)) add(total, requestsOf(container.resources?.requests));
  const sidecars: Requests = {};
  const starting: Requests = {};
  for (const container of list<Container>(spec.initContainers)) {
    const own = requestsOf(container.resources?.requests);
    if (isSidecar(container)) {
      add(total, own);
      add(sidecars, own);
    }
    const step = isSidecar(container) ? { ...sidecars } : own;
    if (!isSidecar(container)) add(step, sidecars);
    for (const [name, value] of Object.entries(step)) starting[name] = Math.max(starting[name] ?? 0, value);
  }
  for (const [name, value] of Object.entries(starting)) total[name] = Math.max(total[name] ?? 0, value);
  // A request of the whole Pod counts instead of those of its containers.
  Object.assign(total, requestsOf(spec.resources?.requests));
  add(total, requestsOf(spec.overhead));
  return total;
}

const requestsOf = (given: unknown): Requests =>
  typeof given === "object" && given !== null
    ? Object.fromEntries(Object.entries(given).map(([name, value]) => [name, milli(value)]))
    : {};
