import { done, type Failure, type Outcome } from "../../../base/outcome.ts";
import { inParallel } from "../../../base/process/parallel.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import { type KubeObject, keyOf } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { META } from "../application.ts";
import { ownerOf, type Tracking } from "../tracking.ts";

/** Applies only the label and owns no other field, so that adopting an object changes no field of another client. */
export const INDEXER = "outpost-index";
// A list of this age is good enough for an application that is seen for the first time.
const FRESH_MS = 30_000;

interface Unlabelled {
  at: number;
  byOwner: Promise<Outcome<Map<string, KubeObject[]>>>;
  /** Applications whose objects have been labelled, or that had none. */
  asked: Set<string>;
}

export interface Claim {
  /** The application as tracking marks name it. */
  owner: string;
  label: string;
  resource: Resource;
  /** The keys of what Git has. Definitions among it carry no mark, and what belongs to another object is the application's all the same. */
  wanted: ReadonlySet<string>;
  /** The keys of what the application's status names. */
  listed: ReadonlySet<string>;
  /** Objects that the project does not permit stay as they are. */
  permits(object: KubeObject): boolean;
  /** The account that writes for the application. Objects without its mark are taken over only if that account may write them. */
  writer: KubeClient;
}

/**
 * Takes over what another engine applied. Ownership is the tracking mark; our label is only the index of the watches. Objects that have the mark
 * and not the label get it by a patch of metadata: no apply, no new generation, no hook.
 */
export class Adoption {
  readonly #client: KubeClient;
  readonly #namespaces: readonly string[];
  readonly #tracking: () => Tracking;
  readonly #lists = new Map<string, Unlabelled>();

  constructor(client: KubeClient, namespaces: readonly string[], tracking: () => Tracking) {
    this.#client = client;
    this.#namespaces = namespaces;
    this.#tracking = tracking;
  }

  /** Labels an application's objects of one kind, once; returns them in their new state. */
  async take(claim: Claim): Promise<Outcome<KubeObject[]>> {
    const { resource, owner, label } = claim;
    const id = `${resource.group}/${resource.kind}`;
    let list = this.#lists.get(id);
    if (list?.asked.has(owner)) return done([]);
    if (!list || Date.now() - list.at > FRESH_MS) {
      list = { at: Date.now(), byOwner: this.#unlabelled(resource), asked: list?.asked ?? new Set() };
      this.#lists.set(id, list);
    }
    const byOwner = await list.byOwner;
    if (byOwner.kind !== "done") {
      this.#lists.delete(id);
      return byOwner;
    }
    const isWanted = (object: KubeObject) => claim.wanted.has(keyOf(object));
    const { method } = this.#tracking();
    const marked = (byOwner.value.get(owner) ?? []).filter(
      (object) => isWanted(object) || !isMade(object, method, claim.listed),
    );
    const unmarked = (byOwner.value.get(UNMARKED) ?? []).filter(isWanted);
    const taken: KubeObject[] = [];
    let failure: Failure | undefined;
    const claimed = [
      ...marked.map((object) => ({ object, as: this.#client })),
      ...unmarked.map((object) => ({ object, as: claim.writer })),
    ];
    await inParallel(
      claimed.filter(({ object }) => claim.permits(object)),
      async ({ object, as }) => {
        const written = await putLabel(as, resource, object, label);
        if (written.kind === "done") taken.push(written.value);
        // The sync will report that its account may not write it.
        else if (as !== this.#client && written.reason === KUBE.forbidden) return;
        else if (written.reason !== KUBE.notFound && written.reason !== KUBE.conflict) failure ??= written;
      },
    );
    if (failure) return failure;
    list.asked.add(owner);
    return done(taken);
  }

  /** Looks again for everything: another engine may have applied something since. */
  reset(): void {
    this.#lists.clear();
  }

  /** An application is gone. One that comes back under its name is searched for again. */
  forget(owner: string): void {
    for (const { asked } of this.#lists.values()) asked.delete(owner);
  }

  async #unlabelled(resource: Resource): Promise<Outcome<Map<string, KubeObject[]>>> {
    const tracking = this.#tracking();
    const namespaces = resource.namespaced && this.#namespaces.length ? this.#namespaces : [undefined];
    const byOwner = new Map<string, KubeObject[]>();
    for (const namespace of namespaces) {
      const listed = await this.#client.list(resource, {
        ...(namespace ? { namespace } : {}),
        labelSelector: `!${META.app}`,
        metadataOnly: true,
      });
      if (listed.kind !== "done") return listed;
      for (const object of listed.value.items) {
        const owner = claimant(object, tracking);
        if (owner === undefined) continue;
        const objects = byOwner.get(owner) ?? [];
        objects.push({ ...object, metadata: { ...object.metadata, managedFields: undefined } });
        byOwner.set(owner, objects);
      }
    }
    return done(byOwner);
  }
}

/** The uid tells this object from a newer one of the same name. */
function putLabel(
  client: KubeClient,
  resource: Resource,
  { metadata: { namespace, name, uid } }: KubeObject,
  label: string,
) {
  const patch = { metadata: { uid, labels: { [META.app]: label } } };
  return client.mergePatch(resource, namespace, name, patch, { manager: INDEXER });
}

const UNMARKED = "";

/** The owner of an object according to its marks. */
const claimant = (object: KubeObject, tracking: Tracking): string | undefined =>
  ownerOf(object, tracking) ?? (object.kind === "CustomResourceDefinition" ? UNMARKED : undefined);

/**
 * Whether an object was made for another one, whose marks were copied to it. A StatefulSet copies its labels to its claims, an operator to what it
 * makes, and these name no owner: tracked by label, only those are the application's that it was known to have.
 */
const isMade = (object: KubeObject, method: Tracking["method"], listed: ReadonlySet<string>): boolean => {
  if ((object.metadata.ownerReferences?.length ?? 0) > 0) return true;
  const isNamed = method !== "label" && object.metadata.annotations?.[META.trackingId];
  const isCopied = method === "label" || object.kind === "PersistentVolumeClaim";
  return isCopied && !isNamed && !listed.has(keyOf(object));
};
