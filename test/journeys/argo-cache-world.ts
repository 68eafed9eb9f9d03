import { gunzipSync } from "node:zlib";
import { Redis } from "ioredis";
import { RESOURCES } from "../../server/kube/path.ts";
import { type RedisServer, startRedis } from "../servers/redis.ts";
import { settings, value, type World, world } from "./engine-world.ts";

/** The entries that argocd-server reads, decoded as it decodes them: key, gzip, JSON. The real one is not needed for it. */
export interface CacheWorld {
  w: World;
  redis: RedisServer;
  reader: Redis;
  /** An entry as it is now; undefined when there is none. */
  entry(key: string): Promise<Json>;
  /** Waits for an entry that is as `check` wants it. */
  shown(key: string, check?: (found: Json) => boolean): Promise<Json>;
  stop(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: what another program reads; the expectations say its shape.
export type Json = any;
export const VERSION = "1.8.3";
export const PARAMS = "argocd-cmd-params-cm";
export const state = (text: string): Json => JSON.parse(text);
const PASSWORD = "of-the-redis";

/** The engine with a Redis that is named and guarded as Argo CD's is. */
export async function cacheWorld(): Promise<CacheWorld> {
  const [w, redis] = await Promise.all([world(), startRedis({ password: PASSWORD })]);
  const reader = new Redis(redis.url, { retryStrategy: () => 100 });
  reader.on("error", () => {});
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "argocd-redis", namespace: w.namespace },
    data: { auth: Buffer.from(PASSWORD).toString("base64") },
  };
  value(await w.client.create(RESOURCES.secret, secret));
  await settings(w, PARAMS, { "redis.server": `127.0.0.1:${redis.port}` });
  const entry = async (key: string): Promise<Json> => {
    const packed = await reader.getBuffer(`${key}|${VERSION}.gz`).catch(() => null);
    return packed ? JSON.parse(gunzipSync(packed).toString("utf8")) : undefined;
  };
  return {
    w,
    redis,
    reader,
    entry,
    shown: async (key, check = Boolean) => {
      let found: Json;
      await w.settled(async () => {
        found = await entry(key);
        return found !== undefined && check(found);
      }, `what ${key} is to show`);
      return found;
    },
    stop: async () => {
      reader.disconnect();
      await w.stop();
      await redis.stop();
    },
  };
}
