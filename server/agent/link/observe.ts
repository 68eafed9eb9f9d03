import type { Schemas } from "../../../openapi/client.ts";
import { digest } from "../../base/canonical.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES, type Resource } from "../../kube/path.ts";
import { watch } from "../../kube/watch.ts";
import type { Reports } from "../../link/reports.ts";
import { pause } from "../../link/retry.ts";
import { APPLICATION_SET } from "../appset/reconcile.ts";
import type { Context } from "./context.ts";
import { type Found, foundIn, isReached, statusOf } from "./found.ts";
import type { Inbox } from "./inbox.ts";
import { markTenant } from "./leftovers.ts";
import { type Collection, MANAGED } from "./names.ts";
import { type MadeApplication, madeBy } from "./set-status.ts";

interface Held extends Found {
  /** Of the status last reported. */
  reported?: string;
}

export interface ObserverOptions {
  ctx: Context;
  reports: Reports;
  inbox: Inbox;
  /** A repository's or cluster's Secret is new or has changed. */
  connection(held: { collection: Collection; key: string; uid: string; object: KubeObject }): void;
  signal: AbortSignal;
}

interface Watched {
  resource: Resource;
  labelSelector?: string;
  /** Its first list is waited for, however long; without it nothing could be said of what is held. */
  needed: boolean;
}
// A set tells of all its applications at once: what many of them do in one moment is one report.
const NEWS_MS = 250;
/** What tenants get power by. */
const MARKED = new Set([RESOURCES.application.kind, RESOURCES.appProject.kind, APPLICATION_SET.kind]);
const mine = `${MANAGED}=true`;
const WATCHED: readonly Watched[] = [
  // All of them: those that a set made are told of with it.
  { resource: RESOURCES.application, needed: true },
  { resource: RESOURCES.secret, labelSelector: mine, needed: true },
  // A cluster may not have these kinds, and an older installation not the right to read them.
  { resource: APPLICATION_SET, labelSelector: mine, needed: false },
  { resource: RESOURCES.appProject, labelSelector: mine, needed: false },
  { resource: RESOURCES.configMap, labelSelector: "app.kubernetes.io/part-of=argocd", needed: false },
];

/** Watches the delivered objects: reports each change of what there is to tell of them, and what was removed by hand. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #held = new Map<string, Held>();
  /** Applications that sets made, by name. */
  readonly #made = new Map<string, MadeApplication>();
  /** Sets whose applications have changed since they were told of. */
  readonly #waiting = new Set<string>();
  readonly #listed: Promise<void>[];
  readonly done: Promise<unknown>;

  constructor(options: ObserverOptions) {
    this.#options = options;
    const watches = WATCHED.map((watched) => this.#watch(watched));
    this.#listed = watches.map(({ listed }) => listed);
    this.done = Promise.all(watches.map(({ ended }) => ended));
  }

  /**
   * All that is held, as the service asks for it on each connect; waits for the first lists. What lacks its tenant's mark is left out, so that
   * the service sends it again and it is written with the mark.
   */
  async known(): Promise<Schemas["Known"][]> {
    await Promise.all(this.#listed);
    const marked = [...this.#held.values()].filter(({ unmarked }) => !unmarked);
    return marked.map(({ collection, key, uid, generation }) => ({ collection, key, uid, generation }));
  }

  /** Reports everything again: the service may have lost what it was told. */
  resync(): void {
    for (const held of this.#held.values()) {
      delete held.reported;
      this.#tell(held);
    }
  }

  /** A tombstone has been carried out: that the object is gone is no news, and would take the place of its acknowledgement. */
  forget(collection: Collection, uid: string): void {
    for (const held of this.#held.values()) if (held.uid === uid && held.collection === collection) this.#held.delete(held.at);
  }

  #watch({ resource, labelSelector, needed }: Watched): { listed: Promise<void>; ended: Promise<void> } {
    const { ctx, signal } = this.#options;
    const { kind, plural } = resource;
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
        if (MARKED.has(kind)) for (const item of items) void markTenant(ctx, resource, item);
        listed();
      },
      change: (type, object) => (type === "DELETED" ? this.#lost(kind, object.metadata.name) : this.#seen(kind, object)),
      failed: ({ reason, message }) => {
        ctx.log.warn({ resource: plural, reason }, message);
        if (!needed) listed();
      },
    });
    return { listed: first, ended };
  }

  /** Names of a kind's objects of which something is known. */
  #names(kind: string): Set<string> {
    const names = [...this.#held.values()].filter(({ at }) => at.startsWith(`${kind}/`)).map(({ object }) => object.metadata.name);
    return new Set([...names, ...(kind === RESOURCES.application.kind ? this.#made.keys() : [])]);
  }

  #seen(kind: string, object: KubeObject): void {
    const { name } = object.metadata;
    if (kind === RESOURCES.application.kind) this.#keep(name, madeBy(object));
    const found = foundIn(kind, object, this.#options.ctx.account);
    const there = new Set(found.map(({ at }) => at));
    const uids = new Set(found.map(({ uid }) => uid));
    for (const held of this.#of(kind, name)) {
      if (there.has(held.at)) continue;
      // A part that goes by another name now. Else somebody took our mark away: it is his, and for us it is gone.
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

  #lost(kind: string, name: string): void {
    for (const held of this.#of(kind, name)) this.#gone(held);
    if (kind !== RESOURCES.application.kind) return;
    this.#keep(name, undefined);
    // It may have been what a project's deletion waits for.
    const { inbox } = this.#options;
    if (inbox.size) for (const { collection, uid } of this.#held.values()) if (collection === "appprojects") inbox.poke(collection, uid);
  }

  /** What is held of one object. */
  #of(kind: string, name: string): Held[] {
    if (kind === RESOURCES.configMap.kind) return [...this.#held.values()].filter(({ at }) => at.startsWith(`${kind}/${name}/`));
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
      const held = this.#held.get(`${APPLICATION_SET.kind}/${set}`);
      if (held && !this.#options.signal.aborted) this.#tell(held);
    });
  }

  #tell(held: Held): void {
    const { collection, key, uid, object } = held;
    const made = () => [...this.#made.values()].filter(({ set }) => set === object.metadata.name);
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
    if (!this.#options.inbox.poke(collection, uid)) this.#options.reports.put({ collection, key, uid }, { generation, outcome: "deleted" });
  }
}
