import { again, type Failure } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, type FieldSet, type KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import type { Destination } from "../destination.ts";
import { type Ignoring, NOTHING, without } from "./ignore.ts";
import { isOurs, takeOver } from "./migrate.ts";

/**
 * Argo CD applies the plain texts of a Secret (`stringData`) as they are. On the server's side its manager then owns `stringData`, which no
 * stored Secret has, and no manager owns the data made from it: a key that leaves Git would stay for ever. We apply `data` only, so the keys
 * of those texts count as keys of data that were applied.
 */
const TEXTS = "f:stringData";

/** The fields that were applied on the server's side, with the keys of plain texts among those of data. */
export function withTexts(fields: FieldSet): FieldSet {
  const { [TEXTS]: texts, ...others } = fields;
  return texts ? { ...others, "f:data": { ...texts, ...others["f:data"] } } : fields;
}

/** Whether a Secret still has a key that was applied as a plain text and is not wanted any more. */
export function hasTextLeftovers(live: KubeObject, wanted: KubeObject, ignored: Ignoring = NOTHING): boolean {
  if (live.kind !== "Secret") return false;
  const texts = live.metadata.managedFields?.find(isOurs)?.fieldsV1?.[TEXTS];
  if (!texts) return false;
  const [there, next] = [live, wanted].map(
    (object) => (without(object, ignored).data ?? {}) as Record<string, unknown>,
  );
  return Object.keys(texts).some(
    (field) => Object.hasOwn(there!, field.slice(2)) && !Object.hasOwn(next!, field.slice(2)),
  );
}

/**
 * Makes the keys of plain texts ours, so that the apply that follows removes those that left Git. That apply also forgets the plain texts: it
 * waits where this fails.
 */
export async function inheritTexts(
  destination: Destination,
  resource: Resource,
  current: KubeObject,
): Promise<Failure | undefined> {
  const { namespace, name, uid } = current.metadata;
  // Of managed fields the watch keeps our own entry alone.
  const read = await destination.client.get(resource, namespace, name);
  if (read.kind !== "done") return read;
  if (read.value.metadata.uid !== uid) return again(KUBE.conflict, `${describe(current)} was created again meanwhile`);
  const own = read.value.metadata.managedFields?.find(isOurs);
  if (!own?.fieldsV1?.[TEXTS]) return undefined;
  const taken = await takeOver(destination, resource, read.value, {
    former: [{ ...own, fieldsV1: withTexts(own.fieldsV1) }],
    without: [TEXTS],
  });
  return taken.kind === "done" ? undefined : taken;
}
