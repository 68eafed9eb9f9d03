import type { KustomizeParameters } from "../types.ts";

// biome-ignore lint/suspicious/noExplicitAny: a kustomization is the user's; kustomize itself judges its shape.
export type Kustomization = Record<string, any>;

export const list = (value: unknown): Kustomization[] =>
  Array.isArray(value) ? value.filter((v) => v && typeof v === "object") : [];
export const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((v): v is string => typeof v === "string") : [];

/** What `kustomize edit set` and `edit add` do to the file, in Argo CD's order; a text is the reason why it cannot be done. */
export function override(k: Kustomization, o: KustomizeParameters): Kustomization | string {
  const result: Kustomization = { ...k };
  if (o.namePrefix) result.namePrefix = o.namePrefix;
  if (o.nameSuffix) result.nameSuffix = o.nameSuffix;
  if (o.images?.length) {
    const images = withImages([...list(k.images), ...list(k.imageTags)], o.images);
    if (typeof images === "string") return images;
    result.images = images;
    delete result.imageTags;
  }
  if (o.replicas?.length) {
    const replicas = byName(list(k.replicas));
    for (const { name, count } of o.replicas) replicas.set(name, { name, count: Number(count) });
    result.replicas = [...replicas.values()];
  }
  const failed = addLabels(result, o) ?? addAnnotations(result, o);
  if (failed) return failed;
  if (o.namespace) result.namespace = o.namespace;
  if (o.patches?.length) result.patches = [...list(k.patches), ...o.patches];
  if (o.components?.length) result.components = [...new Set([...strings(k.components), ...o.components])];
  return result;
}

/** Of several with one name the first counts, as in an edited file. */
const byName = (all: Kustomization[]): Map<unknown, Kustomization> =>
  new Map(all.toReversed().map((one) => [one.name, one]));

function withImages(old: Kustomization[], changes: readonly string[]): Kustomization[] | string {
  const before = byName(old);
  const images = new Map(before);
  for (const text of changes) {
    const image = parseImage(text);
    if (!image) return `image ${JSON.stringify(text)} says nothing new; write name:tag, name@digest or name=new-name`;
    images.set(image.name, kept(image, before.get(image.name)));
  }
  // In the order of their names one is replaced after the other.
  return [...images.values()].sort((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
}

/** `*` means the file's own value. */
function kept(image: Kustomization, before: Kustomization | undefined): Kustomization {
  const entries = Object.entries(image).map(([field, value]) => [
    field,
    value === "*" && field !== "name" ? before?.[field] : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** `[old=]name[:tag][@digest]`; undefined when nothing but the name is said. */
export function parseImage(text: string): Kustomization | undefined {
  const equals = text.indexOf("=");
  const old = equals > 0 ? text.slice(0, equals) : undefined;
  const rest = text.slice(equals + 1);
  const at = rest.indexOf("@");
  const digest = at >= 0 ? rest.slice(at + 1) : undefined;
  const named = at >= 0 ? rest.slice(0, at) : rest;
  // A colon before the last slash belongs to a registry's port.
  const colon = named.indexOf(":", named.lastIndexOf("/") + 1);
  const name = colon >= 0 ? named.slice(0, colon) : named;
  const tag = colon >= 0 ? named.slice(colon + 1) : undefined;
  if (equals < 0 && tag === undefined && digest === undefined) return undefined;
  const image: Kustomization = { name: old ?? name };
  if (old && name) image.newName = name;
  if (tag) image.newTag = tag;
  if (digest) image.digest = digest;
  return image;
}

function addLabels(k: Kustomization, o: KustomizeParameters): string | undefined {
  const { commonLabels = {}, forceCommonLabels, labelWithoutSelector, labelIncludeTemplates = false } = o;
  if (Object.keys(commonLabels).length === 0) return undefined;
  if (!labelWithoutSelector) {
    if (labelIncludeTemplates) return "labelIncludeTemplates is for labels without selectors; set labelWithoutSelector";
    const taken = takenIn(k.commonLabels, commonLabels);
    if (taken && !forceCommonLabels)
      return `label ${taken} is already in commonLabels; set forceCommonLabels to replace it`;
    k.commonLabels = { ...k.commonLabels, ...unquoted(commonLabels) };
    return undefined;
  }
  const labels = list(k.labels);
  const at = labels.findIndex(
    (one) => !one.includeSelectors && (one.includeTemplates ?? false) === labelIncludeTemplates,
  );
  const pairs = labels[at]?.pairs;
  const taken = takenIn(pairs, commonLabels);
  if (taken && !forceCommonLabels) return `label ${taken} is already in labels; set forceCommonLabels to replace it`;
  const entry = {
    includeSelectors: false,
    includeTemplates: labelIncludeTemplates,
    ...labels[at],
    pairs: { ...pairs, ...unquoted(commonLabels) },
  };
  k.labels = at < 0 ? [...labels, entry] : labels.with(at, entry);
  return undefined;
}

function addAnnotations(
  k: Kustomization,
  { commonAnnotations = {}, forceCommonAnnotations }: KustomizeParameters,
): string | undefined {
  if (Object.keys(commonAnnotations).length === 0) return undefined;
  const taken = takenIn(k.commonAnnotations, commonAnnotations);
  if (taken && !forceCommonAnnotations)
    return `annotation ${taken} is already in commonAnnotations; set forceCommonAnnotations to replace it`;
  k.commonAnnotations = { ...k.commonAnnotations, ...unquoted(commonAnnotations) };
  return undefined;
}

const takenIn = (old: object | null | undefined, added: object): string | undefined =>
  Object.keys(added).find((name) => Object.hasOwn(old ?? {}, name));

/** Quotes around a whole value are kustomize's own. */
const unquoted = (pairs: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(pairs).map(([name, value]) => [name, /^".*"$/s.test(value) ? value.slice(1, -1) : value]),
  );
