import { inParallel } from "../../../base/process/parallel.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import type { Destination } from "../destination.ts";
import { kindsBelow } from "./descendants.ts";
import { newest } from "./orphans.ts";

// With more objects, one answer would be too large.
const MAX_LOOKED = 20_000;
const MAX_COMPLETED = 500;
const PAGE = 500;
const PARALLEL = 6;
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** A kind in a namespace that could not be listed, and why. */
export interface Unseen {
  group?: string;
  kind: string;
  namespace?: string;
  reason: string;
}

interface Ask {
  labelSelector?: string;
  accept?: string;
}

/** One list and its result. Applications that share a namespace may share it. */
export interface Listed {
  items: KubeObject[];
  truncated?: boolean;
  unseen?: Unseen;
}

export interface BelowOptions {
  /** The namespace of the application: the children of a cluster-wide object may be there. */
  home?: string | undefined;
  /** Answers a list from a short time ago instead of asking once more. */
  share?: (key: string, list: () => Promise<Listed>) => Promise<Listed>;
}

/** Lists possible children of an application's objects, within bounds; kinds that may not be read are reported. */
export class Below {
  readonly unseen: Unseen[] = [];
  truncated = false;
  readonly #destination: Pick<Destination, "id" | "client" | "settings" | "server">;
  readonly #options: BelowOptions;
  #left = MAX_LOOKED;
  /** Objects of which only the metadata are known. */
  readonly #bare = new Map<KubeObject, Resource>();

  constructor(destination: Pick<Destination, "id" | "client" | "settings" | "server">, options: BelowOptions = {}) {
    this.#destination = destination;
    this.#options = options;
  }

  /** Everything that may be a descendant of these objects. */
  async of(present: readonly KubeObject[]): Promise<KubeObject[]> {
    const { client, settings, server } = this.#destination;
    const kinds = kindsBelow(new Set(present.map((object) => `${gvkOf(object).group}/${object.kind}`)));
    const served = newest(await client.discovery.all()).filter(
      ({ group, kind, namespaced, verbs }) =>
        namespaced &&
        verbs?.includes("list") &&
        (kinds === "any" ? !settings.excludes(group, kind, server) : kinds.has(`${group}/${kind}`)),
    );
    const namespaces = new Set(present.flatMap(({ metadata }) => metadata.namespace ?? this.#options.home ?? []));
    const places = [...namespaces].flatMap((namespace) => served.map((resource) => ({ resource, namespace })));
    const whole = kindsBelow(WORKLOADS) as Set<string>;
    const found: KubeObject[] = [];
    await inParallel(
      places,
      async ({ resource, namespace }) => {
        // For kinds that hardly ever have a parent the metadata is enough.
        const bare = kinds === "any" && !whole.has(`${resource.group}/${resource.kind}`);
        const items = (await this.list(resource, namespace, bare ? { accept: METADATA } : {})).filter(mayDescend);
        for (const item of items) {
          found.push(item);
          if (bare) this.#bare.set(item, resource);
        }
      },
      PARALLEL,
    );
    return found;
  }

  /** Reads the objects that will be shown and of which only the metadata are known. */
  async complete(shown: { object: KubeObject }[]): Promise<void> {
    const open = shown.filter(({ object }) => this.#bare.has(object)).slice(0, MAX_COMPLETED);
    await inParallel(
      open,
      async (one) => {
        const { namespace, name } = one.object.metadata;
        const got = await this.#destination.client.get(this.#bare.get(one.object)!, namespace, name);
        if (got.kind === "done") one.object = got.value;
      },
      PARALLEL,
    );
  }

  async list(resource: Resource, namespace: string | undefined, ask: Ask): Promise<KubeObject[]> {
    const { share } = this.#options;
    const { group, version, kind } = resource;
    const key = [
      this.#destination.id,
      group,
      version,
      kind,
      namespace ?? "",
      ask.labelSelector ?? "",
      ask.accept ?? "",
    ].join("|");
    const listed = await (share
      ? share(key, () => this.#pages(resource, namespace, ask))
      : this.#pages(resource, namespace, ask));
    this.truncated ||= listed.truncated === true;
    if (listed.unseen) this.unseen.push(listed.unseen);
    return listed.items;
  }

  async #pages(resource: Resource, namespace: string | undefined, ask: Ask): Promise<Listed> {
    const { group, version, kind } = resource;
    const items: KubeObject[] = [];
    let next: string | undefined;
    do {
      if (this.#left <= 0) return { items, truncated: true };
      const page = await this.#destination.client.json<{ items?: KubeObject[]; metadata?: { continue?: string } }>(
        "GET",
        resourcePath(resource, namespace),
        {
          query: { limit: PAGE, continue: next, labelSelector: ask.labelSelector },
          ...(ask.accept ? { accept: ask.accept } : {}),
        },
      );
      if (page.kind !== "done") {
        const { reason } = page;
        if (reason === KUBE.notFound) return { items };
        return { items, unseen: { ...(group ? { group } : {}), kind, ...(namespace ? { namespace } : {}), reason } };
      }
      const found = page.value.items ?? [];
      this.#left -= found.length;
      for (const item of found) items.push({ ...item, apiVersion: group ? `${group}/${version}` : version, kind });
      next = page.value.metadata?.continue;
    } while (next);
    return { items };
  }
}

const WORKLOADS = ["apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "batch/CronJob", "/Service"];
const mayDescend = (object: KubeObject): boolean =>
  Boolean(object.metadata.ownerReferences?.length) ||
  object.kind === "Endpoints" ||
  object.kind === "PersistentVolumeClaim";
