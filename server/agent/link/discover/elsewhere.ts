import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES, type Resource } from "../../../kube/path.ts";
import { watch } from "../../../kube/watch.ts";
import { APPLICATION_SET } from "../../appset/reconcile/reconcile.ts";
import { Settings } from "../../controller/settings.ts";
import { placeOfInstance } from "../../project/instance.ts";
import { Places, type Scope } from "../../project/namespace-scopes.ts";
import type { AgentContext } from "../context.ts";
import type { Patterns } from "../patterns.ts";
import type { Discovery } from "./discovery.ts";
import { EVERYWHERE } from "./rounds.ts";

export interface ElsewhereOptions {
  ctx: AgentContext;
  patterns: Patterns;
  discovery: Discovery;
  seen(kind: string, object: KubeObject): void;
  lost(kind: string, namespace: string, name: string): void;
  signal: AbortSignal;
}

/** Watches applications and sets outside the agent's own namespace, where there are to be any. */
export class Elsewhere {
  readonly #options: ElsewhereOptions;
  readonly #places: Record<string, Places>;
  readonly #settings = new Settings();
  readonly #ended: Promise<void>[] = [];

  constructor(options: ElsewhereOptions) {
    this.#options = options;
    const { ctx, signal } = options;
    this.#places = {
      [RESOURCES.application.kind]: new Places(ctx.namespace, signal),
      [APPLICATION_SET.kind]: new Places(ctx.namespace, signal),
    };
  }

  /** How objects are marked, as one text. */
  get tracking(): string {
    return JSON.stringify(this.#settings.tracking);
  }

  get done(): Promise<unknown> {
    return Promise.all(this.#ended);
  }

  /** The ConfigMaps of Argo CD as they are now. */
  configured(configMaps: readonly KubeObject[]): void {
    const { discovery, patterns } = this.#options;
    this.#settings.replace(configMaps);
    discovery.tracking = this.#settings.tracking;
    this.#follow(RESOURCES.application, patterns.applications ?? this.#settings.applicationNamespaces);
    this.#follow(APPLICATION_SET, patterns.sets ?? this.#settings.setNamespaces);
  }

  #follow(resource: Resource, patterns: readonly string[]): void {
    void this.#places[resource.kind]!.replace(patterns, async (scope) => {
      this.#ended.push(this.#watch(resource, scope));
    });
  }

  #watch(resource: Resource, scope: Scope): Promise<void> {
    const { ctx, discovery, seen, lost } = this.#options;
    const { kind, plural } = resource;
    const place = scope.namespace ?? EVERYWHERE;
    discovery.expect(kind, place);
    scope.signal.addEventListener("abort", () => discovery.leave(kind, place), { once: true });
    const on = this.#places[kind]!.keeping<KubeObject>(scope, {
      all: () => outside(discovery.places(kind), ctx.namespace),
      seen: (object) => seen(kind, object),
      gone: (instance) => {
        const { namespace, name } = placeOfInstance(instance, ctx.namespace);
        lost(kind, namespace, name);
      },
    });
    return watch({
      client: ctx.client,
      resource,
      ...(scope.namespace ? { namespace: scope.namespace } : {}),
      ...(scope.fieldSelector ? { fieldSelector: scope.fieldSelector } : {}),
      signal: scope.signal,
      replace: (items) => {
        on.replace(items);
        discovery.listed(kind, place);
      },
      change: on.change,
      failed: (failure) => {
        ctx.log.warn({ resource: plural, namespace: place, reason: failure.reason }, failure.message);
        discovery.failed(kind, place, failure);
      },
    });
  }
}

function* outside<T extends { metadata: { namespace: string } }>(all: Iterable<T>, own: string): Generator<T> {
  for (const one of all) if (one.metadata.namespace !== own) yield one;
}
