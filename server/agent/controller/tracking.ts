import { createHash } from "node:crypto";
import { APPLIER, FIELD_MANAGER } from "../../kube/client.ts";
import { gvkOf, type KubeObject } from "../../kube/object.ts";
import { META } from "./application.ts";

export const METHODS = ["annotation", "annotation+label", "label"] as const;

/** The tracking method: how an object names its application. It does not decide which objects are watched: under every method, our own label does. */
export interface Tracking {
  method: (typeof METHODS)[number];
  labelKey: string;
  /** Several installations that share a cluster mark theirs with it; empty for one that has none. */
  installation: string;
}

export const BY_ANNOTATION: Tracking = {
  method: "annotation",
  labelKey: "app.kubernetes.io/instance",
  installation: "",
};

const MAX_LABEL = 63;

/** The label's value for an application: its name, or a shortened one with a digest (labels end at 63 characters). */
export function appLabel(app: string): string {
  return app.length <= MAX_LABEL
    ? app
    : `${app.slice(0, 50)}-${createHash("sha256").update(app).digest("hex").slice(0, 12)}`;
}

/** `app:group/Kind:namespace/name`; cluster-scoped objects carry the application's destination namespace. */
export function trackingId(app: string, object: KubeObject, destinationNamespace: string): string {
  // An object without a name is marked too when it is only shown.
  const { namespace, name = "" } = object.metadata;
  return `${app}:${gvkOf(object).group}/${object.kind}:${namespace || destinationNamespace}/${name}`;
}

/** Puts the marks of an application on an object, and takes off those that it brought along. */
export function mark(
  object: KubeObject,
  app: string,
  namespace: string,
  { method, labelKey, installation }: Tracking,
): void {
  const { [META.trackingId]: _, [META.installationId]: __, ...annotations } = object.metadata.annotations ?? {};
  const labels = { ...object.metadata.labels };
  // A definition outlives the application that brought it, and so bears no mark, as in Argo CD.
  const marked = object.kind !== "CustomResourceDefinition";
  if (marked && method !== "annotation") labels[labelKey] = cut(app);
  if (marked && method !== "label") annotations[META.trackingId] = trackingId(app, object, namespace);
  if (marked && method !== "label" && installation) annotations[META.installationId] = installation;
  object.metadata.annotations = Object.keys(annotations).length ? annotations : undefined;
  object.metadata.labels = { ...labels, [META.app]: appLabel(app) };
}

/** Call it after an object got a generated name: puts that name into the tracking annotation. */
export function remark(object: KubeObject, app: string, namespace: string): void {
  const { annotations } = object.metadata;
  if (annotations?.[META.trackingId] === undefined) return;
  object.metadata.annotations = { ...annotations, [META.trackingId]: trackingId(app, object, namespace) };
}

/** The application an object says it belongs to; undefined when that was copied from another object, or is another installation's. */
export function ownerOf(object: KubeObject, { method, labelKey, installation }: Tracking): string | undefined {
  const { annotations, labels } = object.metadata;
  const from = annotations?.[META.installationId];
  // By label an object of ours names no installation; one that names another is that one's, by whatever it is tracked there.
  if (method === "label")
    return (from === undefined || from === installation) && !copiesLabels(object)
      ? labels?.[labelKey] || undefined
      : undefined;
  return (from ?? "") === installation ? namedBy(object) : undefined;
}

/** The cluster makes Endpoints with all labels of their Service, and no owner: those that we have not written say nothing with them. */
const copiesLabels = ({ apiVersion, kind, metadata }: KubeObject): boolean =>
  kind === "Endpoints" &&
  apiVersion === "v1" &&
  !metadata.managedFields?.some(({ manager }) => manager === FIELD_MANAGER || manager === APPLIER);

/** The application that the annotation names; undefined when it is about another object. */
function namedBy(object: KubeObject): string | undefined {
  const { annotations, namespace: at, name: called } = object.metadata;
  const match = /^([^:]*):([^/]*)\/([^:]*):([^/]*)\/(.*)$/.exec(annotations?.[META.trackingId] ?? "");
  if (!match) return undefined;
  const [, app, group, kind, namespace, name] = match;
  const own = gvkOf(object).group === group && object.kind === kind && called === name;
  return own && (at === undefined || at === namespace) ? app : undefined;
}

/** The marks of an object about its owner, as one application sees them. */
interface Clues {
  /** The cluster copied its labels from a Service, so they do not count. */
  copied: boolean;
  /** By what objects are marked now. */
  by: "annotation" | "label";
  /** The application that the mark names, by the current tracking method. */
  mark: "nobody" | "this" | "other";
  /** Its tracking annotation is about another object: it was copied together with all marks. */
  copy: boolean;
  /** The application that our own label names. The label is written under each method, and stays when the method changes. */
  label: "nobody" | "this" | "other";
  /** This application wrote the label that another one is read from, or its annotation names this application. */
  written: boolean;
}

/**
 * Who owns a live object, as far as writing it goes. The first row that fits wins; what a row does not name may be anything.
 *
 * Marks of former settings count too, until the next write replaces them: an object that was marked under those is not free for others, and is not
 * lost to its application because a chart sets the same label.
 */
const OWNERSHIP: readonly { when: Partial<Clues>; owner: "nobody" | "this" | "mark" | "label" }[] = [
  { when: { copied: true }, owner: "mark" },

  { when: { by: "annotation", mark: "this" }, owner: "this" },
  { when: { by: "annotation", mark: "other" }, owner: "mark" },
  { when: { by: "annotation", copy: true }, owner: "nobody" },
  { when: { by: "annotation" }, owner: "label" },

  { when: { by: "label", mark: "other", label: "this", written: true }, owner: "this" },
  { when: { by: "label", mark: "other" }, owner: "mark" },
  { when: { by: "label", mark: "this", label: "nobody" }, owner: "this" },
  // Two long names may be cut to the same mark; our label tells them apart.
  { when: { by: "label" }, owner: "label" },
];

/** The owner of an object as far as writing it goes. To prune or delete an object this is not enough: for that `ownerOf` counts. */
export function effectiveOwner(object: KubeObject, app: string, tracking: Tracking): string | undefined {
  const { labels } = object.metadata;
  const [mark, label] = [ownerOf(object, tracking), labels?.[META.app]];
  const clues = cluesOf(object, app, tracking, mark);
  const { owner } = OWNERSHIP.find(({ when }) => fits(clues, when))!;
  const owners = { nobody: undefined, this: app, mark, label: clues.label === "this" ? app : label };
  return owners[owner];
}

function cluesOf(object: KubeObject, app: string, tracking: Tracking, mark: string | undefined): Clues {
  const { annotations, labels, managedFields } = object.metadata;
  const named = namedBy(object);
  const field = `f:${tracking.labelKey}`;
  return {
    copied: copiesLabels(object),
    by: tracking.method === "label" ? "label" : "annotation",
    mark: whose(mark, markOf(app, tracking)),
    copy: annotations?.[META.trackingId] !== undefined && named === undefined,
    label: whose(labels?.[META.app], appLabel(app)),
    written: named === app || managedFields?.[0]?.fieldsV1?.["f:metadata"]?.["f:labels"]?.[field] !== undefined,
  };
}

function whose(said: string | undefined, own: string): "nobody" | "this" | "other" {
  if (said === undefined) return "nobody";
  return said === own ? "this" : "other";
}

function fits(clues: Clues, when: Partial<Clues>): boolean {
  for (const clue in when) if (clues[clue as keyof Clues] !== when[clue as keyof Clues]) return false;
  return true;
}

/** Whether an object was made for an application, and bears marks under which it is neither pruned nor deleted with it. */
export const isStray = (object: KubeObject, app: string, tracking: Tracking): boolean =>
  ownerOf(object, tracking) !== markOf(app, tracking) && effectiveOwner(object, app, tracking) === app;

/** What `ownerOf` says of an application's own objects. */
export const markOf = (app: string, { method }: Tracking): string => (method === "label" ? cut(app) : app);

/** Whether a label's value is a shortened name. */
export const isCutTo = (mark: string, app: string): boolean => app.length > MAX_LABEL && cut(app) === mark;

/** Whether an object has the marks that it is to have: one whose old marks are as good as these may be the same all the same. */
export const isMarked = (live: KubeObject, wanted: KubeObject, { labelKey }: Tracking): boolean =>
  [META.trackingId, META.installationId].every(
    (key) => live.metadata.annotations?.[key] === wanted.metadata.annotations?.[key],
  ) && live.metadata.labels?.[labelKey] === wanted.metadata.labels?.[labelKey];

/**
 * For a comparison: that an object is still marked by the label is no difference where the annotation is what counts now. The next sync that
 * writes it brings the new marks.
 */
export function migrated(
  object: KubeObject,
  live: KubeObject,
  wanted: KubeObject,
  { method, labelKey }: Tracking,
): KubeObject {
  if (method === "label" || !live.metadata.labels?.[labelKey]) return object;
  const { [labelKey]: label, ...others } = object.metadata.labels ?? {};
  const kept =
    wanted.metadata.labels?.[labelKey] === undefined
      ? others
      : { ...others, ...(label === undefined ? {} : { [labelKey]: label }) };
  const id = wanted.metadata.annotations?.[META.trackingId];
  const annotations = { ...object.metadata.annotations, ...(id === undefined ? {} : { [META.trackingId]: id }) };
  return { ...object, metadata: { ...object.metadata, labels: kept, annotations } };
}

/** As the ecosystem shortens it: to 63 characters of which the last is a letter or a digit. */
const cut = (app: string): string =>
  app.length <= MAX_LABEL ? app : app.slice(0, MAX_LABEL).replace(/[^A-Za-z0-9]+$/, "");
