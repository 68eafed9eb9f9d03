import type { KubeObject } from "../../../../kube/object.ts";
import type { Resource } from "../../../../kube/path.ts";
import { resourcePath } from "../../../../kube/path.ts";
import type { Destination } from "../../destination.ts";
import { hasEnded, podRequests, type Requests } from "./pod.ts";
import { milli } from "./quantity.ts";

/** One node of the cluster on which Pods of an application run. */
export interface HostInfo {
  name: string;
  resourcesInfo?: { resourceName: string; requestedByApp?: number; requestedByNeighbors?: number; capacity?: number }[];
  systemInfo: Record<string, unknown>;
  labels?: Record<string, string>;
}

interface Host {
  capacity: Requests;
  systemInfo: Record<string, unknown>;
  labels: Record<string, string>;
  /** The sum of the resource requests of all Pods on it. */
  requested: Requests;
}

const SHOWN = ["cpu", "memory", "storage"];
// All Pods of the cluster are counted for it, and the view is a rough one.
const EACH_MS = 300_000;
const PAGE = 500;
const MAX_PODS = 100_000;
const NODES: Resource = { group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false };
const PODS: Resource = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true };

/** The nodes of the clusters and the resources requested on them. Only sums are kept, for some minutes. */
export class Hosts {
  readonly #known = new Map<string, { at: number; hosts: Promise<ReadonlyMap<string, Host>> }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async of(destination: Destination, pods: readonly KubeObject[], labels: readonly string[]): Promise<HostInfo[]> {
    const placed = pods.filter(({ spec }) => typeof spec?.nodeName === "string" && spec.nodeName);
    if (placed.length === 0) return [];
    const hosts = await this.#hosts(destination);
    const names = [...new Set(placed.map(({ spec }) => spec.nodeName as string))].sort();
    return names.flatMap((name) => {
      const host = hosts.get(name);
      return host
        ? hostInfo(
            name,
            host,
            placed.filter(({ spec }) => spec.nodeName === name),
            labels,
          )
        : [];
    });
  }

  forget(destination: string): void {
    this.#known.delete(destination);
  }

  #hosts(destination: Destination): Promise<ReadonlyMap<string, Host>> {
    const known = this.#known.get(destination.id);
    if (known && this.#now() - known.at < EACH_MS) return known.hosts;
    const hosts = read(destination);
    this.#known.set(destination.id, { at: this.#now(), hosts });
    return hosts;
  }
}

function hostInfo(name: string, host: Host, pods: readonly KubeObject[], wanted: readonly string[]): HostInfo {
  const own: Requests = {};
  const counted: Requests = {};
  for (const pod of pods)
    for (const [what, value] of Object.entries(podRequests(pod))) {
      own[what] = (own[what] ?? 0) + value;
      if (!hasEnded(pod)) counted[what] = (counted[what] ?? 0) + value;
    }
  const resourcesInfo = SHOWN.filter((what) => (host.capacity[what] ?? 0) > 0).map((resourceName) => {
    const neighbours = Math.max(0, (host.requested[resourceName] ?? 0) - (counted[resourceName] ?? 0));
    return {
      resourceName,
      ...(own[resourceName] ? { requestedByApp: own[resourceName] } : {}),
      ...(neighbours ? { requestedByNeighbors: neighbours } : {}),
      capacity: host.capacity[resourceName]!,
    };
  });
  const labels = Object.fromEntries(
    wanted.flatMap((label) => (host.labels[label] === undefined ? [] : [[label, host.labels[label]]])),
  );
  return {
    name,
    ...(resourcesInfo.length ? { resourcesInfo } : {}),
    systemInfo: host.systemInfo,
    ...(Object.keys(labels).length ? { labels } : {}),
  };
}

/** A cluster whose nodes may not be read has no hosts to show. */
async function read(destination: Destination): Promise<ReadonlyMap<string, Host>> {
  const hosts = new Map<string, Host>();
  for await (const { metadata, status } of pages(destination, NODES, MAX_PODS)) {
    const capacity = Object.entries(status?.capacity ?? {}).map(([name, value]) => [name, milli(value)] as const);
    hosts.set(metadata.name, {
      capacity: Object.fromEntries(capacity),
      systemInfo: status?.nodeInfo ?? {},
      labels: metadata.labels ?? {},
      requested: {},
    });
  }
  if (hosts.size === 0) return hosts;
  for await (const pod of pages(destination, PODS, MAX_PODS)) {
    const host = hosts.get(pod.spec?.nodeName);
    if (!host || hasEnded(pod)) continue;
    for (const [what, value] of Object.entries(podRequests(pod)))
      host.requested[what] = (host.requested[what] ?? 0) + value;
  }
  return hosts;
}

async function* pages({ client }: Destination, resource: Resource, most: number): AsyncGenerator<KubeObject> {
  let next: string | undefined;
  let left = most;
  do {
    const page = await client.json<{ items?: KubeObject[]; metadata?: { continue?: string } }>(
      "GET",
      resourcePath(resource),
      {
        query: { limit: PAGE, continue: next },
      },
    );
    if (page.kind !== "done") return;
    yield* page.value.items ?? [];
    left -= PAGE;
    next = page.value.metadata?.continue;
  } while (next && left > 0);
}
