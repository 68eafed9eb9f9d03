import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import { TENANT } from "../../project/tenant.ts";
import { META } from "../application.ts";
import type { Tracking } from "../tracking.ts";

type Texts = Record<string, string>;

/**
 * An object with the marks that another form of it has, and no others. Marks say whose an object is and are no content: a rule about differences to
 * ignore hides none, and keeps none that others have put on the live object. A tenant's mark too would give its specification the power of whoever
 * the object was before.
 */
export function withMarksOf(object: KubeObject, marked: KubeObject, tracking: Tracking): KubeObject {
  const labels = [META.app, ...(tracking.method === "annotation" ? [] : [tracking.labelKey])];
  const annotations = [META.trackingId, META.installationId, ...(hasTenant(marked) ? [TENANT] : [])];
  const { metadata } = object;
  const next = {
    labels: taken(metadata.labels, marked.metadata.labels, labels),
    annotations: taken(metadata.annotations, marked.metadata.annotations, annotations),
  };
  if (next.labels === metadata.labels && next.annotations === metadata.annotations) return object;
  const { labels: _, annotations: __, ...others } = metadata;
  return { ...object, metadata: { ...others, ...present(next) } };
}

/** What the agent's own scope writes has no mark of a tenant, and leaves the one that is there. */
const hasTenant = (object: KubeObject): boolean =>
  gvkOf(object).group === "argoproj.io" && object.metadata.annotations?.[TENANT] !== undefined;

/** The same value where nothing has to change. */
function taken(texts: Texts | undefined, from: Texts | undefined, keys: readonly string[]): Texts | undefined {
  if (keys.every((key) => texts?.[key] === from?.[key])) return texts;
  const next = { ...texts };
  for (const key of keys) {
    if (from?.[key] === undefined) delete next[key];
    else next[key] = from[key];
  }
  return Object.keys(next).length ? next : undefined;
}

const present = ({ labels, annotations }: { labels: Texts | undefined; annotations: Texts | undefined }) => ({
  ...(labels ? { labels } : {}),
  ...(annotations ? { annotations } : {}),
});
