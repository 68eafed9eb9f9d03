import type { Schemas } from "../../../openapi/client.ts";
import { digest } from "../../base/canonical.ts";
import type { Reports } from "../../link/reports.ts";
import type { KubeObject } from "../kube/object.ts";
import { RESOURCES } from "../kube/path.ts";
import { watch } from "../kube/watch.ts";
import type { Context } from "./context.ts";
import type { Inbox } from "./inbox.ts";
import { type Collection, MANAGED, type Marks, marksOf } from "./names.ts";
import { SECRET_TYPE } from "./secrets.ts";
import { toStatus } from "./status.ts";

interface Held extends Marks {
  collection: Collection;
  name: string;
  object: KubeObject;
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

/** Watches the delivered objects: reports each change of an Application's status, and what was removed by hand. */
export class Observer {
  readonly #options: ObserverOptions;
  readonly #held = new Map<string, Held>();
  readonly #listed: Promise<void>[];
  readonly done: Promise<unknown>;

  constructor(options: ObserverOptions) {
    this.#options = options;
    const watches = [RESOURCES.application, RESOURCES.secret].map((resource) => this.#watch(resource));
    this.#listed = watches.map(({ listed }) => listed);
    this.done = Promise.all(watches.map(({ ended }) => ended));
  }

  /** All that is held, as the service asks for it on each connect; waits for the first lists. */
  async known(): Promise<Schemas["Known"][]> {
    await Promise.all(this.#listed);
    return [...this.#held.values()].map(({ collection, key, uid, generation }) => ({ collection, key, uid, generation }));
  }

  /** Reports everything again: the service may have lost what it was told. */
  resync(): void {
    for (const held of this.#held.values()) {
      delete held.reported;
      this.#tell(held);
    }
  }

  #watch(resource: (typeof RESOURCES)["application" | "secret"]): { listed: Promise<void>; ended: Promise<void> } {
    const { ctx, signal } = this.#options;
    let listed = () => {};
    const first = new Promise<void>((resolve) => {
      listed = resolve;
    });
    signal.addEventListener("abort", () => listed(), { once: true });
    const ended = watch({
      client: ctx.client,
      resource,
      namespace: ctx.namespace,
      labelSelector: `${MANAGED}=true`,
      signal,
      replace: (items) => {
        const present = new Set(items.map((item) => `${resource.kind}/${item.metadata.name}`));
        for (const [at, held] of this.#held) if (at.startsWith(`${resource.kind}/`) && !present.has(at)) this.#gone(at, held);
        for (const item of items) this.#seen(resource.kind, item);
        listed();
      },
      change: (type, object) => {
        const at = `${resource.kind}/${object.metadata.name}`;
        const held = this.#held.get(at);
        if (type !== "DELETED") this.#seen(resource.kind, object);
        else if (held) this.#gone(at, held);
      },
      failed: ({ reason, message }) => ctx.log.warn({ resource: resource.plural, reason }, message),
    });
    return { listed: first, ended };
  }

  #seen(kind: string, object: KubeObject): void {
    const at = `${kind}/${object.metadata.name}`;
    const marks = marksOf(object, this.#options.ctx.account);
    const before = this.#held.get(at);
    const collection = marks && collectionOf(object);
    if (!marks || !collection) {
      // Somebody took our mark away: it is his now, and for us it is gone.
      if (before) this.#gone(at, before);
      return;
    }
    const held: Held = { ...marks, collection, name: object.metadata.name, object };
    if (before?.uid === marks.uid && before.reported) held.reported = before.reported;
    this.#held.set(at, held);
    this.#tell(held);
    this.#options.inbox.poke(collection, marks.uid);
  }

  #tell(held: Held): void {
    const { collection, key, uid, object } = held;
    const content = collection === "applications" ? toStatus(object) : object.data;
    const now = digest(content ?? null);
    if (held.reported === now) return;
    held.reported = now;
    if (collection === "applications") this.#options.reports.put({ collection, key, uid }, { status: content as Record<string, unknown> });
    else this.#options.connection({ collection, key, uid, object });
  }

  #gone(at: string, { collection, key, uid, generation }: Held): void {
    this.#held.delete(at);
    // A tombstone that is in work acknowledges it itself; otherwise it was removed by hand, which the service makes good.
    if (!this.#options.inbox.poke(collection, uid)) this.#options.reports.put({ collection, key, uid }, { generation, outcome: "deleted" });
  }
}

function collectionOf(object: KubeObject): Collection | undefined {
  if (object.kind === "Application") return "applications";
  const type = object.metadata.labels?.[SECRET_TYPE];
  return type === "repository" ? "repositories" : type === "cluster" ? "clusters" : undefined;
}
