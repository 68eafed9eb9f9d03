import type { Failure } from "../base/outcome.ts";
import type { KubeClient } from "./client.ts";
import type { KubeObject } from "./object.ts";
import type { Resource } from "./path.ts";
import { watch } from "./watch.ts";

/** The watched kind and namespace; without a namespace the whole cluster. */
export interface WatchScope {
  namespace?: string;
  fieldSelector?: string;
  signal?: AbortSignal;
}

interface Log {
  warn(fields: object, message: string): void;
}

export interface Seen {
  replace(items: KubeObject[]): void;
  change(type: string, object: KubeObject): void;
  /** True for a caller that handles failures itself: then the start does not wait for it. */
  failed?(failure: Failure): void;
}

/** The watches of a program: each resolves after its first list, and all end with the signal. */
export class Watches {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  readonly #running: Promise<void>[] = [];

  constructor(client: KubeClient, namespace: string, log: Log, signal: AbortSignal) {
    this.#client = client;
    this.#namespace = namespace;
    this.#log = log;
    this.#signal = signal;
  }

  /** Of our own namespace, or of another scope. */
  watch(
    resource: Resource,
    labelSelector: string | undefined,
    on: Seen,
    { namespace, fieldSelector, signal = this.#signal }: WatchScope = { namespace: this.#namespace },
  ): Promise<void> {
    return new Promise((resolve) => {
      const running = watch({
        client: this.#client,
        resource,
        namespace,
        labelSelector,
        fieldSelector,
        signal,
        replace: (items) => {
          on.replace(items);
          resolve();
        },
        change: (type, object) => on.change(type, object),
        failed: (failure) => {
          this.#log.warn({ resource: resource.plural, namespace, reason: failure.reason }, failure.message);
          if (!on.failed) return;
          on.failed(failure);
          resolve();
        },
      });
      this.#running.push(running.then(resolve));
    });
  }

  /** The whole of it after each change. */
  collection(resource: Resource, labelSelector: string, replaced: (all: KubeObject[]) => void): Promise<void> {
    const objects = new Map<string, KubeObject>();
    return this.watch(resource, labelSelector, {
      replace: (items) => {
        objects.clear();
        for (const item of items) objects.set(item.metadata.name, item);
        replaced([...objects.values()]);
      },
      change: (type, object) => {
        if (type === "DELETED") objects.delete(object.metadata.name);
        else objects.set(object.metadata.name, object);
        replaced([...objects.values()]);
      },
    });
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }
}
