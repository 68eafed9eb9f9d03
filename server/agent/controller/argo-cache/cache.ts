import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Counter, Gauge, type Registry } from "prom-client";
import { Secret } from "../../../base/secret.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import type { Application } from "../application.ts";
import type { Deps } from "../deps.ts";
import { place } from "../projects.ts";
import { clusterInfo } from "./clusters.ts";
import { Connection } from "./connection.ts";
import { Entries, type Written } from "./entries.ts";
import { channelOf, clusterKey, encode, storedKey } from "./format.ts";
import { type CacheAccess, type CacheOptions, readCacheAccess, readCacheOptions } from "./options.ts";
import { Schedule } from "./schedule.ts";
import { SharedLists } from "./shared-lists.ts";
import { Hosts } from "./tree/hosts.ts";

export interface ArgoCacheOptions {
  deps: Deps;
  /** Whether an application is this controller's. */
  owns(app: Application): boolean;
  /** The first of several controllers also reports clusters without applications. */
  first: boolean;
  env?: NodeJS.ProcessEnv;
  registry: Registry;
}

// Two, so that other work goes on between the pages of one application.
const PARALLEL = 2;
const CLUSTERS_MS = 10_000;
const CLUSTERS_TTL_SECONDS = 600;
// Applications that are open in a browser are looked up, and written again, this often.
const VIEWERS_MS = 5_000;
const VIEWERS_PAGE = 500;
// A requested refresh waits this long for its entries, because its caller reads them at once.
const ANSWER_MS = 1_000;
const AGAIN_MS = 60_000;
const PASSWORD_MS = 30_000;
const STOP_MS = 1_000;
const PASSWORD = { secret: "argocd-redis", key: "auth" };

/**
 * Writes what argocd-server and the argocd command line read, if a Redis is named for it. The work on applications never waits for it.
 * For each application it keeps only the time when it is due and two digests. While the Redis is away, no entries are made.
 */
export class ArgoCache {
  readonly #with: ArgoCacheOptions;
  readonly #access: CacheAccess;
  readonly #hosts = new Hosts();
  readonly #lists = new SharedLists();
  readonly #running = new Map<string, Promise<void>>();
  /** Applications that were deleted while the Redis was away. */
  readonly #removed = new Map<string, number>();
  readonly #writes: Counter<"result">;
  readonly #up: Gauge;
  #options: CacheOptions | undefined;
  #schedule: Schedule;
  #connection: Connection | undefined;
  #entries: Entries | undefined;
  #timers: NodeJS.Timeout[] = [];
  #pumping: NodeJS.Timeout | undefined;
  #epoch = 0;
  #stopped = false;

  constructor(options: ArgoCacheOptions) {
    this.#with = options;
    this.#access = readCacheAccess(options.env ?? {}, (file) => readFileSync(file, "utf8"));
    this.#schedule = new Schedule(this.#access.ttlSeconds, Date.now);
    const registers = [options.registry];
    this.#writes = new Counter({
      name: "outpost_argocd_cache_writes_total",
      help: "Writes of an application's entries for argocd-server, by result",
      labelNames: ["result"],
      registers,
    });
    this.#up = new Gauge({
      name: "outpost_argocd_cache_up",
      help: "1 while the Redis of argocd-server answers, 0 while it does not; -1 where none is named",
      registers,
    });
    this.#up.set(-1);
  }

  /** Takes the ConfigMaps of our namespace. */
  configure(configMaps: readonly KubeObject[]): void {
    const options = readCacheOptions(configMaps, this.#with.env);
    if (JSON.stringify(options) === JSON.stringify(this.#options)) return;
    for (const problem of options.problems)
      this.#with.deps.log.warn({ problem }, "nothing is written for argocd-server");
    this.#options = options;
    void this.#open();
  }

  /** An application was looked at. */
  changed(name: string): void {
    // The last look at an application ends when it is gone.
    if (!this.#options?.server || !this.#with.deps.store.get(name)) return;
    this.#schedule.changed(name);
    this.#pump();
  }

  /** Called before a requested refresh is answered; takes at most a second. */
  async answer(name: string): Promise<void> {
    if (!this.#connection?.usable) return;
    this.#schedule.changed(name);
    const ended = new AbortController();
    await Promise.race([
      this.#run(name),
      sleep(ANSWER_MS, undefined, { ref: false, signal: ended.signal }).catch(() => undefined),
    ]);
    ended.abort();
  }

  gone(name: string): void {
    if (!this.#options?.server) return;
    this.#removed.set(name, this.#schedule.forget(name)?.shards ?? 1);
    void this.#run(name);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#epoch++;
    this.#rest();
    await Promise.race([Promise.allSettled(this.#running.values()), sleep(STOP_MS, undefined, { ref: false })]);
    this.#connection?.close();
  }

  async #open(): Promise<void> {
    const epoch = ++this.#epoch;
    this.#rest();
    this.#connection?.close();
    this.#connection = undefined;
    const { deps } = this.#with;
    const options = this.#options!;
    this.#schedule = new Schedule(this.#access.ttlSeconds, Date.now);
    if (!options.server) {
      this.#up.set(-1);
      return;
    }
    this.#up.set(0);
    for (const name of deps.memory.keys()) this.#schedule.changed(name);
    const password = await this.#password();
    if (epoch !== this.#epoch || this.#stopped) return;
    const { server, db } = options;
    const connection = new Connection({
      server,
      db,
      access: this.#access,
      password,
      ready: () => {
        if (epoch !== this.#epoch) return;
        deps.log.info({ redis: server }, "argocd-server is shown the applications through its Redis");
        this.#up.set(1);
        this.#begin();
      },
      failed: (message) => {
        if (epoch !== this.#epoch) return;
        deps.log.warn(
          { redis: server, error: message },
          "the Redis of argocd-server cannot be written; its UI shows what it had",
        );
        this.#up.set(0);
        this.#rest();
        // Another password may have been set since.
        if (/NOAUTH|WRONGPASS|invalid.*password|NOPERM/i.test(message))
          this.#later(PASSWORD_MS, () => void this.#open());
      },
    });
    this.#connection = connection;
    const { hosts, lists } = { hosts: this.#hosts, lists: this.#lists };
    this.#entries = new Entries({ deps, options, access: this.#access, connection, hosts, lists });
  }

  /** The Secret that Argo CD makes for its Redis; none where it has none. */
  async #password(): Promise<Secret | undefined> {
    const { home, namespace, log } = this.#with.deps;
    const given = this.#with.env?.OUTPOST_ARGOCD_REDIS_PASSWORD;
    if (given) return new Secret(given);
    const found = await home.list(RESOURCES.secret, { namespace, fieldSelector: `metadata.name=${PASSWORD.secret}` });
    if (found.kind !== "done") {
      log.warn({ reason: found.reason }, `Secret ${PASSWORD.secret} cannot be read: ${found.message}`);
      return undefined;
    }
    const value = (found.value.items[0]?.data as Record<string, unknown> | undefined)?.[PASSWORD.key];
    return typeof value === "string" && value
      ? new Secret(Buffer.from(value, "base64").toString("utf8").trim())
      : undefined;
  }

  /** Entries that were written before may be gone. */
  #begin(): void {
    this.#rest();
    this.#schedule.lost();
    for (const name of this.#removed.keys()) void this.#run(name);
    this.#every(CLUSTERS_MS, () => this.#clusters());
    this.#every(VIEWERS_MS, () => this.#viewers());
    this.#pump();
  }

  #rest(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [];
    clearTimeout(this.#pumping);
  }

  #later(ms: number, work: () => void): void {
    const timer = setTimeout(work, ms);
    timer.unref();
    this.#timers.push(timer);
  }

  /** Runs one after the other, however long each takes; the first one starts at once. */
  #every(ms: number, work: () => Promise<void>): void {
    const epoch = this.#epoch;
    const timers = this.#timers;
    const round = async () => {
      await work().catch((error: Error) =>
        this.#with.deps.log.error({ error: error.stack }, "writing for argocd-server threw"),
      );
      if (epoch !== this.#epoch || timers !== this.#timers || !this.#connection?.usable) return;
      this.#later(ms, () => void round());
    };
    void round();
  }

  #pump(): void {
    clearTimeout(this.#pumping);
    if (!this.#connection?.usable || this.#stopped) return;
    const busy = new Set(this.#running.keys());
    while (busy.size < PARALLEL) {
      const { name, inMs } = this.#schedule.next(busy);
      if (inMs !== undefined) {
        this.#pumping = setTimeout(() => this.#pump(), inMs);
        this.#pumping.unref();
      }
      if (name === undefined) return;
      busy.add(name);
      // Whatever the result, it is not due again at once: such a loop would block everything else.
      this.#schedule.begin(name);
      void this.#run(name).then(() => this.#pump());
    }
  }

  /** One write of an application at a time. */
  #run(name: string): Promise<void> {
    const run = (this.#running.get(name) ?? Promise.resolve())
      .then(() => this.#write(name))
      .then((result) => {
        if (result) this.#writes.inc({ result });
      })
      .catch((error: Error) => {
        this.#with.deps.log.error({ app: name, error: error.stack }, "writing for argocd-server threw");
        this.#writes.inc({ result: "failed" });
        this.#later(AGAIN_MS, () => this.changed(name));
      })
      .finally(() => {
        if (this.#running.get(name) === run) this.#running.delete(name);
      });
    this.#running.set(name, run);
    return run;
  }

  async #write(name: string): Promise<Written | undefined> {
    const { deps, owns } = this.#with;
    const entries = this.#entries;
    if (!this.#connection?.usable || !entries) return undefined;
    const app = deps.store.get(name);
    const removed = this.#removed.get(name);
    if (removed !== undefined) {
      if (!app && !(await entries.remove(name, removed))) return "failed";
      this.#removed.delete(name);
    }
    const memory = deps.memory.get(name);
    if (!app || !owns(app) || !memory) {
      this.#schedule.forget(name);
      return undefined;
    }
    const schedule = this.#schedule;
    const entry = schedule.begin(name);
    const destination = await place(deps, app);
    if (destination.kind === "done" && !memory.wanted && !memory.failure) return undefined;
    if (destination.kind !== "done") {
      const result = await entries.empty(name, entry);
      schedule.written(name, { unsettled: false });
      return result;
    }
    const { result, unsettled } = await entries.write(name, app, destination.value, memory, entry);
    // One that failed is written when the Redis answers again.
    if (result !== "failed") schedule.written(name, { unsettled });
    return result;
  }

  /** Keeps the applications that are open in a browser fresh: a Pod may change without being watched. */
  async #viewers(): Promise<void> {
    const { names } = this.#schedule;
    for (let from = 0; from < names.length; from += VIEWERS_PAGE) {
      const page = names.slice(from, from + VIEWERS_PAGE);
      const listeners = (await this.#connection?.listeners(page.map(channelOf))) ?? [];
      for (const [i, name] of page.entries()) if (listeners[i]) this.#schedule.watched(name);
    }
    this.#pump();
  }

  async #clusters(): Promise<void> {
    const { deps, first } = this.#with;
    const { destinations, store } = deps;
    const applications = new Map<string, number>();
    for (const app of store.all()) {
      const id = destinations.idOf(app);
      if (id !== undefined) applications.set(id, (applications.get(id) ?? 0) + 1);
    }
    const open = new Map([...destinations.open].map((one) => [one.id, one]));
    for (const { id, server } of destinations.known()) {
      const count = applications.get(id) ?? 0;
      if (!open.has(id) && !first) continue;
      const info = await clusterInfo(open.get(id), count, Date.now());
      const { compression } = this.#options!;
      const stored = await this.#connection?.set(
        storedKey(clusterKey(server), compression),
        await encode(info, compression),
        CLUSTERS_TTL_SECONDS,
      );
      if (!stored) return;
    }
  }
}
