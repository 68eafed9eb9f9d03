import { done, type Failure, type Outcome, stop } from "../base/outcome.ts";
import { KUBE } from "./errors.ts";
import type { Resource } from "./path.ts";

interface Table {
  /** `group/version/Kind` → resource. */
  byKind: Map<string, Resource>;
  /** Group versions whose own server did not answer: what they hold is unknown, not absent. */
  stale: Set<string>;
  at: number;
}

interface Aggregated {
  items?: {
    metadata: { name?: string };
    versions: {
      version: string;
      freshness?: string;
      resources?: { resource: string; scope: string; verbs: string[]; responseKind?: { kind: string } }[];
    }[];
  }[];
}

const AGGREGATED =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
// A kind that is not there may have come with a CRD a moment ago; asking more often than this tells nothing new.
const REFRESH_MS = 2_000;
const MAX_AGE_MS = 600_000;

/** The one method of a client that this needs. */
interface Asks {
  json<T>(method: "GET", path: string, ask: { accept: string }): Promise<Outcome<T>>;
}

/** The kinds a cluster serves: two requests for all of them, shared by everything that talks to the cluster. */
export class Discovery {
  readonly #client: Asks;
  #table: Table | undefined;
  #loading: Promise<Outcome<Table>> | undefined;

  constructor(client: Asks) {
    this.#client = client;
  }

  /** Finds a kind; `KindNotFound` is a fact, `ClusterUnavailable` means its server cannot be asked now. */
  async find(group: string, version: string, kind: string): Promise<Outcome<Resource>> {
    const key = `${group}/${version}/${kind}`;
    const first = await this.#fresh(MAX_AGE_MS);
    if (first.kind !== "done") return first;
    const known = first.value.byKind.get(key);
    if (known) return done(known);
    const second = await this.#fresh(REFRESH_MS);
    if (second.kind !== "done") return second;
    const found = second.value.byKind.get(key);
    if (found) return done(found);
    if (second.value.stale.has(`${group}/${version}`)) {
      return {
        kind: "again",
        reason: KUBE.unavailable,
        message: `the server of API group ${group}/${version} does not answer`,
      };
    }
    return stop(KUBE.kindNotFound, `the cluster has no kind ${kind} in ${group ? `${group}/` : ""}${version}`);
  }

  /** Every kind in every version that is served; none while the cluster cannot be asked. */
  async all(): Promise<Resource[]> {
    const table = await this.#fresh(MAX_AGE_MS);
    return table.kind === "done" ? [...table.value.byKind.values()] : [];
  }

  /** Where a kind of that name is served, as `apps/v1`: for who has asked for it elsewhere. */
  named(kind: string): string[] {
    const found = [...(this.#table?.byKind.values() ?? [])].filter((resource) => resource.kind === kind);
    return found.map(({ group, version }) => (group ? `${group}/${version}` : version));
  }

  /** Group versions that did not answer; nothing may be pruned on the strength of a partial view. */
  get stale(): ReadonlySet<string> {
    return this.#table?.stale ?? new Set();
  }

  /** Empties the cache, after a CRD was applied. */
  forget(): void {
    if (this.#table) this.#table.at = 0;
  }

  async #fresh(maxAgeMs: number): Promise<Outcome<Table>> {
    if (this.#table && Date.now() - this.#table.at < maxAgeMs) return done(this.#table);
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    const loaded = await this.#loading;
    if (loaded.kind === "done") return loaded;
    // An old table answers better than none while the API server is away.
    return this.#table && maxAgeMs === MAX_AGE_MS ? done(this.#table) : loaded;
  }

  async #load(): Promise<Outcome<Table>> {
    const answers = await Promise.all(
      ["/api", "/apis"].map((path) => this.#client.json<Aggregated>("GET", path, { accept: AGGREGATED })),
    );
    const table: Table = { byKind: new Map(), stale: new Set(), at: Date.now() };
    for (const answer of answers) {
      if (answer.kind !== "done") return answer as Failure;
      for (const item of answer.value.items ?? []) {
        const group = item.metadata.name ?? "";
        for (const { version, freshness, resources = [] } of item.versions) {
          if (freshness === "Stale") table.stale.add(`${group}/${version}`);
          for (const { resource, scope, verbs, responseKind } of resources) {
            if (!responseKind) continue;
            const found: Resource = {
              group,
              version,
              kind: responseKind.kind,
              plural: resource,
              namespaced: scope === "Namespaced",
              verbs,
            };
            table.byKind.set(`${group}/${version}/${found.kind}`, found);
          }
        }
      }
    }
    this.#table = table;
    return done(table);
  }
}
