import { same } from "../../../base/json/same.ts";
import { again, done, type Failure, type Outcome } from "../../../base/outcome.ts";
import { APPLIER, type KubeClient } from "../../../kube/client.ts";
import { type FieldSet, type KubeObject, keyOf, objectKey } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { watch } from "../../../kube/watch.ts";
import { META } from "../application.ts";
import { LAST_APPLIED } from "../compare/last-applied.ts";

interface Shown {
  uid: string | undefined;
  label: string;
}

interface KindWatch {
  /** For each object that the watch showed, only its owner: the objects themselves are kept once, by application. */
  shown: Map<string, Shown>;
  ready: Promise<void>;
  /** Why it cannot be seen now, and since when. */
  failure?: Failure;
  failingSince: number;
  listed: boolean;
  /** Labels of the applications that want to know when it can be seen again. */
  waiting: Set<string>;
  /** Labels of all applications that have or want objects of the kind: they are told when it can no longer be watched. */
  users: Set<string>;
  stale?: NodeJS.Timeout;
  relist?: () => void;
}

// A watch that is cut off resumes within seconds; until then its last state is good enough.
const STALE_MS = 10_000;
// Events should not get lost, and the cache should be right: this is verified twice an hour.
const RESYNC_MS = 1_800_000;

export interface LiveOptions {
  client: KubeClient;
  /** Empty: the whole cluster. Else only these namespaces are watched. */
  namespaces?: readonly string[];
  /** Told the label value of the application whose object changed. */
  changed(label: string): void;
  /** Called with the applications whose objects were known wrongly: they must be compared again. */
  corrected?(label: string): void;
  signal: AbortSignal;
}

/**
 * The managed objects of one cluster, by label: one watch a kind, however many applications use it, and no unmanaged object.
 * The response of each write is stored at once, so that no decision waits for the watch to catch up.
 */
export class Live {
  readonly #options: LiveOptions;
  readonly #kinds = new Map<string, KindWatch>();
  /** Objects written by us before the watch of their kind showed them. */
  readonly #byApp = new Map<string, Map<string, KubeObject>>();
  /** The same objects, for callers that do not know the application. */
  readonly #byKey = new Map<string, KubeObject>();

  constructor(options: LiveOptions) {
    this.#options = options;
    const timer = setInterval(() => this.resync(), RESYNC_MS * (0.75 + Math.random() / 2));
    timer.unref();
    options.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Reads everything again, which corrects missed events and wrong entries. */
  resync(): void {
    for (const { relist } of this.#kinds.values()) relist?.();
  }

  /** Makes sure a kind is watched; resolves when its objects are known, or with why they are not. */
  async observe(resource: Resource, label: string): Promise<Outcome<void>> {
    const { namespaces = [] } = this.#options;
    const scopes = resource.namespaced && namespaces.length ? namespaces : [undefined];
    const seen = await Promise.all(scopes.map((namespace) => this.#kind(resource, namespace, label)));
    return seen.find((outcome) => outcome.kind !== "done") ?? done(undefined);
  }

  get(key: string, label: string): KubeObject | undefined {
    return this.#byApp.get(label)?.get(key);
  }

  /** The application that has an object now, whichever application asks. */
  find(key: string): KubeObject | undefined {
    return this.#byKey.get(key);
  }

  ofApp(label: string): ReadonlyMap<string, KubeObject> {
    return this.#byApp.get(label) ?? new Map();
  }

  /** An application is gone: it wants to know of no kind any more. */
  forget(label: string): void {
    for (const { users, waiting } of this.#kinds.values()) {
      users.delete(label);
      waiting.delete(label);
    }
  }

  put(object: KubeObject): void {
    this.#put(trim(object), keyOf(object));
  }

  remove(key: string, label: string): void {
    const objects = this.#byApp.get(label);
    const here = objects?.get(key);
    if (here) this.#delete(key, label, here);
  }

  /** Kinds that are watched. */
  get kinds(): number {
    return this.#kinds.size;
  }

  get size(): number {
    let size = 0;
    for (const objects of this.#byApp.values()) size += objects.size;
    return size;
  }

  async #kind(resource: Resource, namespace: string | undefined, label: string): Promise<Outcome<void>> {
    const id = `${resource.group}/${resource.kind}@${namespace ?? ""}`;
    const kind = this.#kinds.get(id) ?? this.#start(id, resource, namespace);
    kind.users.add(label);
    if (!kind.failure && !kind.listed) await kind.ready;
    if (kind.failure && (!kind.listed || Date.now() - kind.failingSince > STALE_MS)) {
      kind.waiting.add(label);
      return kind.failure;
    }
    return done(undefined);
  }

  #start(id: string, resource: Resource, namespace: string | undefined): KindWatch {
    let ready!: () => void;
    const kind: KindWatch = {
      shown: new Map(),
      listed: false,
      failingSince: 0,
      waiting: new Set(),
      users: new Set(),
      ready: new Promise((resolve) => {
        ready = resolve;
      }),
    };
    const current = () => {
      kind.failure = undefined;
      clearTimeout(kind.stale);
      for (const label of kind.waiting) this.#options.changed(label);
      kind.waiting.clear();
    };
    this.#kinds.set(id, kind);
    void watch({
      client: this.#options.client,
      resource,
      namespace,
      labelSelector: META.app,
      signal: this.#options.signal,
      replace: (items, version) => {
        const fresh = new Map(items.map((item) => [keyOf(item), item]));
        for (const [key, old] of kind.shown) if (!fresh.has(key)) this.#gone(key, old);
        // The watch may never have shown our own write. Objects newer than the list are kept: their event will come.
        for (const [key, old] of this.#within(resource, namespace))
          if (!fresh.has(key) && !later(old.metadata.resourceVersion, version)) this.#gone(key, shownOf(old));
        kind.shown.clear();
        for (const [key, item] of fresh) this.#listed(kind, key, item);
        kind.listed = true;
        current();
        ready();
      },
      opened: current,
      control: (relist) => {
        kind.relist = relist;
      },
      change: (type, object) => {
        const key = keyOf(object);
        if (type !== "DELETED") return this.#seen(kind, key, object);
        kind.shown.delete(key);
        this.#gone(key, shownOf(object));
      },
      failed: (failure) => {
        if (!kind.failure) {
          kind.failingSince = Date.now();
          kind.stale = setTimeout(() => {
            for (const label of kind.users) this.#options.changed(label);
          }, STALE_MS + 100);
          kind.stale.unref();
        }
        kind.failure = failure;
        ready();
      },
    }).then(() => {
      // It ended before the first list: callers must not wait for ever.
      kind.failure ??= again("WatchEnded", "the watch has ended");
      ready();
    });
    return kind;
  }

  /** All known objects of a kind in the scope of its watch. */
  *#within({ group, kind }: Resource, namespace: string | undefined): Iterable<[string, KubeObject]> {
    const prefix = namespace === undefined ? `${group}/${kind}/` : objectKey(group, kind, namespace, "");
    for (const entry of this.#byKey) if (entry[0].startsWith(prefix)) yield entry;
  }

  /** At the same version the list wins over the cache. */
  #listed(kind: KindWatch, key: string, object: KubeObject): void {
    const trimmed = trim(object);
    const label = labelOf(trimmed);
    const known = this.#byApp.get(label)?.get(key);
    const wrong = known?.metadata.resourceVersion === object.metadata.resourceVersion && !same(known, trimmed);
    if (wrong && known) this.#delete(key, label, known);
    this.#seen(kind, key, object);
    if (wrong) this.#options.corrected?.(label);
  }

  #seen(kind: KindWatch, key: string, object: KubeObject): void {
    const trimmed = trim(object);
    const before = kind.shown.get(key);
    const now = shownOf(trimmed);
    // The label moved to another application: the first one has lost the object.
    if (before && before.label !== now.label) this.#gone(key, before);
    kind.shown.set(key, now);
    if (this.#put(trimmed, key)) this.#options.changed(now.label);
  }

  /** False when the cached object is as new. */
  #put(object: KubeObject, key: string): boolean {
    const label = labelOf(object);
    let objects = this.#byApp.get(label);
    if (!objects) {
      objects = new Map();
      this.#byApp.set(label, objects);
    }
    const old = objects.get(key);
    // Also of another uid: a late event of the object that was there before says nothing of the one that we have written since.
    if (old && !later(object.metadata.resourceVersion, old.metadata.resourceVersion)) return false;
    objects.set(key, object);
    this.#byKey.set(key, object);
    return true;
  }

  #gone(key: string, { label, uid }: Shown): void {
    const objects = this.#byApp.get(label);
    const here = objects?.get(key);
    // A newer object of the same name may have been written since.
    if (!here || here.metadata.uid !== uid) return;
    this.#delete(key, label, here);
    this.#options.changed(label);
  }

  #delete(key: string, label: string, here: KubeObject): void {
    const objects = this.#byApp.get(label)!;
    objects.delete(key);
    if (objects.size === 0) this.#byApp.delete(label);
    if (this.#byKey.get(key) === here) this.#byKey.delete(key);
  }
}

const labelOf = (object: KubeObject): string => object.metadata.labels?.[META.app] ?? "";
const shownOf = (object: KubeObject): Shown => ({ uid: object.metadata.uid, label: labelOf(object) });

// Versions are opaque by contract, but every API server's are etcd revisions, and only those of one kind are compared.
const later = (x = "", y = ""): boolean => (x.length !== y.length ? x.length > y.length : x > y);

/** Of `managedFields`, often half of an object, only our own entry matters, without the annotation that is never compared. */
export function trim(object: KubeObject): KubeObject {
  const managedFields = object.metadata.managedFields
    ?.filter((f) => f.manager === APPLIER && f.operation === "Apply" && !f.subresource)
    .map((entry) => ({ ...entry, fieldsV1: withoutLastApplied(entry.fieldsV1) }));
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

const ANNOTATION = `f:${LAST_APPLIED}`;

function withoutLastApplied(fields: FieldSet | undefined): FieldSet | undefined {
  const metadata = fields?.["f:metadata"];
  const { [ANNOTATION]: found, ...annotations } = metadata?.["f:annotations"] ?? {};
  return found ? { ...fields, "f:metadata": { ...metadata, "f:annotations": annotations } } : fields;
}
