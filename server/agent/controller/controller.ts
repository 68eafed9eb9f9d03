import type { KubeClient } from "../kube/client.ts";
import type { KubeObject } from "../kube/object.ts";
import { RESOURCES, type Resource } from "../kube/path.ts";
import { watch } from "../kube/watch.ts";
import type { RepoDoor } from "../repo/types.ts";
import { type Application, META } from "./application.ts";
import type { Deps, Log } from "./deps.ts";
import { Destinations } from "./destination.ts";
import { Metrics } from "./metrics.ts";
import { PRIORITY, Queue } from "./queue.ts";
import { reconcile } from "./reconcile.ts";
import { Report } from "./report.ts";
import { Repositories } from "./repositories.ts";
import { Store } from "./store.ts";
import { appLabel } from "./tracking.ts";

export interface ControllerOptions {
  home: KubeClient;
  /** Where the Applications and the Secrets are. */
  namespace: string;
  /** Namespaces this program may manage; empty for all. */
  managed?: readonly string[];
  repo: RepoDoor;
  workers?: number;
  log: Log;
  signal: AbortSignal;
  now?: () => number;
}

const SECRET_TYPE = "argocd.argoproj.io/secret-type";
// Events of one application come in bursts: a rollout changes a Deployment five times in a second.
const DEBOUNCE_MS = 15;
// A Pod has 30 s to end, and a lease is lost after 15 s.
const STOP_MS = 8_000;

/** Watches what an application depends on and calls `reconcile` for each that may have changed. */
export class Controller {
  readonly deps: Deps;
  readonly metrics = new Metrics();
  readonly #options: ControllerOptions;
  readonly #queue: Queue;
  readonly #labels = new Map<string, string>();
  readonly #watching = new AbortController();
  #watches: Promise<void>[] = [];
  #synced = 0;
  #stopped: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    const { home, namespace, managed = [], repo, log, signal, now = Date.now } = options;
    this.#options = options;
    this.#queue = new Queue(options.workers ?? 20, (name) => this.#work(name));
    const store = new Store(home, namespace);
    store.onForeignChange = (name) => this.#queue.add(name, PRIORITY.spec);
    const changed = (label: string) => {
      const name = this.#labels.get(label);
      if (name !== undefined) this.#queue.add(name, PRIORITY.live, DEBOUNCE_MS);
    };
    // Work that runs at the end still needs to see: the watches go after it.
    const destinations = new Destinations({ home, namespaces: managed, changed, signal: this.#watching.signal });
    signal.addEventListener("abort", () => void this.stop(), { once: true });
    this.deps = { home, namespace, repo, repositories: new Repositories(), destinations, store, memory: new Map(), log, now };
  }

  /** Resolves when everything was listed once; works until the signal. */
  async start(): Promise<void> {
    const { repositories, destinations } = this.deps;
    // Credentials first: an application that is looked at without them would be told that it has none.
    await Promise.all([
      this.#collection(RESOURCES.secret, `${SECRET_TYPE}=repository`, (all) =>
        this.#repositoriesChanged(() => repositories.replaceRepositories(all)),
      ),
      this.#collection(RESOURCES.secret, `${SECRET_TYPE}=repo-creds`, (all) =>
        this.#repositoriesChanged(() => repositories.replaceTemplates(all)),
      ),
      this.#collection(RESOURCES.configMap, "app.kubernetes.io/part-of=argocd", (all) =>
        this.#repositoriesChanged(() => repositories.replaceTrust(all)),
      ),
      this.#collection(RESOURCES.secret, `${SECRET_TYPE}=cluster`, (all) => this.#clustersChanged(() => destinations.replace(all))),
      // Asked once here, so that the first application does not wait for it.
      this.deps.home.discovery.find("", "v1", "Namespace"),
    ]);
    await this.#applications();
    this.#synced = Date.now();
  }

  get ready(): boolean {
    return this.#synced > 0;
  }

  /** Lets the work that runs come to its end, so that it is reported, and begins nothing new. */
  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      await this.#queue.stop(STOP_MS);
      this.#watching.abort();
      await Promise.all(this.#watches);
      await this.deps.destinations.close();
    })();
    return this.#stopped;
  }

  #applications(): Promise<void> {
    const { store } = this.deps;
    return this.#watch(RESOURCES.application, undefined, {
      replace: (items) => {
        const names = new Set(items.map((item) => item.metadata.name));
        for (const app of store.all()) if (!names.has(app.metadata.name)) this.#gone(app.metadata.name);
        for (const item of items) this.#seen(item as Application);
      },
      change: (type, object) => (type === "DELETED" ? this.#gone(object.metadata.name) : this.#seen(object as Application)),
    });
  }

  #seen(app: Application): void {
    const { name } = app.metadata;
    this.#labels.set(appLabel(name), name);
    if (!this.deps.store.seen(app)) return;
    const asked = app.operation || app.metadata.annotations?.[META.refresh] !== undefined || app.metadata.deletionTimestamp;
    this.#queue.add(name, asked ? PRIORITY.request : PRIORITY.spec);
  }

  #gone(name: string): void {
    const app = this.deps.store.get(name);
    this.deps.store.gone(name);
    this.deps.memory.delete(name);
    this.#labels.delete(appLabel(name));
    this.#queue.forget(name);
    for (const destination of this.deps.destinations.open) {
      for (const [key, owner] of destination.claims) if (owner === name) destination.claims.delete(key);
    }
    if (app) this.metrics.forget(app);
    // Whoever wanted an object of it may have it now.
    for (const other of this.deps.store.all()) {
      if (other.status?.conditions?.some((c) => c.type === "SharedResourceWarning"))
        this.#queue.add(other.metadata.name, PRIORITY.live, DEBOUNCE_MS);
    }
  }

  #repositoriesChanged(replace: () => void): void {
    replace();
    for (const app of this.deps.store.all()) {
      const memory = this.deps.memory.get(app.metadata.name);
      if (!memory?.failure) continue;
      memory.failure = undefined;
      memory.askedAt = 0;
      this.#queue.add(app.metadata.name, PRIORITY.spec);
    }
  }

  #clustersChanged(replace: () => void): void {
    replace();
    for (const app of this.deps.store.all()) this.#queue.add(app.metadata.name, PRIORITY.live, DEBOUNCE_MS);
  }

  async #work(name: string): Promise<void> {
    const app = this.deps.store.get(name);
    if (!app) return;
    const started = performance.now();
    const report = new Report(this.deps, name);
    try {
      const next = await reconcile(this.deps, app, report);
      if (next && this.deps.store.get(name)) this.#queue.add(name, PRIORITY.periodic, next.afterMs);
    } catch (error) {
      await report.drop();
      await this.#quarantine(name, error as Error);
    }
    await report.drop();
    this.metrics.reconciled(this.deps.store.get(name), performance.now() - started, this.#queue.depth);
  }

  /** A bug, or a specification of a shape nobody thought of: this application waits and says so, the others go on. */
  async #quarantine(name: string, error: Error): Promise<void> {
    this.deps.log.error({ app: name, error: error.stack }, "reconcile threw");
    const app = this.deps.store.get(name);
    const known = app?.status?.conditions?.find((c) => c.reason === "InternalError");
    if (app && !known) {
      const message = `this application cannot be worked on: ${error.message}`;
      const lastTransitionTime = new Date(this.deps.now()).toISOString().replace(/\.\d+/, "");
      await this.deps.store.patch(
        name,
        { status: { conditions: [{ type: "UnknownError", reason: "InternalError", message, lastTransitionTime }] } },
        false,
      );
    }
    this.#queue.add(name, PRIORITY.periodic, 30_000);
  }

  #collection(resource: Resource, labelSelector: string, replaced: (all: KubeObject[]) => void): Promise<void> {
    const objects = new Map<string, KubeObject>();
    return this.#watch(resource, labelSelector, {
      replace: (items) => {
        objects.clear();
        for (const item of items) objects.set(item.metadata.name, item);
        replaced([...objects.values()]);
      },
      change: (type, object) => {
        if (type === "DELETED") objects.delete(object.metadata.name);
        else objects.set(object.metadata.name, object);
        replaced([...objects.values()]);
      },
    });
  }

  /** Resolves after the first list. */
  #watch(
    resource: Resource,
    labelSelector: string | undefined,
    on: { replace(items: KubeObject[]): void; change(type: string, object: KubeObject): void },
  ): Promise<void> {
    const { home, namespace, log } = this.#options;
    return new Promise((resolve) => {
      const running = watch({
        client: home,
        resource,
        namespace,
        labelSelector,
        signal: this.#watching.signal,
        replace: (items) => {
          on.replace(items);
          resolve();
        },
        change: (type, object) => on.change(type, object),
        failed: ({ reason, message }) => log.warn({ resource: resource.plural, reason }, message),
      });
      this.#watches.push(running.then(resolve));
    });
  }
}
