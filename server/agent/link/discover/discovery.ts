import { createHash } from "node:crypto";
import type { Failure } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Batch, Source } from "../../../link/exchange.ts";
import type { Open } from "../../../link/session.ts";
import { BY_ANNOTATION, type Tracking } from "../../controller/tracking.ts";
import type { MadeApplication } from "../reports/set-status.ts";
import { Conditions } from "./conditions.ts";
import { type Discovered, type DiscoveredReport, toReport } from "./report.ts";
import { Rounds } from "./rounds.ts";
import { Turns } from "./turns.ts";

/** The name of this feature, which the service announces beyond the first version of the protocol. */
const FEATURE = "discovered";
// Small requests, because the service takes each in one transaction.
const BATCH_COUNT = 200;
const BATCH_BYTES = 768 * 1024;

interface Held {
  collection: Discovered;
  namespace: string;
  uid: string;
  /** The report as JSON: text takes a quarter of the memory of the object. */
  json: string;
  /** Digest of the report without what changes all the time. */
  essence: string;
  /** It is the service's own: reported in full rounds only, in case the service has lost it. */
  marked: boolean;
}
interface Pending {
  revision: number;
  at: string;
  gone?: DiscoveredReport;
}

export interface DiscoveryOptions {
  /** The agent's own namespace. */
  own: string;
  made(set: string): readonly MadeApplication[];
}

/**
 * Holds the latest report of each object of the agent's namespaces and tells the service what changed. When a session begins all are told in one
 * round for each collection:
 *
 *   waiting   the collection's lists are not all in, or have not all failed → open
 *   open      each report has the round's number; when the last one has arrived → closed, with `listed`
 *   closed    reports have no number; a namespace that can be listed only now → a new round, open
 */
export class Discovery implements Source {
  readonly conditions = new Conditions(() => this.#wakeUp());
  readonly #options: DiscoveryOptions;
  readonly #held = new Map<string, Held>();
  /** What the service does not have yet, by collection and uid, the oldest first. */
  readonly #pending = new Map<string, Pending>();
  readonly #rounds = new Rounds();
  readonly #turns = new Turns();
  #tracking: Tracking = BY_ANNOTATION;
  #session: Open | undefined;
  #revision = 0;
  #wake: (() => void) | undefined;

  constructor(options: DiscoveryOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }
  /** All that was seen so far is held. */
  get idle(): Promise<void> {
    return this.#turns.idle;
  }
  get pending(): number {
    return this.#pending.size;
  }

  /** Argo CD's tracking method; objects seen from now on are judged by it. */
  set tracking(tracking: Tracking) {
    this.#tracking = tracking;
  }

  seen(kind: string, object: KubeObject): void {
    const at = this.#place(kind, object.metadata.namespace, object.metadata.name);
    this.#turns.run(() => this.#take(kind, object, at), at);
  }

  #take(kind: string, object: KubeObject, at: string): void {
    const report = toReport(kind, object, {
      own: this.#options.own,
      tracking: this.#tracking,
      made: this.#options.made,
    });
    const before = this.#held.get(at);
    if (before && before.uid !== report?.uid) this.#gone(at, before);
    if (!report) return;
    const essence = essenceOf(report);
    const { collection, namespace, uid } = report;
    if (before?.uid === uid && before.essence === essence) return;
    this.#held.set(at, {
      collection,
      namespace,
      uid,
      json: JSON.stringify(report),
      essence,
      marked: report.mark !== undefined,
    });
    // An object that was just adopted belongs to the service now and needs no report.
    if (report.mark === undefined || this.#rounds.isOpen(collection)) this.#put(at, collection, uid);
  }

  lost(kind: string, namespace: string | undefined, name: string): void {
    const at = this.#place(kind, namespace, name);
    this.#turns.run(() => {
      const held = this.#held.get(at);
      if (held) this.#gone(at, held);
    });
  }

  /** The held or expected reports of a kind, by namespace. */
  *places(kind: string): Generator<{ metadata: { name: string; namespace: string } }> {
    for (const at of new Set([...this.#held.keys(), ...this.#turns.waiting()])) {
      const [held, namespace = "", name = ""] = at.split("/");
      if (held === kind) yield { metadata: { namespace, name } };
    }
  }

  /** A place where a kind is looked for: a namespace, or all that fit a pattern. */
  expect(kind: string, place: string): void {
    for (const collection of COLLECTIONS[kind] ?? []) this.#rounds.expect(collection, place);
  }

  /** All objects of a kind in a namespace have been seen, and deleted ones were reported. */
  listed(kind: string, place: string): void {
    this.#turns.run(() => this.#listed(kind, place));
  }

  #listed(kind: string, place: string): void {
    for (const collection of COLLECTIONS[kind] ?? [])
      if (this.#rounds.listed(collection, place) && this.#session) this.#begin(collection);
    this.conditions.listed(kind, place);
    this.#wakeUp();
  }

  /** A kind cannot be listed in a namespace. Its known objects stay. */
  failed(kind: string, place: string, failure: Failure): void {
    for (const collection of COLLECTIONS[kind] ?? []) this.#rounds.failed(collection, place);
    this.conditions.failed(kind, place, failure);
    this.#wakeUp();
  }

  /** The agent no longer serves a namespace. */
  leave(kind: string, place: string): void {
    for (const collection of COLLECTIONS[kind] ?? []) this.#rounds.leave(collection, place);
    this.conditions.listed(kind, place);
  }

  /** A session begins: everything is reported. A service that does not know discovery gets no reports. */
  resync(open: Open): void {
    this.#pending.clear();
    this.#rounds.reset();
    this.#session = open.features.includes(FEATURE) ? open : undefined;
    if (!this.#session) return;
    for (const collection of ALL) this.#begin(collection);
    this.conditions.again();
    this.#wakeUp();
  }

  /** The service asks for everything once more. */
  again(): void {
    if (!this.#session) return;
    for (const collection of ALL) this.#begin(collection);
    this.#wakeUp();
  }

  async ready(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#hasNews()) return;
    await new Promise<void>((resolve) => {
      const finish = () => {
        this.#wake = undefined;
        signal.removeEventListener("abort", finish);
        resolve();
      };
      this.#wake = finish;
      signal.addEventListener("abort", finish, { once: true });
    });
  }

  batch(open: Open, limit = BATCH_COUNT): Batch | undefined {
    // Its first exchange is still to come, and reports everything.
    if (open !== this.#session) return undefined;
    const sent: [key: string, revision: number][] = [];
    const discovered: DiscoveredReport[] = [];
    let bytes = 0;
    for (const [key, { revision, at, gone }] of this.#pending) {
      const held = this.#held.get(at);
      if (!gone && !held) continue;
      const collection = gone?.collection ?? held!.collection;
      bytes += gone ? 200 : held!.json.length;
      if (discovered.length && (bytes > BATCH_BYTES || discovered.length >= limit)) break;
      const round = this.#rounds.isOpen(collection) ? { round: this.#rounds.number(collection) } : {};
      discovered.push({ ...(gone ?? (JSON.parse(held!.json) as DiscoveredReport)), ...round });
      sent.push([key, revision]);
    }
    const last = sent.length === this.#pending.size;
    const listed = last ? this.#rounds.due((collection, namespace) => this.#count(collection, namespace)) : [];
    const conditions = this.conditions.news();
    if (!discovered.length && !listed.length && !conditions) return undefined;
    return {
      body: {
        ...(discovered.length ? { discovered } : {}),
        ...(listed.length ? { listed } : {}),
        ...(conditions ? { conditions } : {}),
      },
      size: discovered.length,
      first: discovered[0] ? `${discovered[0].collection}/${discovered[0].namespace}/${discovered[0].name}` : "",
      settled: () => {
        for (const [key, revision] of sent)
          if (this.#pending.get(key)?.revision === revision) this.#pending.delete(key);
        if (this.#session !== open) return;
        this.#rounds.closed(listed);
        if (conditions) this.conditions.told(conditions);
      },
    };
  }

  #hasNews(): boolean {
    return (
      this.#session !== undefined &&
      (this.#pending.size > 0 || this.#rounds.hasDue() || this.conditions.news() !== undefined)
    );
  }

  #begin(collection: Discovered): void {
    this.#rounds.begin(collection);
    for (const [at, held] of this.#held) if (held.collection === collection) this.#put(at, collection, held.uid);
  }

  #count(collection: Discovered, namespace: string | undefined): number {
    let count = 0;
    for (const held of this.#held.values())
      if (held.collection === collection && (namespace === undefined || held.namespace === namespace)) count++;
    return count;
  }

  #put(at: string, collection: Discovered, uid: string, gone?: DiscoveredReport): void {
    if (!this.#session) return;
    const key = `${collection}/${uid}`;
    this.#pending.delete(key);
    this.#pending.set(key, { revision: ++this.#revision, at, ...(gone ? { gone } : {}) });
    this.#wakeUp();
  }

  #gone(at: string, { collection, namespace, uid }: Held): void {
    this.#held.delete(at);
    this.#put(at, collection, uid, {
      collection,
      namespace,
      name: at.slice(at.lastIndexOf("/") + 1),
      uid,
      deleted: true,
    });
  }

  #place(kind: string, namespace: string | undefined, name: string): string {
    return `${kind}/${namespace ?? this.#options.own}/${name}`;
  }

  #wakeUp(): void {
    if (this.#hasNews()) this.#wake?.();
  }
}

const COLLECTIONS: Record<string, readonly Discovered[]> = {
  Application: ["applications"],
  ApplicationSet: ["applicationsets"],
  AppProject: ["appprojects"],
  Secret: ["repositories", "clusters"],
};
const ALL: readonly Discovered[] = Object.values(COLLECTIONS).flat();
/** Argo CD writes the time of each look, every few minutes for each application: that alone is no news. */
function essenceOf({ status, ...rest }: DiscoveredReport): string {
  const { reconciledAt: _, ...lasting } = (status ?? {}) as Record<string, unknown>;
  // The API server gives fields in one order; another order would only repeat the report.
  return createHash("sha256")
    .update(JSON.stringify({ ...rest, status: lasting }))
    .digest("base64");
}
