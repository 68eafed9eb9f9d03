import { Redis } from "ioredis";
import type { Secret } from "../../../base/secret.ts";
import type { CacheAccess } from "./options.ts";

const CONNECT_MS = 3_000;
// A large entry on a slow line takes seconds. A Redis that is slower counts as away.
const DEADLINE_MS = 15_000;
const RETRY_MS = [1_000, 2_000, 5_000, 10_000, 30_000];
// A Redis that answers but refuses writes, such as a replica or a full one, will most likely refuse again.
const REFUSED_MS = [5_000, 30_000, 120_000, 300_000];

export interface ConnectionOptions {
  server: string;
  db: number;
  access: CacheAccess;
  password: Secret | undefined;
  /** It answers again: entries that were written before may be gone. */
  ready(): void;
  /** It does not answer, or refuses; reported once until it answers again. */
  failed(message: string): void;
}

/** One connection to the Redis that argocd-server reads. While it is away every command fails at once. */
export class Connection {
  readonly #redis: Redis;
  readonly #options: ConnectionOptions;
  #failed = false;
  #refusals = 0;
  #greeting: NodeJS.Timeout | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { server, db, access, password } = options;
    const colon = server.lastIndexOf(":");
    const host = server.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
    const { tls, username } = access;
    this.#redis = new Redis({
      host,
      port: Number(server.slice(colon + 1)),
      db,
      ...(username ? { username } : {}),
      ...(password ? { password: password.reveal() } : {}),
      ...(tls
        ? { tls: { ca: tls.ca, cert: tls.cert, key: tls.key, rejectUnauthorized: !tls.insecure, servername: host } }
        : {}),
      connectTimeout: CONNECT_MS,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      autoResubscribe: false,
      // Unanswered commands are sent again after the next connection. Without this, a command of a lost connection never ends.
      autoResendUnfulfilledCommands: false,
      retryStrategy: (times) => RETRY_MS[Math.min(times, RETRY_MS.length) - 1]!,
    });
    this.#redis.on("ready", () => void this.#greet());
    this.#redis.on("error", (error) =>
      this.#fail(error.message || (error as NodeJS.ErrnoException).code || "no connection"),
    );
    this.#redis.on("close", () => this.#fail("the connection was closed"));
  }

  /** Whether it answered the last time; if not, no entries are made for it. */
  get usable(): boolean {
    return this.#redis.status === "ready" && !this.#failed;
  }

  /** False when it could not be written. */
  async set(key: string, value: Buffer, ttlSeconds: number): Promise<boolean> {
    const written = (await this.#ask(() => this.#redis.set(key, value, "EX", ttlSeconds))) !== undefined;
    if (written) this.#refusals = 0;
    return written;
  }

  /** Extends the lifetime of entries; false if one of them is gone, for example after an eviction. */
  async renew(keys: readonly string[], ttlSeconds: number): Promise<boolean> {
    const answers = await this.#optional(() => Promise.all(keys.map((key) => this.#redis.expire(key, ttlSeconds))));
    return answers?.every((there) => there === 1) === true;
  }

  async remove(keys: readonly string[]): Promise<boolean> {
    return (await this.#ask(() => this.#redis.del(...keys))) !== undefined;
  }

  async publish(channel: string): Promise<void> {
    await this.#optional(() => this.#redis.publish(channel, ""));
  }

  /** The number of listeners of each channel; empty if unknown. */
  async listeners(channels: readonly string[]): Promise<number[]> {
    const answer = await this.#optional(() => this.#redis.pubsub("NUMSUB", ...channels));
    return channels.map((_, i) => Number(answer?.[2 * i + 1] ?? 0));
  }

  close(): void {
    clearTimeout(this.#greeting);
    this.#redis.disconnect();
  }

  /** A port that accepts is not enough: it may want another password, or be loading. */
  async #greet(): Promise<void> {
    try {
      await this.#redis.ping();
      this.#failed = false;
      this.#options.ready();
    } catch (error) {
      this.#fail((error as Error).message);
    }
  }

  async #ask<T>(command: () => Promise<T>): Promise<T | undefined> {
    if (!this.usable) return undefined;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("a command timed out")), DEADLINE_MS).unref();
    });
    try {
      return await Promise.race([command(), late]);
    } catch (error) {
      const { message } = error as Error;
      const answers = this.#redis.status === "ready" && !this.#failed;
      this.#fail(message);
      if (!answers) return undefined;
      // A Redis that accepts commands without answering would delay each following command just as long.
      if (/timed out/i.test(message)) this.#redis.disconnect(true);
      else
        this.#greeting = setTimeout(
          () => void this.#greet(),
          REFUSED_MS[Math.min(this.#refusals++, REFUSED_MS.length - 1)],
        ).unref();
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A command that its ACL may forbid, and that is optional. */
  #optional<T>(command: () => Promise<T>): Promise<T | undefined> {
    return this.#ask(() =>
      command().catch((error: Error) => {
        if (error.name === "ReplyError") return undefined;
        throw error;
      }),
    );
  }

  #fail(message: string): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#options.failed(message);
  }
}
