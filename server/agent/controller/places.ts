import type { KubeObject } from "../../kube/object.ts";
import { areNames, listsNamespace } from "../project/namespaces.ts";

/** One watch of Applications: of a namespace, or of all but our own. */
export interface Scope {
  namespace?: string;
  fieldSelector?: string;
  own: boolean;
  signal: AbortSignal;
  /** Its applications are nobody's business any more. */
  end(): void;
}

type Open = (scope: Scope) => Promise<void>;

/**
 * In which namespaces there are Applications for us. Namespaces that are named are watched one by one, for which rights in just these are
 * enough; with a pattern among them all are, and what does not fit is not seen.
 */
export class Places {
  readonly #own: string;
  readonly #signal: AbortSignal;
  #patterns: readonly string[] = [];
  readonly #open = new Map<string, { scope: Scope; abort: AbortController }>();

  constructor(own: string, signal: AbortSignal) {
    this.#own = own;
    this.#signal = signal;
  }

  own(open: Open): Promise<void> {
    return open({ namespace: this.#own, own: true, signal: this.#signal, end: () => undefined });
  }

  /** Begins with what is new and ends what is no more; nothing of an application is changed by either. */
  async replace(patterns: readonly string[], open: Open): Promise<void> {
    const before = this.#patterns;
    if (before.length === patterns.length && before.every((one, i) => one === patterns[i])) return;
    const wanted = new Set(areNames(patterns) ? patterns.filter((one) => one !== this.#own) : [`${ALL}${patterns.join()}`]);
    for (const [id, { scope, abort }] of this.#open) {
      if (wanted.has(id)) continue;
      abort.abort();
      this.#open.delete(id);
      scope.end();
    }
    this.#patterns = patterns;
    await Promise.all([...wanted].filter((id) => !this.#open.has(id)).map((id) => this.#begin(id, open)));
  }

  /** Whether an object is one of those that a watch is there for. */
  covers({ namespace, own }: Scope, { metadata }: KubeObject): boolean {
    const at = metadata.namespace ?? this.#own;
    if (namespace !== undefined) return at === namespace;
    return !own && at !== this.#own && listsNamespace(this.#patterns, at);
  }

  #begin(id: string, open: Open): Promise<void> {
    const abort = new AbortController();
    const all = id.startsWith(ALL);
    const scope: Scope = {
      ...(all ? { fieldSelector: `metadata.namespace!=${this.#own}` } : { namespace: id }),
      own: false,
      signal: AbortSignal.any([abort.signal, this.#signal]),
      end: () => undefined,
    };
    this.#open.set(id, { scope, abort });
    return open(scope);
  }
}

// No namespace begins with it.
const ALL = "* ";
