import { instanceOf } from "./instance.ts";
import { areNames, listsNamespace } from "./namespaces.ts";

/** One watch of Applications: of a namespace, or of all but our own. */
export interface Scope {
  namespace?: string;
  fieldSelector?: string;
  own: boolean;
  signal: AbortSignal;
  /** Forgets those of its applications that are no longer served here. */
  end(): void;
  /** It has shown what there is. */
  listed?(): void;
}

interface Watching {
  scope: Scope;
  abort: AbortController;
  listed: boolean;
  /** No more wanted, but all that sees some applications until those that are wanted instead have shown theirs. */
  retiring: boolean;
}

interface Placed {
  metadata: { name: string; namespace?: string };
}

/** Where what is seen is kept, by what it is called among all. */
export interface Kept<T> {
  all(): Iterable<Placed>;
  seen(object: T): void;
  gone(name: string): void;
  /** After a list, and after each change. */
  listed?(): void;
  changed?(type: string, object: T): void;
}

type Open = (scope: Scope) => Promise<void>;

/**
 * In which namespaces there are Applications for us. Namespaces that are named are watched one by one, for which rights in just these are
 * enough; with a pattern among them all are watched, and others are filtered out.
 */
export class Places {
  readonly #own: string;
  readonly #signal: AbortSignal;
  #patterns: readonly string[] = [];
  readonly #open = new Map<string, Watching>();

  constructor(own: string, signal: AbortSignal) {
    this.#own = own;
    this.#signal = signal;
  }

  own(open: Open): Promise<void> {
    return open({ namespace: this.#own, own: true, signal: this.#signal, end: () => undefined });
  }

  /**
   * Starts new watches and ends old ones; nothing of an application is changed by either. A watch whose applications are still for us
   * ends when the new ones have shown theirs: one that we have no rights for would leave them unseen.
   */
  async replace(patterns: readonly string[], open: Open): Promise<void> {
    const before = this.#patterns;
    if (before.length === patterns.length && before.every((one, i) => one === patterns[i])) return;
    const wanted = new Set(
      areNames(patterns) ? patterns.filter((one) => one !== this.#own) : [`${ALL}${patterns.join()}`],
    );
    this.#patterns = patterns;
    for (const [id, watching] of [...this.#open]) {
      const { scope } = watching;
      watching.retiring = !wanted.has(id);
      if (!watching.retiring) continue;
      if (scope.namespace !== undefined && !this.has(scope.namespace)) this.#close(id, watching);
      scope.end();
    }
    const begun = [...wanted].filter((id) => !this.#open.has(id)).map((id) => this.#begin(id));
    this.#retire();
    await Promise.all(begun.map(open));
  }

  #retire(): void {
    if ([...this.#open.values()].some(({ listed, retiring }) => !listed && !retiring)) return;
    for (const [id, watching] of [...this.#open]) if (watching.retiring) this.#close(id, watching);
  }

  #close(id: string, { abort }: Watching): void {
    abort.abort();
    this.#open.delete(id);
  }

  /** Whether a namespace is our own or one of those that are configured. */
  has(namespace = this.#own): boolean {
    return namespace === this.#own || listsNamespace(this.#patterns, namespace);
  }

  /** Whether an object is one that a watch is for. */
  covers({ namespace, own }: Scope, { metadata }: Placed): boolean {
    const at = metadata.namespace ?? this.#own;
    if (namespace !== undefined) return at === namespace;
    return !own && at !== this.#own && listsNamespace(this.#patterns, at);
  }

  /** The objects of a scope's watch, as they are kept: known objects that a list lacks are deleted. */
  keeping<T extends Placed>(scope: Scope, kept: Kept<T>) {
    const nameOf = (object: Placed) => instanceOf(object, this.#own);
    const keep = (isKept: (one: Placed) => boolean) => {
      for (const one of [...kept.all()]) if (!isKept(one)) kept.gone(nameOf(one));
      kept.listed?.();
    };
    scope.end = () => keep(({ metadata }) => this.has(metadata.namespace));
    return {
      replace: (items: T[]) => {
        const mine = items.filter((item) => this.covers(scope, item));
        for (const item of mine) kept.seen(item);
        const names = new Set(mine.map(nameOf));
        keep((one) => !this.covers(scope, one) || names.has(nameOf(one)));
        scope.listed?.();
      },
      change: (type: string, object: T) => {
        if (!this.covers(scope, object)) return;
        if (type === "DELETED") kept.gone(nameOf(object));
        else kept.seen(object);
        kept.changed?.(type, object);
      },
    };
  }

  #begin(id: string): Scope {
    const abort = new AbortController();
    const all = id.startsWith(ALL);
    const scope: Scope = {
      ...(all ? { fieldSelector: `metadata.namespace!=${this.#own}` } : { namespace: id }),
      own: false,
      signal: AbortSignal.any([abort.signal, this.#signal]),
      end: () => undefined,
    };
    const watching: Watching = { scope, abort, listed: false, retiring: false };
    scope.listed = () => {
      watching.listed = true;
      this.#retire();
    };
    this.#open.set(id, watching);
    return scope;
  }
}

// No namespace begins with it.
const ALL = "* ";
