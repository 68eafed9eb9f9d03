import { Redis } from "ioredis";
import type { Secret } from "../../base/secret.ts";
import { Box } from "./box.ts";
import type { ContentCache } from "./cache.ts";
import { MemoryCache } from "./memory.ts";

// As long as Argo CD keeps a rendering; a key in use is renewed by the replica that needs it.
const TTL_SECONDS = 24 * 3_600;
// A cache that is slow is worse than none.
const DEADLINE_MS = 500;

/** Shared by the replicas of the repo server; the values used last stay in this process too. Without Redis every read is a miss. */
export class RedisCache implements ContentCache {
  readonly #redis: Redis;
  readonly #near = new MemoryCache(32_000_000);
  readonly #box: Box;

  constructor(url: string, secret: Secret) {
    this.#box = new Box(secret, "cache");
    this.#redis = new Redis(url, {
      connectTimeout: 2_000,
      commandTimeout: DEADLINE_MS,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      retryStrategy: (times) => Math.min(5_000, 100 * 2 ** times),
    });
    // Each failing command has its own error; without a listener every failed connection would be printed.
    this.#redis.on("error", () => {});
  }

  async get(key: string): Promise<unknown | undefined> {
    const near = await this.#near.get(key);
    if (near !== undefined) return near;
    const name = `outpost:render:${key}`;
    try {
      const sealed = await this.#redis.getBuffer(name);
      const opened = sealed ? this.#box.open(sealed, name) : undefined;
      if (!opened) return undefined;
      const value: unknown = JSON.parse(opened.toString("utf8"));
      await this.#near.set(key, value);
      return value;
    } catch {
      return undefined;
    }
  }

  async set(key: string, value: unknown): Promise<void> {
    await this.#near.set(key, value);
    const name = `outpost:render:${key}`;
    try {
      await this.#redis.set(name, this.#box.seal(JSON.stringify(value), name), "EX", TTL_SECONDS);
    } catch {
      // The rendering is there; only the next replica will make it once more.
    }
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
    await this.#near.close();
  }
}
