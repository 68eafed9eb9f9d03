import type { KubeClient } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES } from "../../kube/path.ts";
import { Watches } from "../../kube/watches.ts";
import { instanceOf } from "../project/instance.ts";
import { Places, type Scope } from "../project/namespace-scopes.ts";
import { tenantOf } from "../project/tenant.ts";
import type { Integrity, RepoAccess, RepoApi } from "../repo/types.ts";
import { SetMetrics } from "./metrics.ts";
import { type LiveApplication, setOf } from "./reconcile/application.ts";
import { APPLICATION_SET, reconcileSet, type SetDeps } from "./reconcile/reconcile.ts";
import { requeueMs } from "./reconcile/requeue.ts";
import { isRolling } from "./reconcile/rollout.ts";
import { markOf, sane } from "./reconcile/sane.ts";
import { failed, withTimes } from "./reconcile/status.ts";
import { APPSET, type ApplicationSet, type Generated } from "./types.ts";
import { clusterWorld } from "./world/cluster-world.ts";
import { asksPlugin, concerns } from "./world/concerns.ts";

export interface SetControllerOptions {
  home: KubeClient;
  namespace: string;
  /** Where else there may be sets, each with its applications in its own namespace: names and patterns. */
  namespaces?: readonly string[];
  repo: Pick<RepoApi, "look">;
  /** How to get into a repository. */
  access(url: string, project?: string, tenant?: string): RepoAccess;
  /** What a project demands of a repository's commits. */
  integrity?(url: string, project?: string): Integrity | undefined;
  allowedProviders?: readonly string[];
  /** A part of this process that follows the applications already; without it they are watched. */
  applications?(on: {
    replace(items: KubeObject[]): void;
    change(type: string, object: KubeObject): void;
  }): Promise<void>;
  /** Hears of what happened to the applications of a set. */
  happened?: SetDeps["happened"];
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
  now?: () => number;
  /** Labels of sets that metrics may show. */
  metricLabels?: readonly string[];
}

// A change of one set comes with several events.
const DEBOUNCE_MS = 50;
const STOP_MS = 8_000;
// Every call of every host may concern a plugin: it is asked at most once in this time.
const PLUGIN_MS = 3_000;
// A timer of more than 24 days ends at once.
const MAX_DELAY_MS = 86_400_000;

/** Watches sets, their applications and clusters, and calls `reconcileSet` for each set that may have changed, one at a time for each. */
export class SetController {
  readonly #options: SetControllerOptions;
  /** By namespace and tenant: a set sees and writes nothing outside its own. */
  readonly #deps = new Map<string, SetDeps>();
  readonly #places: Places;
  readonly #watches: Watches;
  readonly #sets = new Map<string, { set: ApplicationSet; inputs: string }>();
  readonly #applications = new Map<string, LiveApplication>();
  readonly #clusters = new Map<string, KubeObject>();
  readonly #timers = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  /** What each set's generators gave, so that an application's news are no reason to ask Git or another host. */
  readonly #given = new Map<string, { inputs: string; made: Generated[]; until: number }>();
  readonly #running = new Map<string, { again: boolean; stale: boolean; work: Promise<void> }>();
  readonly #plugins = new Map<string, NodeJS.Timeout>();
  readonly #watching = new AbortController();
  readonly metrics: SetMetrics;
  #stopped = false;

  constructor(options: SetControllerOptions) {
    this.#options = options;
    const sets = () => [...this.#sets.values()].map(({ set }) => set);
    this.metrics = new SetMetrics({ sets, applications: () => this.#applications.values() }, options.metricLabels);
    const { home, namespace, log } = options;
    this.#places = new Places(namespace, this.#watching.signal);
    this.#watches = new Watches(home, namespace, log, this.#watching.signal);
  }

  #depsOf(set: ApplicationSet): SetDeps {
    const { namespace = this.#options.namespace } = set.metadata;
    const tenant = tenantOf(set);
    const key = JSON.stringify([namespace, tenant ?? ""]);
    const known = this.#deps.get(key);
    if (known) return known;
    const { home, happened, now = Date.now } = this.#options;
    const applications = {
      get: (name: string) => this.#applications.get(this.#nameOf({ metadata: { name, namespace } })),
      all: () =>
        [...this.#applications.values()].filter(({ metadata }) => (metadata.namespace ?? namespace) === namespace),
      seen: (app: LiveApplication) => this.#seenApplication(app),
    };
    // Who may make sets elsewhere may not make us call any host: there the operator names them.
    const allowedProviders = this.#options.allowedProviders ?? (namespace === this.#options.namespace ? undefined : []);
    const world = clusterWorld({
      ...this.#options,
      allowedProviders,
      namespace,
      tenant,
      clusters: () => this.#clusters.values(),
    });
    const written = (set: ApplicationSet) => this.#seenSet(set);
    const made = { home, namespace, world, applications, written, happened, ...this.#memory(), now };
    this.#deps.set(key, made);
    return made;
  }

  /** What a set or an application is called in all that is kept of it. */
  #nameOf(object: { metadata: { name: string; namespace?: string } }): string {
    return instanceOf(object, this.#options.namespace);
  }

  #ownerOf(app: LiveApplication): string | undefined {
    const name = setOf(app);
    return name === undefined ? undefined : this.#nameOf({ metadata: { name, namespace: app.metadata.namespace } });
  }

  /** Resolves when everything was listed once. */
  async start(): Promise<void> {
    const follow = this.#options.applications ?? ((on) => this.#watches.watch(RESOURCES.application, undefined, on));
    await Promise.all([
      follow({
        replace: (items) => {
          const names = new Set(items.map((item) => this.#nameOf(item)));
          for (const name of [...this.#applications.keys()]) if (!names.has(name)) this.#goneApplication(name);
          for (const item of items) this.#seenApplication(item as LiveApplication);
        },
        change: (type, object) =>
          type === "DELETED"
            ? this.#goneApplication(this.#nameOf(object))
            : this.#seenApplication(object as LiveApplication),
      }),
      this.#watches.watch(RESOURCES.secret, "argocd.argoproj.io/secret-type=cluster", {
        replace: (items) => {
          this.#clusters.clear();
          for (const item of items) this.#clusters.set(item.metadata.name, item);
          this.#all();
        },
        change: (type, object) => {
          if (type === "DELETED") this.#clusters.delete(object.metadata.name);
          else this.#clusters.set(object.metadata.name, object);
          this.#all();
        },
      }),
    ]);
    // Last: a set that is looked at before the applications are known would try to make them again.
    await this.#places.own((scope) => this.#setsOf(scope));
    await this.replaceNamespaces(this.#options.namespaces ?? []);
  }

  /** Where else there are sets now; those that are elsewhere are left as they are. */
  replaceNamespaces(namespaces: readonly string[]): Promise<void> {
    return this.#places.replace(namespaces, (scope) => this.#setsOf(scope));
  }

  #setsOf(scope: Scope): Promise<void> {
    const on = this.#places.keeping<KubeObject>(scope, {
      all: () => [...this.#sets.values()].map(({ set }) => set),
      seen: (object) => this.#seenSet(object as ApplicationSet),
      gone: (name) => this.#goneSet(name),
    });
    // Where the kind is not installed there are no sets; the watch keeps trying.
    return this.#watches.watch(APPLICATION_SET, undefined, { ...on, failed: () => undefined }, scope);
  }

  /** Lets the work that runs come to its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of [...[...this.#timers.values()].map(({ timer }) => timer), ...this.#plugins.values()])
      clearTimeout(timer);
    let late: NodeJS.Timeout | undefined;
    const ended = Promise.all([...this.#running.values()].map(({ work }) => work));
    await Promise.race([ended, new Promise((resolve) => (late = setTimeout(resolve, STOP_MS)))]);
    clearTimeout(late);
    this.#watching.abort();
    await this.#watches.ended();
  }

  #memory(): Pick<SetDeps, "known" | "gave"> {
    return {
      known: (set) => {
        const name = this.#nameOf(set);
        const given = this.#given.get(name);
        return given && given.inputs === this.#sets.get(name)?.inputs && Date.now() < given.until
          ? given.made
          : undefined;
      },
      gave: (set, made) => {
        const name = this.#nameOf(set);
        const inputs = this.#sets.get(name)?.inputs;
        if (this.#running.get(name)?.stale) return;
        // A little less than the time of the next look, so that it does not find the old answer.
        const until = Date.now() + (requeueMs(set.spec) ?? Number.MAX_SAFE_INTEGER) - 20;
        if (inputs !== undefined) this.#given.set(name, { inputs, made, until });
      },
    };
  }

  /** Looks at a set again, and asks its generators again. */
  ask(name: string): void {
    this.#given.delete(name);
    const running = this.#running.get(name);
    // A request on its way may return an older state.
    if (running) running.stale = true;
    this.add(name);
  }

  #askPlugin(name: string): void {
    if (this.#stopped || this.#plugins.has(name)) return;
    const ask = () => {
      this.#plugins.delete(name);
      this.ask(name);
    };
    this.#plugins.set(name, setTimeout(ask, PLUGIN_MS));
  }

  /** Looks at a set again, at the latest after a time. */
  add(name: string, afterMs = DEBOUNCE_MS): void {
    if (this.#stopped) return;
    const delayMs = Math.min(afterMs, MAX_DELAY_MS);
    const at = Date.now() + delayMs;
    const waiting = this.#timers.get(name);
    if (waiting && waiting.at <= at) return;
    clearTimeout(waiting?.timer);
    this.#timers.set(name, { at, timer: setTimeout(() => this.#run(name), delayMs) });
  }

  /** A hint that a repository has changed: sets that read it look again, and those that ask a plugin soon. */
  repositoryChanged(url: string): void {
    for (const [name, { set }] of this.#sets) {
      if (concerns(set.spec, url)) this.ask(name);
      else if (asksPlugin(set.spec.generators)) this.#askPlugin(name);
    }
  }

  #all(): void {
    for (const name of this.#sets.keys()) this.ask(name);
  }

  #run(name: string): void {
    this.#timers.delete(name);
    const running = this.#running.get(name);
    if (running) {
      running.again = true;
      return;
    }
    const state = { again: false, stale: false, work: Promise.resolve() };
    this.#running.set(name, state);
    state.work = this.#work(name)
      .catch((error: Error) => {
        this.#options.log.error({ applicationSet: name, error: error.stack }, "a set could not even be set aside");
        this.add(name, 60_000);
      })
      .finally(() => {
        this.#running.delete(name);
        if (state.again) this.add(name);
      });
  }

  async #work(name: string): Promise<void> {
    const known = this.#sets.get(name);
    if (!known || this.#stopped) return;
    const started = performance.now();
    try {
      const next = await reconcileSet(this.#depsOf(known.set), known.set).finally(() =>
        this.metrics.reconciled(known.set, performance.now() - started),
      );
      const until = this.#given.get(name)?.until;
      // Not later than the answer holds, however often applications were news in between.
      const due =
        until === undefined || next === undefined ? next : Math.max(20, Math.min(next, until + 20 - Date.now()));
      if (due !== undefined && this.#sets.has(name)) this.add(name, due);
    } catch (error) {
      // A bug, or a specification of an unexpected shape: this set waits and says so, the others go on.
      const { message, stack } = error as Error;
      this.#options.log.error({ applicationSet: name, error: stack }, "reconcile threw");
      const said = failed("InternalError", `this set cannot be worked on: ${message}`, false);
      const conditions = withTimes(
        said,
        known.set.status?.conditions,
        new Date(this.#depsOf(known.set).now()).toISOString().replace(/\.\d+/, ""),
      );
      const { namespace = this.#options.namespace } = known.set.metadata;
      await this.#options.home.patchStatus(APPLICATION_SET, namespace, known.set.metadata.name, { conditions });
      this.add(name, 60_000);
    }
  }

  #seenSet(given: ApplicationSet): void {
    const set = sane(given);
    const name = this.#nameOf(set);
    const { uid, generation, annotations, finalizers, deletionTimestamp } = set.metadata;
    const inputs = markOf({ uid, generation, spec: set.spec, annotations, finalizers, deletionTimestamp });
    const old = this.#sets.get(name);
    if (
      old?.set.metadata.uid === uid &&
      !isNewer(set.metadata.resourceVersion ?? "", old?.set.metadata.resourceVersion ?? "")
    )
      return;
    this.#sets.set(name, { set, inputs });
    if (old?.inputs !== inputs) this.add(name);
  }

  #goneSet(name: string): void {
    const gone = this.#sets.get(name);
    if (gone) this.metrics.forget(gone.set);
    this.#sets.delete(name);
    this.#given.delete(name);
    clearTimeout(this.#timers.get(name)?.timer);
    this.#timers.delete(name);
  }

  #seenApplication(app: LiveApplication): void {
    const name = this.#nameOf(app);
    const { resourceVersion = "", uid } = app.metadata;
    const old = this.#applications.get(name);
    if (old?.metadata.uid === uid && !isNewer(resourceVersion, old?.metadata.resourceVersion ?? "")) return;
    this.#applications.set(name, app);
    // Whose it was and whose it is: an owner that was taken away matters to the one who had it.
    for (const owner of new Set([this.#ownerOf(app), old && this.#ownerOf(old)]))
      if (owner && this.#matters(owner, old, app)) this.add(owner);
  }

  #goneApplication(name: string): void {
    const old = this.#applications.get(name);
    this.#applications.delete(name);
    // Another set may have waited for the name.
    for (const [owner, { set }] of this.#sets) {
      const waited = set.status?.conditions?.some(({ reason }) => reason === APPSET.clash);
      if ((old && this.#ownerOf(old) === owner) || waited) this.add(owner);
    }
  }

  #matters(owner: string, old: LiveApplication | undefined, app: LiveApplication): boolean {
    if (!old || inputsOf(old) !== inputsOf(app)) return true;
    const set = this.#sets.get(owner)?.set;
    return (
      summary(old) !== summary(app) ||
      (set !== undefined && isRolling(set.spec) && canonicalState(old) !== canonicalState(app))
    );
  }
}

/** What of an application a set itself writes. */
const inputsOf = ({ metadata, spec }: LiveApplication): string =>
  markOf({
    spec,
    labels: metadata.labels,
    annotations: metadata.annotations,
    finalizers: metadata.finalizers,
    owners: metadata.ownerReferences,
    gone: metadata.deletionTimestamp,
  });
const summary = ({ status }: LiveApplication): string =>
  `${status?.sync?.status} ${status?.health?.status} ${status?.health?.message}`;
const canonicalState = (app: LiveApplication): string =>
  `${summary(app)} ${app.status?.operationState?.phase} ${app.status?.sync?.revision} ${app.operation === undefined}`;

const isNewer = (a: string, b: string): boolean => (a.length !== b.length ? a.length > b.length : a > b);
