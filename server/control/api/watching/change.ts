import type { Term } from "../../domain/lists/filter.ts";
import { type Facets, facetsOf, matchesFacets } from "../../domain/lists/predicate.ts";
import { contains, type Scope } from "../../domain/scope.ts";
import type { Event } from "../../store/events.ts";
import { type Summary, summaryOf } from "../../store/lists/summary.ts";

/** The selection of a watcher. */
export interface Selection {
  /** Equal for equal selections. */
  key: string;
  collections: ReadonlySet<string>;
  id?: string | undefined;
  scope: Scope;
  /** Also of the scopes below. */
  inherited: boolean;
  /** Terms over facets alone. */
  filter: readonly Term[];
}

type Kind = "put" | "delete" | undefined;
export type View = "full" | "summary";

/** An event of the log as its watchers share it: facets are read and texts are made once, when the first of them asks. */
export class Change {
  readonly event: Event;
  #facets: Facets | undefined;
  readonly #texts = new Map<string, string>();
  readonly #kinds = new Map<string, Kind>();

  constructor(event: Event) {
    this.event = event;
  }

  get version(): number {
    return this.event.version;
  }

  /** The event for a watcher: the object as it is now, its deletion (also when it no longer fits the filter), or none. Many watchers share it. */
  kindFor(selection: Selection): Kind {
    if (!this.#kinds.has(selection.key)) this.#kinds.set(selection.key, this.#decide(selection));
    return this.#kinds.get(selection.key);
  }

  #decide(selection: Selection): Kind {
    const { collection, id, org, project, object, was } = this.event;
    if (!selection.collections.has(collection) || (selection.id !== undefined && selection.id !== id)) return undefined;
    const { scope, inherited, filter } = selection;
    const fits = inherited
      ? contains(scope, { account: scope.account, org, project })
      : scope.org === org && scope.project === project;
    if (!fits) return undefined;
    if (object && (filter.length === 0 || matchesFacets(filter, this.#now(object)))) return "put";
    if (filter.length === 0) return "delete";
    return was === false || (was !== undefined && !matchesFacets(filter, was)) ? undefined : "delete";
  }

  /** The data of the event as JSON. `named`: with its collection, for streams of several. */
  textOf(kind: "put" | "delete", view: View, named: boolean): string {
    const key = `${kind} ${view} ${named}`;
    const made = this.#texts.get(key) ?? JSON.stringify(this.#dataOf(kind, view, named));
    this.#texts.set(key, made);
    return made;
  }

  #dataOf(kind: "put" | "delete", view: View, named: boolean): object {
    const { collection, id, org, project } = this.event;
    if (kind === "delete")
      return { ...(named ? { collection } : {}), id, ...(org ? { org } : {}), ...(project ? { project } : {}) };
    const object = view === "summary" ? this.summary() : this.event.object!;
    return named ? { collection, object } : object;
  }

  summary(): Summary {
    const object = this.event.object!;
    return summaryOf(object, this.#now(object));
  }

  #now(object: Record<string, any>): Facets {
    const { id, org, project } = this.event;
    const { origin = "managed", spec, status, ...found } = object;
    this.#facets ??= facetsOf({ id, org, project, origin, spec, status, found });
    return this.#facets;
  }
}
