import type { KubeObject } from "../../../kube/object.ts";

/** What the ConfigMaps of our namespace say of the cache that argocd-server reads. */
export interface CacheOptions {
  /** `host:port` of the Redis; without it nothing is written. */
  server?: string;
  db: number;
  compression: "gzip" | "none";
  /** Annotations of Secrets whose values are hidden like their data. */
  hiddenAnnotations: string[];
  /** Labels that are shown beside an object. */
  customLabels: string[];
  /** Labels of cluster nodes that are shown. */
  nodeLabels: string[];
  /** The settings that cannot be used. */
  problems: string[];
}

const SERVER = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(:\d{1,5})?$/;
const DEFAULT_PORT = 6379;
const MAX_LIST = 100;

/** `argocd-cmd-params-cm` names the Redis; the environment may name another one. `argocd-cm` says what to show and what to hide. */
export function readCacheOptions(configMaps: readonly KubeObject[], env: NodeJS.ProcessEnv = {}): CacheOptions {
  const dataOf = (name: string) =>
    (configMaps.find(({ metadata }) => metadata.name === name)?.data ?? {}) as Record<string, unknown>;
  const [params, settings] = [dataOf("argocd-cmd-params-cm"), dataOf("argocd-cm")];
  const problems: string[] = [];
  const text = (value: unknown) => (typeof value === "string" ? value.trim() : "");

  let server = env.OUTPOST_ARGOCD_REDIS_SERVER || text(params["redis.server"]) || undefined;
  // Otherwise anyone who may write the ConfigMap could redirect the states of all objects.
  if (env.OUTPOST_ARGOCD_REDIS_SERVER === "off") server = undefined;
  if (server && !SERVER.test(server)) {
    problems.push("redis.server must be a host and a port, for example argocd-redis:6379");
    server = undefined;
  }
  const db = env.OUTPOST_ARGOCD_REDIS_DB || text(params["redis.db"]) || "0";
  if (!/^\d{1,5}$/.test(db)) problems.push("redis.db must be a number, for example 0");
  const compression = env.OUTPOST_ARGOCD_REDIS_COMPRESSION || text(params["redis.compression"]) || "gzip";
  if (compression !== "gzip" && compression !== "none") problems.push("redis.compression must be gzip or none");
  const list = (key: string) =>
    text(settings[key])
      .split(",")
      .map((one) => one.trim())
      .filter(Boolean)
      .slice(0, MAX_LIST);
  return {
    // Entries in another place or form than the readers expect help no reader.
    ...(server && problems.length === 0 ? { server: withPort(server) } : {}),
    db: Number(db) || 0,
    compression: compression === "none" ? "none" : "gzip",
    hiddenAnnotations: list("resource.sensitive.mask.annotations"),
    customLabels: list("resource.customLabels"),
    nodeLabels: list("application.allowedNodeLabels"),
    problems,
  };
}

const withPort = (server: string): string =>
  /:\d+$/.test(server) && !server.endsWith("]") ? server : `${server}:${DEFAULT_PORT}`;

/** How to reach the Redis besides its address: what Argo CD takes as flags or from its environment. */
export interface CacheAccess {
  username?: string;
  tls?: { ca?: string; cert?: string; key?: string; insecure: boolean };
  treeShardSize: number;
  ttlSeconds: number;
}

const HOUR_SECONDS = 3_600;

export function readCacheAccess(env: NodeJS.ProcessEnv, read: (file: string) => string): CacheAccess {
  const file = (name: string) => (env[name] ? read(env[name]!) : undefined);
  const how = env.OUTPOST_ARGOCD_REDIS_TLS || "false";
  if (!["true", "false", "insecure"].includes(how))
    throw new Error("OUTPOST_ARGOCD_REDIS_TLS must be true, false or insecure");
  const size = Number(env.ARGOCD_APPLICATION_TREE_SHARD_SIZE || 0);
  if (!Number.isInteger(size) || size < 0 || size > 1_000)
    throw new Error("ARGOCD_APPLICATION_TREE_SHARD_SIZE must be from 0 to 1000");
  return {
    ...(env.OUTPOST_ARGOCD_REDIS_USERNAME ? { username: env.OUTPOST_ARGOCD_REDIS_USERNAME } : {}),
    ...(how === "false"
      ? {}
      : {
          tls: {
            ca: file("OUTPOST_ARGOCD_REDIS_CA_FILE"),
            cert: file("OUTPOST_ARGOCD_REDIS_CERT_FILE"),
            key: file("OUTPOST_ARGOCD_REDIS_KEY_FILE"),
            insecure: how === "insecure",
          },
        }),
    treeShardSize: size,
    ttlSeconds: HOUR_SECONDS,
  };
}
