import { createHash } from "node:crypto";
import { APPLIER, FIELD_MANAGER } from "../../kube/client.ts";
import { gvkOf, type KubeObject } from "../../kube/object.ts";
import { META } from "./application.ts";

export const METHODS = ["annotation", "annotation+label", "label"] as const;

/** By what an object says whose it is. Which objects are watched is not decided by it: that is our own label, under each method. */
export interface Tracking {
  method: (typeof METHODS)[number];
  labelKey: string;
  /** Several installations that share a cluster mark theirs with it; empty for one that has none. */
  installation: string;
}

export const BY_ANNOTATION: Tracking = { method: "annotation", labelKey: "app.kubernetes.io/instance", installation: "" };

const MAX_LABEL = 63;

/** The label's value for an application: its name, or a shortened one with a digest (labels end at 63 characters). */
export function appLabel(app: string): string {
  return app.length <= MAX_LABEL ? app : `${app.slice(0, 50)}-${createHash("sha256").update(app).digest("hex").slice(0, 12)}`;
}

/** `app:group/Kind:namespace/name`; cluster-scoped objects carry the application's destination namespace. */
export function trackingId(app: string, object: KubeObject, destinationNamespace: string): string {
  // What has no name yet is marked all the same when it is only shown.
  const { namespace, name = "" } = object.metadata;
  return `${app}:${gvkOf(object).group}/${object.kind}:${namespace || destinationNamespace}/${name}`;
}

/** Puts the marks of an application on an object, and takes off those that it brought along. */
export function mark(object: KubeObject, app: string, namespace: string, { method, labelKey, installation }: Tracking): void {
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

/** After an object was given a name: what refers to itself refers to that one. */
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
    return (from === undefined || from === installation) && !copiesLabels(object) ? labels?.[labelKey] || undefined : undefined;
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

/**
 * Who has an object, as far as writing it goes: also by marks of former settings, which the next write replaces. What was written under those
 * is no more free for others than what is marked anew, and not lost to its own application for what a chart says with the label. To prune or
 * delete an object this is not enough.
 */
export function holderOf(object: KubeObject, app: string, tracking: Tracking): string | undefined {
  const [own, said] = [markOf(app, tracking), ownerOf(object, tracking)];
  const { annotations, labels, managedFields } = object.metadata;
  const watched = labels?.[META.app];
  if (copiesLabels(object)) return said;
  if (tracking.method !== "label") {
    if (said !== undefined) return said;
    if (annotations?.[META.trackingId] !== undefined && namedBy(object) === undefined) return undefined;
    return watched === appLabel(app) ? app : watched;
  }
  // Two long names may be cut to the same label; ours tells them apart.
  if (watched !== appLabel(app)) return said === undefined || said === own ? (watched ?? (said && app)) : said;
  const written = managedFields?.[0]?.fieldsV1?.["f:metadata"]?.["f:labels"]?.[`f:${tracking.labelKey}`] !== undefined;
  return said === undefined || said === own || written || namedBy(object) === app ? app : said;
}

/** Whether an object was made for an application, and bears marks under which it is neither pruned nor deleted with it. */
export const isStray = (object: KubeObject, app: string, tracking: Tracking): boolean =>
  ownerOf(object, tracking) !== markOf(app, tracking) && holderOf(object, app, tracking) === app;

/** What `ownerOf` says of an application's own objects. */
export const markOf = (app: string, { method }: Tracking): string => (method === "label" ? cut(app) : app);

/** Whether an object has the marks that it is to have: one whose old marks are as good as these may be the same all the same. */
export const isMarked = (live: KubeObject, wanted: KubeObject, { labelKey }: Tracking): boolean =>
  [META.trackingId, META.installationId].every((key) => live.metadata.annotations?.[key] === wanted.metadata.annotations?.[key]) &&
  live.metadata.labels?.[labelKey] === wanted.metadata.labels?.[labelKey];

/**
 * For a comparison: that an object is still marked by the label is no difference where the annotation is what counts now. The next sync that
 * writes it brings the new marks.
 */
export function migrated(object: KubeObject, live: KubeObject, wanted: KubeObject, { method, labelKey }: Tracking): KubeObject {
  if (method === "label" || !live.metadata.labels?.[labelKey]) return object;
  const { [labelKey]: label, ...others } = object.metadata.labels ?? {};
  const kept =
    wanted.metadata.labels?.[labelKey] === undefined ? others : { ...others, ...(label === undefined ? {} : { [labelKey]: label }) };
  const id = wanted.metadata.annotations?.[META.trackingId];
  const annotations = { ...object.metadata.annotations, ...(id === undefined ? {} : { [META.trackingId]: id }) };
  return { ...object, metadata: { ...object.metadata, labels: kept, annotations } };
}

/** As the ecosystem shortens it: to 63 characters of which the last is a letter or a digit. */
const cut = (app: string): string => (app.length <= MAX_LABEL ? app : app.slice(0, MAX_LABEL).replace(/[^A-Za-z0-9]+$/, ""));
