import type { Resource } from "../../../kube/path.ts";
import type { Destination } from "../destination.ts";

/** What `argocd cluster list` and the clusters' page show. */
export interface ClusterInfo {
  connectionState: { status: "Successful" | "Failed" | "Unknown"; message: string; attemptedAt: string };
  serverVersion?: string;
  cacheInfo: { resourcesCount?: number; apisCount?: number; lastCacheSyncTime?: string };
  applicationsCount: number;
  apiVersions?: string[];
}

const SILENT_MS = 60_000;
const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+/, "");

/** A cluster, as its applications found it; a cluster without applications is not queried. */
export async function clusterInfo(
  open: Destination | undefined,
  applications: number,
  now: number,
): Promise<ClusterInfo> {
  const attemptedAt = seconds(now);
  const unknown = { status: "Unknown" as const, attemptedAt };
  if (!open) {
    const message = applications ? "" : "Cluster has no applications and is not being monitored.";
    return { connectionState: { ...unknown, message }, cacheInfo: {}, applicationsCount: applications };
  }
  const { client, live } = open;
  const version = await client.json<{ gitVersion?: string }>("GET", "/version", { deadlineMs: 5_000 });
  const resources = await client.discovery.all();
  const about = {
    ...(version.kind === "done" ? { serverVersion: shortVersion(version.value.gitVersion) } : {}),
    applicationsCount: applications,
    ...(resources.length ? { apiVersions: apiVersions(resources) } : {}),
  };
  if (version.kind !== "done" && now - client.contactAt > SILENT_MS)
    return { connectionState: { status: "Failed", message: version.message, attemptedAt }, cacheInfo: {}, ...about };
  if (!client.contactAt) return { connectionState: { ...unknown, message: "" }, cacheInfo: {}, ...about };
  return {
    connectionState: { status: "Successful", message: "", attemptedAt },
    cacheInfo: {
      ...(live.size ? { resourcesCount: live.size } : {}),
      ...(live.kinds ? { apisCount: live.kinds } : {}),
      lastCacheSyncTime: seconds(client.contactAt),
    },
    ...about,
  };
}

/** `v1.33.13-gke.100` is `v1.33.13`: readers compare it with what charts ask for. */
export const shortVersion = (text: unknown): string => {
  const [, version] = /^v?(\d+(?:\.\d+){0,2})/.exec(typeof text === "string" ? text : "") ?? [];
  return version ? `v${version}` : "";
};

/** `apps/v1` and `apps/v1/Deployment`, sorted: of the kinds that an application can hold, as charts ask for them. */
export function apiVersions(resources: readonly Resource[]): string[] {
  const found = new Set<string>();
  for (const { group, version, kind, verbs } of resources) {
    if (!verbs?.includes("list") || !verbs.includes("watch")) continue;
    const served = group ? `${group}/${version}` : version;
    found.add(served).add(`${served}/${kind}`);
  }
  return [...found].sort();
}
