import type { KubeObject } from "../../kube/object.ts";
import { setOf } from "../appset/reconcile/application.ts";
import { missingTenant, tenantOf } from "../project/tenant.ts";
import { SECRET_TYPE } from "./credentials/secrets.ts";
import { entriesIn, isPlaced } from "./entries.ts";
import { type Collection, type Marks, marksOf } from "./names.ts";
import { collectionAt, NOUNS, partOf } from "./nouns.ts";
import type { MadeApplication } from "./reports/set-status.ts";

/** A delivered object as it is found in the cluster: an object of its own, or a part of one. */
export interface Found extends Marks {
  collection: Collection;
  /** Names it among all: `Kind/name`, and its part. */
  at: string;
  part?: string;
  object: KubeObject;
  /** It lacks the mark of its tenant, because an older agent wrote it: the service has to send it again. */
  unmarked?: boolean;
}

/**
 * What of an object was delivered. `kind` is said beside it, because objects of a list do not say it; `place` is `namespace/name` outside the
 * agent's own namespace.
 */
export function foundIn(kind: string, object: KubeObject, account: string, place = object.metadata.name): Found[] {
  const at = `${kind}/${place}`;
  if (kind === "ConfigMap") {
    const held = partOf(object, tenantOf(object));
    if (!held) return [];
    const { shared, collection } = held;
    return [...entriesIn(shared, object, account)].map(([part, marks]) => ({
      ...marks,
      collection,
      at: `${at}/${part}`,
      part,
      object,
      unmarked: !isPlaced(object, part),
    }));
  }
  // Objects of a set were not delivered, whatever marks they have.
  if (kind === "Application" && setOf(object) !== undefined) return [];
  const marks = marksOf(object, account);
  const collection = collectionAt(kind, object.metadata.labels?.[SECRET_TYPE]);
  return marks && collection
    ? [{ ...marks, collection, at, object, unmarked: missingTenant(object) !== undefined }]
    : [];
}

/** Its reported status; undefined for objects that only have to exist. */
export const statusOf = (
  { collection, object, part = "", uid }: Found,
  made: () => readonly MadeApplication[],
): object | undefined => NOUNS[collection].status?.({ object, part, uid, made });

/** Whether there is a server to reach: that of a repository or a cluster. */
export const isReached = (collection: Collection): boolean => NOUNS[collection].reached === true;
