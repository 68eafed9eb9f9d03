import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { Watches } from "../../../kube/watches.ts";
import { instanceOf } from "../../project/instance.ts";
import { Places, type Scope } from "../../project/namespace-scopes.ts";
import { laneOf } from "../../project/tenant.ts";
import { redactUrl } from "../../repo/url.ts";
import { type Application, META } from "../application.ts";
import { ArgoCache } from "../argo-cache/cache.ts";
import { demandsOf } from "../config/integrity.ts";
import { waitMs } from "../config/intervals.ts";
import { Repositories } from "../config/repositories.ts";
import type { Deps } from "../deps.ts";
import { Destinations } from "../destination.ts";
import { askAgain, remember, update } from "../memory.ts";
import { Projects, projectOf } from "../projects.ts";
import { reconcile } from "../reconcile.ts";
import { Settings } from "../settings.ts";
import { Events, eventsBetween } from "../status/events.ts";
import { Report } from "../status/report.ts";
import { Store } from "../status/store.ts";
import { dependenciesOf, isNamed, standing } from "../sync/dependencies.ts";
import { releaseLast } from "../sync/hooks.ts";
import { resourceAction } from "../sync/resource-action.ts";
import { appLabel, isCutTo } from "../tracking.ts";
import type { ControllerOptions, Follower } from "./controller-options.ts";
import { type Hint, Hints } from "./hints.ts";
import { Metrics } from "./metrics.ts";
import { Polls, type RepositoryHint } from "./polls.ts";
import { PRIORITY, Queue } from "./queue.ts";
import { Shard } from "./shard.ts";
import { survey } from "./survey.ts";

const SECRET_TYPE = "argocd.argoproj.io/secret-type";
// Events of one application come in bursts: a rollout changes a Deployment five times in a second.
const DEBOUNCE_MS = 15;
// A commit that changes nothing for an application only moves its revision: at most this many a second, after all real changes.
const MOVED_EACH_MS = 40;
// Most of a look is waiting: for Git, whose answer all share that wait for it at once (a third of them does, as the repo server has 32
// connections), and for the API server, which is asked by 16 connections however many work.
const WORKERS = 96;
// A Pod has 30 s to end, and a lease is lost after 15 s.
const STOP_MS = 8_000;

/** Watches what an application depends on and calls `reconcile` for each that may have changed. */
export class Controller {
  readonly deps: Deps;
  readonly metrics = new Metrics();
  readonly #options: ControllerOptions;
  readonly #queue: Queue;
  readonly #polls: Polls;
  readonly #shard: Shard;
  readonly #labels = new Map<string, string>();
  /** Applications that depend on others. */
  readonly #dependent = new Set<string>();
  #followers: Follower[] = [];
  readonly #watching = new AbortController();
  readonly #places: Places;
  readonly #watches: Watches;
  readonly #argoCache: ArgoCache;
  /** Writes Kubernetes events. */
  readonly events: Events;
  readonly #hints = new Hints();
  readonly #early: Hint[] = [];
  /** Also receives each hint. */
  onHint: (hint: Hint) => void = () => undefined;
  /** Receives the other namespaces with application sets. */
  onSetNamespaces: (namespaces: readonly string[]) => void = () => undefined;
  #synced = 0;
  #stopped: Promise<void> | undefined;

  constructor(options: ControllerOptions) {
    const { home, namespace, managed = [], repo, log, signal, now = Date.now } = options;
    this.#options = options;
    this.#watches = new Watches(home, namespace, log, this.#watching.signal);
    this.#places = new Places(namespace, this.#watching.signal);
    this.#shard = options.shard ?? new Shard();
    const store = new Store(home, namespace);
    const lineOf = (name: string) => laneOf(store.get(name));
    this.#queue = new Queue(options.workers ?? WORKERS, (name) => this.#work(name), lineOf);
    store.onForeignChange = (name) => this.#queue.add(name, PRIORITY.spec);
    const reasons = options.env?.OUTPOST_EVENTS;
    this.events = new Events({ client: home, log, component: "outpost-controller", reasons });
    store.onWritten = (before, after) => this.events.tell(after, eventsBetween(before, after), placeNotes(after));
    const changed = (label: string) => {
      const name = this.#labels.get(label);
      if (name !== undefined) this.#queue.add(name, PRIORITY.live, DEBOUNCE_MS);
    };
    // Work that is still running at the end needs the watches, so they stop last.
    const settings = new Settings();
    const corrected = (label: string) =>
      this.deps.memory.get(this.#labels.get(label) ?? "")?.verdicts.keepOnly(new Set());
    const told = { changed, corrected, signal: this.#watching.signal };
    const destinations = new Destinations({
      home,
      own: namespace,
      settings,
      namespaces: managed,
      ending: signal,
      application: (mark) => store.get(mark) ?? store.all().find((app) => isCutTo(mark, instanceOf(app, namespace))),
      ...told,
    });
    signal.addEventListener("abort", () => void this.stop(), { once: true });
    const projects = new Projects();
    const { pollMs } = options;
    const intervalMs = (url: string) => pollMs ?? waitMs(url, settings.intervals);
    this.#polls = new Polls((url, apps) => this.#look(url, apps), intervalMs);
    this.deps = {
      home,
      namespace,
      repo,
      lookup: options.lookup,
      repositories: new Repositories(),
      projects,
      settings,
      destinations,
      store,
      memory: new Map(),
      log,
      now,
    };
    const shared = {
      owns: (app: Application) => this.#shard.owns(app),
      first: this.#shard.index === 0,
      env: options.env,
    };
    this.#argoCache = new ArgoCache({ deps: this.deps, registry: this.metrics.registry, ...shared });
    this.deps.shown = (name) => this.#argoCache.answer(name);
  }

  /** Resolves when everything was listed once; works until the signal. */
  async start(): Promise<void> {
    const { repositories, destinations } = this.deps;
    // Credentials first: without them an application would report that it has none.
    await Promise.all([
      this.#watches.collection(RESOURCES.secret, `${SECRET_TYPE}=repository`, (all) =>
        this.#repositoriesChanged(() => repositories.replaceRepositories(all)),
      ),
      this.#watches.collection(RESOURCES.secret, `${SECRET_TYPE}=repo-creds`, (all) =>
        this.#repositoriesChanged(() => repositories.replaceTemplates(all)),
      ),
      this.#watches.collection(RESOURCES.configMap, "app.kubernetes.io/part-of=argocd", (all) => {
        const { hints, others } = this.#hints.take(all);
        for (const hint of hints) this.#hinted(hint);
        // A hint does not retry what has failed.
        if (!others) return;
        this.#argoCache.configure(all);
        this.#repositoriesChanged(() => repositories.replaceTrust(all) && this.#keysChanged());
        if (this.deps.settings.replace(all)) this.#settingsChanged();
        if (this.ready) this.#placesChanged();
      }),
      this.#watches.collection(RESOURCES.secret, `${SECRET_TYPE}=cluster`, (all) =>
        this.#clustersChanged(() => destinations.replace(all)),
      ),
      this.#projects(),
      // Asked once here, so that the first application does not wait for it.
      this.deps.home.discovery.find("", "v1", "Namespace"),
    ]);
    await this.#applications();
    this.#synced = Date.now();
    // A setting that came while the applications were listed.
    void this.#placesChanged();
    for (const hint of this.#early.splice(0)) this.#hinted(hint);
  }

  get ready(): boolean {
    return this.#synced > 0;
  }

  /** Waits for running work, so that it is reported, and starts nothing new. */
  stop(): Promise<void> {
    this.#stopped ??= (async () => {
      this.#polls.stop();
      await this.#queue.stop(STOP_MS);
      await this.#argoCache.stop();
      await this.events.stop();
      this.#watching.abort();
      await this.#watches.ended();
      await this.deps.destinations.close();
    })();
    return this.#stopped;
  }

  /** Shows the applications to another part of the process, as they are now and from now on. */
  async follow(follower: Follower): Promise<void> {
    this.#followers.push(follower);
    follower.replace(this.deps.store.all());
  }

  /**
   * A hint that a repository may have changed: the repository is polled once, and those of its applications
   * whose own files changed are reconciled before everything else. Resolves when they are known.
   */
  async repositoryChanged(url: string, _hint: RepositoryHint = {}): Promise<void> {
    await this.#polls.changed(url);
  }

  #hinted(hint: Hint): void {
    // Which applications read a repository is known only once all were listed.
    if (!this.ready) {
      this.#early.push(hint);
      return;
    }
    void this.repositoryChanged(hint.url, hint);
    this.onHint(hint);
  }

  async #look(url: string, apps: ReadonlySet<string>): Promise<void> {
    try {
      const { changed, moved, unknown } = await survey(this.deps, url, apps);
      for (const name of changed) this.#queue.add(name, PRIORITY.request);
      for (const name of unknown) this.#queue.add(name, PRIORITY.live);
      for (const [i, name] of moved.entries()) this.#queue.add(name, PRIORITY.periodic, (i + 1) * MOVED_EACH_MS);
    } catch (error) {
      this.#options.log.error({ url: redactUrl(url), error: (error as Error).stack }, "a look at a repository threw");
    }
  }

  /** Those of our own namespace, whatever is configured besides. */
  async #applications(): Promise<void> {
    await this.#places.own((scope) => this.#applicationsOf(scope));
    await this.#placesChanged();
  }

  get setNamespaces(): readonly string[] {
    return this.#options.setNamespaces ?? this.deps.settings.setNamespaces;
  }

  #placesChanged(): Promise<void> {
    // Sets first: a set that runs without its applications would try to create them again.
    this.onSetNamespaces(this.setNamespaces);
    const patterns = this.#options.applicationNamespaces ?? this.deps.settings.applicationNamespaces;
    return this.#places.replace(patterns, (scope) => this.#applicationsOf(scope));
  }

  #applicationsOf(scope: Scope): Promise<void> {
    const { store } = this.deps;
    const on = this.#places.keeping<KubeObject>(scope, {
      all: () => store.all(),
      seen: (object) => this.#seen(object as Application),
      gone: (name) => this.#gone(name),
      listed: () => {
        for (const follower of this.#followers) follower.replace(store.all());
      },
      changed: (type, object) => {
        for (const follower of this.#followers) follower.change(type, store.get(this.#nameOf(object)) ?? object);
      },
    });
    // Only our own namespace is waited for: another may be one that we have no rights in, or is not there yet.
    return this.#watches.watch(
      RESOURCES.application,
      undefined,
      scope.own ? on : { ...on, failed: () => undefined },
      scope,
    );
  }

  /** The key of an application in all stores. */
  #nameOf(app: KubeObject): string {
    return instanceOf(app, this.#options.namespace);
  }

  #seen(app: Application): void {
    const name = this.#nameOf(app);
    this.#labels.set(appLabel(name), name);
    if (app.metadata.annotations?.[META.dependsOn] !== undefined) this.#dependent.add(name);
    if (!this.deps.store.seen(app)) return;
    if (this.#shard.owns(app)) {
      update(remember(this.deps, name), { newsAt: performance.now() });
      this.#polls.seen(name, app);
    } else this.#polls.gone(name);
    const { annotations, deletionTimestamp } = app.metadata;
    const asked =
      app.operation || annotations?.[META.refresh] || annotations?.[META.resourceAction] || deletionTimestamp;
    const memory = this.deps.memory.get(name);
    if (
      annotations?.[META.refresh] === "normal" &&
      !app.operation &&
      !deletionTimestamp &&
      memory?.wanted &&
      !memory.failure
    ) {
      // Many are often asked for at once: their repository is asked for all of them, and no worker waits for it.
      update(memory, { refreshAt: performance.now() });
      void this.#polls.refresh(name).then(() => this.#queue.add(name, PRIORITY.request));
    } else this.#queue.add(name, asked ? PRIORITY.request : PRIORITY.spec);
  }

  #gone(name: string): void {
    const app = this.deps.store.get(name);
    this.deps.store.gone(name);
    // Its hooks are no longer awaited, unless another application took its name.
    const stateOf = () => this.deps.store.get(name)?.status?.operationState;
    if (app && this.#shard.owns(app))
      for (const one of this.deps.destinations.open) void releaseLast(one, name, stateOf);
    this.deps.memory.delete(name);
    this.#labels.delete(appLabel(name));
    this.#queue.forget(name);
    this.#polls.gone(name);
    this.deps.destinations.forget(name);
    this.#dependent.delete(name);
    if (app && this.#shard.owns(app)) this.#argoCache.gone(name);
    if (app) this.metrics.forget(app);
    if (app) this.#dependents(app);
    // An application that wanted one of its objects may have it now.
    for (const other of this.deps.store.all()) {
      if (other.status?.conditions?.some((c) => c.type === "SharedResourceWarning"))
        this.#queue.add(this.#nameOf(other), PRIORITY.live, DEBOUNCE_MS);
    }
  }

  #repositoriesChanged(replace: () => unknown): void {
    replace();
    for (const app of this.deps.store.all())
      if (askAgain(this.deps, this.#nameOf(app))) this.#queue.add(this.#nameOf(app), PRIORITY.spec);
  }

  /** Signatures that were sufficient may no longer be. */
  #keysChanged(): void {
    for (const app of this.deps.store.all())
      if (demandsOf(this.deps, app)) this.#queue.add(this.#nameOf(app), PRIORITY.spec);
  }

  #settingsChanged(): void {
    this.deps.projects.inherit(this.deps.settings.globalProjects);
    this.#polls.rearm();
    for (const app of this.deps.store.all()) {
      const memory = this.deps.memory.get(this.#nameOf(app));
      // Which kinds are left out was decided when the objects were read.
      if (memory) update(memory, { wanted: undefined });
      this.#queue.add(this.#nameOf(app), PRIORITY.spec);
    }
  }

  #clustersChanged(replace: () => void): void {
    replace();
    for (const app of this.deps.store.all()) this.#queue.add(this.#nameOf(app), PRIORITY.live, DEBOUNCE_MS);
  }

  #projects(): Promise<void> {
    const { projects, store } = this.deps;
    const known = new Map<string, KubeObject>();
    const changed = () => {
      const names = projects.replace([...known.values()]);
      for (const app of store.all()) {
        if (names !== "all" && !names.has(projectOf(app))) continue;
        askAgain(this.deps, this.#nameOf(app));
        this.#queue.add(this.#nameOf(app), PRIORITY.spec);
      }
    };
    return this.#watches.watch(RESOURCES.appProject, undefined, {
      replace: (items) => {
        known.clear();
        for (const item of items) known.set(item.metadata.name, item);
        changed();
      },
      change: (type, object) => {
        if (type === "DELETED") known.delete(object.metadata.name);
        else known.set(object.metadata.name, object);
        changed();
      },
      // Other applications continue meanwhile; the waiting ones report the reason.
      failed: (failure) => projects.failed(failure),
    });
  }

  async #work(name: string): Promise<void> {
    const known = this.deps.store.get(name);
    if (known?.metadata.annotations?.[META.resourceAction] !== undefined) await resourceAction(this.deps, known);
    const app = this.deps.store.get(name);
    if (!app || !this.#shard.owns(app)) return;
    const started = performance.now();
    const before = standing(app);
    const report = new Report(this.deps, name);
    try {
      const next = await reconcile(this.deps, app, report);
      if (next && this.deps.store.get(name)) this.#queue.add(name, PRIORITY.periodic, next.afterMs);
    } catch (error) {
      await this.#quarantine(name, error as Error).catch((worse: Error) => {
        this.deps.log.error({ app: name, error: worse.stack }, "an application could not even be set aside");
        this.#queue.add(name, PRIORITY.periodic, 30_000);
      });
    }
    await report.drop();
    this.#argoCache.changed(name);
    // A reconciliation that ran while its application was deleted may have claimed objects and requested watches again.
    if (!this.deps.store.get(name)) this.deps.destinations.forget(name);
    if (before !== standing(this.deps.store.get(name) ?? app)) this.#dependents(app);
    this.metrics.reconciled(this.deps.store.get(name), performance.now() - started, this.#queue.depth);
  }

  /** Those that wait for an application look again. */
  #dependents(app: Application): void {
    for (const name of this.#dependent) {
      const other = this.deps.store.get(name);
      if (other && dependenciesOf(other).some((one) => isNamed(one, app, other)))
        this.#queue.add(name, PRIORITY.live, DEBOUNCE_MS);
    }
  }

  /** A bug, or a specification of an unexpected shape: this application waits and says so, the others go on. */
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
}

/** The fields that Argo CD adds to each event of an application. */
const placeNotes = ({ spec: { destination } }: Application): Record<string, string> => ({
  "dest-server": destination?.server ?? "",
  "dest-namespace": destination?.namespace ?? "",
});
