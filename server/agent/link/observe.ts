import type { Schemas } from "../../../openapi/client.ts";
import { digest } from "../../base/json/canonical.ts";
import { pause } from "../../base/process/pause.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES, type Resource } from "../../kube/path.ts";
import { watch } from "../../kube/watch.ts";
import type { Reports } from "../../link/reports.ts";
import { APPLICATION_SET } from "../appset/reconcile/reconcile.ts";
import { BY_ANNOTATION } from "../controller/tracking.ts";
import type { AgentContext } from "./context.ts";
import { SECRET_TYPE } from "./credentials/secrets.ts";
import { type Found, foundIn, isReached, statusOf } from "./delivered-objects.ts";
import type { Inbox } from "./deliveries/inbox.ts";
import { markTenant } from "./deliveries/leftovers.ts";
import type { Discovery } from "./discover/discovery.ts";
import { Elsewhere } from "./discover/elsewhere.ts";
import type { Collection } from "./names.ts";
import { type MadeApplication, madeBy } from "./reports/set-status.ts";

interface Held extends Found {
  /** Of the status last reported. */
  reported?: string;
}

export interface ObserverOptions {
  ctx: AgentContext;
  reports: Reports;
  inbox: Inbox;
  /** A repository's or cluster's Secret is new or has changed. */
  connection(held: { collection: Collection; key: string; uid: string; object: KubeObject }): void;
  /** Hears of every object in the agent's namespaces, also those that the service did not make. */
  discovery?: Discovery;
  signal: AbortSignal;
}

interface Watched {
  resource: Resource;
  labelSelector?: string;
  /** Waits for its first list, however long; without it the held objects are not known. */
  needed: boolean;
}
// A set's report covers all its applications: many changes in one moment are one report.
const NEWS_MS = 250;
const SETTINGS = new Set(["argocd-cm", "argocd-cmd-params-cm"]);
/** The kinds whose tenant mark decides permissions. */
const MARKED = new Set([RESOURCES.application.kind, RESOURCES.appProject.kind, APPLICATION_SET.kind]);
// Reported also where the service did not make them.
const WATCHED: readonly Watched[] = [
  { resource: RESOURCES.application, needed: true },
  { resource: RESOURCES.secret, labelSelector: SECRET_TYPE, needed: true },
  // A cluster may not have these kinds, and an older installation not the right to read them.
  { resource: APPLICATION_SET, needed: false },
  { resource: RESOURCES.appProject, needed: false },
  { resource: RESOURCES.configMap, labelSelector: "app.kubernetes.io/part-of=argocd", needed: false },
];

/** Watches the delivered objects: reports each change of their status, and removals by hand. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #held = new Map<string, Held>();
  /** Applications that sets made, by name. */
  readonly #made = new Map<string, MadeApplication>();
  /** Sets whose applications have changed since the last report. */
  readonly #waiting = new Set<string>();
  /** Sets that the service did not make, by name. */
  readonly #foreign = new Map<string, KubeObject>();
  /** Argo CD's own settings, by the ConfigMap's name. */
  readonly #settings = new Map<string, KubeObject>();
  readonly #relists: (() => void)[] = [];
  readonly #elsewhere: Elsewhere | undefined;
  #tracking = JSON.stringify(BY_ANNOTATION);
  readonly #listed: Promise<void>[];
  readonly done: Promise<unknown>;

  constructor(options: ObserverOptions) {
    this.#options = options;
    const { ctx, discovery, signal } = options;
    if (discovery)
      this.#elsewhere = new Elsewhere({
        ctx,
        patterns: ctx.patterns ?? { applications: undefined, sets: undefined },
        discovery,
        seen: (kind, object) => this.#seen(kind, object),
        lost: (kind, namespace, name) => this.#lost(kind, name, namespace),
        signal,
      });
    const watches = WATCHED.map((watched) => this.#watch(watched));
    this.#listed = watches.map(({ listed }) => listed);
    this.done = Promise.all(watches.map(({ ended }) => ended)).then(() => this.#elsewhere?.done);
  }

  /** An object as it is now, whether or not a watch has shown it. */
  look(kind: string, object: KubeObject): void {
    this.#seen(kind, object);
  }

  /** Applications of a set of the agent's namespace. */
  made(set: string): MadeApplication[] {
    return [...this.#made.values()].filter((one) => one.set === set);
  }

  /**
   * All held objects, as the service asks for them on each connect; waits for the first lists. Objects without their tenant's mark are omitted, so that
   * the service sends it again and it is written with the mark.
   */
  async known(): Promise<Schemas["Known"][]> {
    await Promise.all(this.#listed);
    const marked = [...this.#held.values()].filter(({ unmarked }) => !unmarked);
    return marked.map(({ collection, key, uid, generation }) => ({ collection, key, uid, generation }));
  }

  /** Reports everything again: the service may have lost earlier reports. */
  resync(): void {
    for (const held of this.#held.values()) {
      delete held.reported;
      this.#tell(held);
    }
  }

  /** A tombstone has been carried out: that the object is gone is no news, and would take the place of its acknowledgement. */
  forget(collection: Collection, uid: string): void {
    for (const held of this.#held.values())
      if (held.uid === uid && held.collection === collection) this.#held.delete(held.at);
  }

  #watch({ resource, labelSelector, needed }: Watched): { listed: Promise<void>; ended: Promise<void> } {
    const { ctx, discovery, signal } = this.#options;
    const { kind, plural } = resource;
    discovery?.expect(kind, ctx.namespace);
    let listed = () => {};
    const first = new Promise<void>((resolve) => {
      listed = resolve;
    });
    signal.addEventListener("abort", () => listed(), { once: true });
    const ended = watch({
      client: ctx.client,
      resource,
      namespace: ctx.namespace,
      ...(labelSelector ? { labelSelector } : {}),
      signal,
      replace: (items) => {
        const present = new Set(items.map((item) => item.metadata.name));
        for (const name of this.#names(kind)) if (!present.has(name)) this.#lost(kind, name);
        for (const item of items) this.#seen(kind, item);
        discovery?.listed(kind, ctx.namespace);
        if (kind === RESOURCES.configMap.kind) this.#configured();
        if (MARKED.has(kind)) for (const item of items) void markTenant(ctx, resource, item);
        listed();
      },
      change: (type, object) => {
        if (type === "DELETED") this.#lost(kind, object.metadata.name);
        else this.#seen(kind, object);
        if (kind === RESOURCES.configMap.kind) this.#configured();
      },
      failed: (failure) => {
        ctx.log.warn({ resource: plural, reason: failure.reason }, failure.message);
        discovery?.failed(kind, ctx.namespace, failure);
        if (kind === RESOURCES.configMap.kind) this.#configured();
        if (!needed) listed();
      },
      control: (relist) => this.#relists.push(relist),
    });
    return { listed: first, ended };
  }

  /** Argo CD's settings decide where else there are applications, and whose an object is. */
  #configured(): void {
    if (!this.#elsewhere) return;
    this.#elsewhere.configured([...this.#settings.values()]);
    const tracking = this.#elsewhere.tracking;
    const changed = this.#tracking !== tracking;
    this.#tracking = tracking;
    if (changed) for (const relist of this.#relists) relist();
  }

  /** Names of a kind's objects of the agent's namespace of which something is known. */
  #names(kind: string): Set<string> {
    const { ctx, discovery } = this.#options;
    const isHere = ({ at, object }: Held) =>
      at.startsWith(`${kind}/`) && (object.metadata.namespace ?? ctx.namespace) === ctx.namespace;
    const names = [...this.#held.values()].filter(isHere).map(({ object }) => object.metadata.name);
    for (const { metadata } of discovery?.places(kind) ?? [])
      if (metadata.namespace === ctx.namespace) names.push(metadata.name);
    if (kind === RESOURCES.configMap.kind) names.push(...this.#settings.keys());
    return new Set([...names, ...(kind === RESOURCES.application.kind ? this.#made.keys() : [])]);
  }

  #seen(kind: string, object: KubeObject): void {
    const { ctx, discovery } = this.#options;
    const { name, namespace = ctx.namespace } = object.metadata;
    const here = namespace === ctx.namespace;
    const place = here ? name : `${namespace}/${name}`;
    if (here && kind === RESOURCES.application.kind) this.#keep(name, madeBy(object));
    if (kind === RESOURCES.configMap.kind && SETTINGS.has(name)) this.#settings.set(name, object);
    let found = foundIn(kind, object, ctx.account, place);
    // Users who may create applications in another namespace can write any mark there.
    if (!here) found = found.filter(({ uid }) => ctx.elsewhere?.get(uid) === place);
    if (here && kind === APPLICATION_SET.kind) {
      if (found.length) this.#foreign.delete(name);
      else this.#foreign.set(name, object);
    }
    discovery?.seen(kind, object);
    const there = new Set(found.map(({ at }) => at));
    const uids = new Set(found.map(({ uid }) => uid));
    for (const held of this.#of(kind, place)) {
      if (there.has(held.at)) continue;
      // A part that has another name now. Otherwise another client removed our mark: the object is no longer ours.
      if (uids.has(held.uid)) this.#held.delete(held.at);
      else this.#gone(held);
    }
    for (const one of found) {
      const before = this.#held.get(one.at);
      const held: Held = before?.uid === one.uid && before.reported ? { ...one, reported: before.reported } : one;
      this.#held.set(one.at, held);
      this.#tell(held);
      this.#options.inbox.poke(one.collection, one.uid);
    }
  }

  #lost(kind: string, name: string, namespace = this.#options.ctx.namespace): void {
    const here = namespace === this.#options.ctx.namespace;
    this.#options.discovery?.lost(kind, namespace, name);
    for (const held of this.#of(kind, here ? name : `${namespace}/${name}`)) this.#gone(held);
    if (here && kind === APPLICATION_SET.kind) this.#foreign.delete(name);
    if (kind === RESOURCES.configMap.kind) this.#settings.delete(name);
    if (!here || kind !== RESOURCES.application.kind) return;
    this.#keep(name, undefined);
    // It may have been what a project's deletion waits for.
    const { inbox } = this.#options;
    if (inbox.size)
      for (const { collection, uid } of this.#held.values())
        if (collection === "appprojects") inbox.poke(collection, uid);
  }

  /** The held report of one object. */
  #of(kind: string, name: string): Held[] {
    if (kind === RESOURCES.configMap.kind)
      return [...this.#held.values()].filter(({ at }) => at.startsWith(`${kind}/${name}/`));
    const held = this.#held.get(`${kind}/${name}`);
    return held ? [held] : [];
  }

  /** An application's news are its set's: of the one that it had, and of the one that it has. */
  #keep(name: string, now: MadeApplication | undefined): void {
    const before = this.#made.get(name);
    if (!before && !now) return;
    if (now) this.#made.set(name, now);
    else this.#made.delete(name);
    if (digest(before ?? null) === digest(now ?? null)) return;
    for (const set of new Set([before?.set, now?.set])) if (set !== undefined) this.#news(set);
  }

  #news(set: string): void {
    if (this.#waiting.has(set)) return;
    this.#waiting.add(set);
    void pause(NEWS_MS, this.#options.signal).then(() => {
      this.#waiting.delete(set);
      if (this.#options.signal.aborted) return;
      const held = this.#held.get(`${APPLICATION_SET.kind}/${set}`);
      const foreign = this.#foreign.get(set);
      if (held) this.#tell(held);
      if (foreign) this.#options.discovery?.seen(APPLICATION_SET.kind, foreign);
    });
  }

  #tell(held: Held): void {
    const { collection, key, uid, object } = held;
    const { namespace } = this.#options.ctx;
    const made = () => ((object.metadata.namespace ?? namespace) === namespace ? this.made(object.metadata.name) : []);
    const status = statusOf(held, made);
    if (!status && !isReached(collection)) return;
    const now = digest(status ?? object.data ?? null);
    if (held.reported === now) return;
    held.reported = now;
    if (status) this.#options.reports.put({ collection, key, uid }, { status: status as Record<string, unknown> });
    else this.#options.connection({ collection, key, uid, object });
  }

  #gone({ at, collection, key, uid, generation }: Held): void {
    this.#held.delete(at);
    // A tombstone that is in work acknowledges it itself; otherwise it was removed by hand, which the service makes good.
    if (!this.#options.inbox.poke(collection, uid))
      this.#options.reports.put({ collection, key, uid }, { generation, outcome: "deleted" });
  }
}
