import { createHash } from "node:crypto";
import { gvkOf, type KubeObject } from "../../kube/object.ts";
import { META } from "./application.ts";

/** The label's value for an application: its name, or a shortened one with a digest (labels end at 63 characters). */
export function appLabel(app: string): string {
  return app.length <= 63 ? app : `${app.slice(0, 50)}-${createHash("sha256").update(app).digest("hex").slice(0, 12)}`;
}

/** `app:group/Kind:namespace/name`; cluster-scoped objects carry the application's destination namespace. */
export function trackingId(app: string, object: KubeObject, destinationNamespace: string): string {
  // What has no name yet is marked all the same when it is only shown.
  const { namespace, name = "" } = object.metadata;
  return `${app}:${gvkOf(object).group}/${object.kind}:${namespace || destinationNamespace}/${name}`;
}

/** The application an object says it belongs to; undefined when its annotation was copied from another object. */
export function ownerOf(object: KubeObject): string | undefined {
  const match = /^([^:]*):([^/]*)\/([^:]*):([^/]*)\/(.*)$/.exec(object.metadata.annotations?.[META.trackingId] ?? "");
  if (!match) return undefined;
  const [, app, group, kind, namespace, name] = match;
  const own = gvkOf(object).group === group && object.kind === kind && object.metadata.name === name;
  const inPlace = object.metadata.namespace === undefined || object.metadata.namespace === namespace;
  return own && inPlace ? app : undefined;
}
