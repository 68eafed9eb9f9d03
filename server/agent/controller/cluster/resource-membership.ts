import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { instanceOf } from "../../project/instance.ts";
import type { Application } from "../application.ts";
import type { Destination } from "../destination.ts";
import { belongs } from "../projects.ts";
import { effectiveOwner, ownerOf } from "../tracking.ts";
import { trim } from "./live.ts";

/** One object, as people name it; the version is optional. */
export interface ResourceKey {
  group?: string;
  version?: string;
  kind: string;
  namespace?: string;
  name: string;
}

export const NOT_PART = "NotPartOfApplication";
// Deployment, ReplicaSet, Pod, and the levels that an operator adds above and below.
const GENERATIONS = 6;
const MAX_OWNERS = 4;
// Authors of owner references decide how many there are to follow; this is the bound for all together.
const MAX_LOOKS = 24;

/** Where a kind is served: in the version that is named, else in the one that the cluster prefers. */
export async function findKind(
  client: KubeClient,
  { group = "", version, kind }: ResourceKey,
): Promise<Outcome<Resource>> {
  if (version) return client.discovery.find(group, version, kind);
  const found = (await client.discovery.all()).find((resource) => resource.group === group && resource.kind === kind);
  return found ? done(found) : stop(KUBE.kindNotFound, `the cluster has no kind ${group ? `${group}/` : ""}${kind}`);
}

/** An object of the application or a child of one. Other objects of the cluster are refused. */
export async function findPart(app: Application, destination: Destination, key: ResourceKey): Promise<Outcome<Part>> {
  const kind = await findKind(destination.client, key);
  if (kind.kind !== "done") return kind;
  // The default is the namespace of the destination; people name another one only.
  const namespace = key.namespace ?? app.spec.destination.namespace;
  if (kind.value.namespaced && !namespace) return stop(NOT_PART, `name the namespace of ${key.kind} ${key.name} too`);
  const live = await destination.client.get(kind.value, kind.value.namespaced ? namespace : undefined, key.name);
  const refused = stop(NOT_PART, `${key.kind} ${key.name} is not part of application ${app.metadata.name}`);
  // Readers who may not see an object do not learn whether it exists.
  if (live.kind !== "done") return live.reason === KUBE.notFound ? refused : live;
  const part = { object: live.value, resource: kind.value };
  if (await isPart(app, destination, live.value, GENERATIONS, { left: MAX_LOOKS })) return done(part);
  return isAwaited(app, destination, live.value) && (await isShown(app, destination, live.value))
    ? done({ ...part, unowned: true })
    : refused;
}

export interface Part {
  object: KubeObject;
  resource: Resource;
  /** It has no owner yet: where the project has an account, no more than that account may see is shown. */
  unowned?: boolean;
}

async function isPart(
  app: Application,
  destination: Destination,
  object: KubeObject,
  generations: number,
  looks: { left: number },
): Promise<boolean> {
  if (belongs(app, destination)(object)) return true;
  // The children of an object without an owner are shown only where there is no account that might see less.
  if (destination.writer === destination.client && isAwaited(app, destination, object))
    return !(await isOthers(app, destination, object, generations, { left: MAX_LOOKS }));
  if (generations === 0) return false;
  const { namespace } = object.metadata;
  for (const owner of (object.metadata.ownerReferences ?? []).slice(0, MAX_OWNERS)) {
    if (looks.left-- <= 0) return false;
    const { group, version, kind } = gvkOf(owner);
    const found = await destination.client.discovery.find(group, version, kind);
    if (found.kind !== "done") continue;
    const above = await destination.client.get(found.value, found.value.namespaced ? namespace : undefined, owner.name);
    if (above.kind !== "done" || above.value.metadata.uid !== owner.uid) continue;
    if (await isPart(app, destination, above.value, generations - 1, looks)) return true;
  }
  for (const { group = "", version, kind, name } of namesakes(app, object).slice(0, MAX_LOOKS)) {
    const found = await destination.client.discovery.find(group, version, kind);
    const above = found.kind === "done" ? await destination.client.get(found.value, namespace, name) : found;
    if (above.kind === "done" && isNamedAfter(object, above.value) && belongs(app, destination)(above.value))
      return true;
  }
  return false;
}

/** It is in Git and existed before, so it has no mark yet. */
function isAwaited(app: Application, { refuse, settings }: Destination, object: KubeObject): boolean {
  const { namespace, name } = object.metadata;
  const { group, kind } = gvkOf(object);
  if (ownerOf(object, settings.tracking) !== undefined || refuse?.(object)) return false;
  return (app.status?.resources ?? []).some(
    (row) =>
      (row.group ?? "") === group &&
      row.kind === kind &&
      row.name === name &&
      (row.namespace ?? "") === (namespace ?? ""),
  );
}

/** Whether an object of Git is shown. Objects of another application and their children are not, whatever the account may read. */
export async function isShown(app: Application, destination: Destination, object: KubeObject): Promise<boolean> {
  if (destination.refuse?.(object)) return false;
  if (belongs(app, destination)(object)) return true;
  if (await isOthers(app, destination, object, GENERATIONS, { left: MAX_LOOKS })) return false;
  return isVisible(destination, object);
}

/** Whether another application owns an object or one of its ancestors. */
async function isOthers(
  app: Application,
  destination: Destination,
  object: KubeObject,
  generations: number,
  looks: { left: number },
): Promise<boolean> {
  const { own, settings } = destination;
  const instance = instanceOf(app, own);
  if (ownerOf(object, settings.tracking) !== undefined)
    return effectiveOwner(trim(object), instance, settings.tracking) !== instance;
  // It has more owners than can be followed: it counts as owned.
  if (generations === 0) return true;
  for await (const above of ownersOf(destination, object, looks))
    if (above === "unknown" || (await isOthers(app, destination, above, generations - 1, looks))) return true;
  return false;
}

/** The ancestors of an object, as far as they exist and can be followed. */
async function* ownersOf(
  { client }: Destination,
  object: KubeObject,
  looks: { left: number },
): AsyncGenerator<KubeObject | "unknown"> {
  const { namespace } = object.metadata;
  const named = namedAfter(object).map((one) => ({ ...one, uid: undefined }));
  for (const { apiVersion, kind: of, name, uid } of [...(object.metadata.ownerReferences ?? []), ...named]) {
    if (looks.left-- <= 0) {
      yield "unknown";
      return;
    }
    const { group, version, kind } = gvkOf({ apiVersion, kind: of });
    const found = await client.discovery.find(group, version, kind);
    const above =
      found.kind === "done"
        ? await client.get(found.value, found.value.namespaced ? namespace : undefined, name)
        : found;
    if (above.kind === "again") yield "unknown";
    if (
      above.kind === "done" &&
      (uid === undefined ? isNamedAfter(object, above.value) : above.value.metadata.uid === uid)
    )
      yield above.value;
  }
}

/** The possible parents of an object without an owner reference, by its name. */
function namedAfter({
  apiVersion,
  kind,
  metadata: { name },
}: KubeObject): { apiVersion: string; kind: string; name: string }[] {
  if (apiVersion !== "v1") return [];
  if (kind === "Endpoints") return [{ apiVersion: "v1", kind: "Service", name }];
  if (kind !== "PersistentVolumeClaim" || !/-\d+$/.test(name)) return [];
  const words = name.split("-").slice(0, -1);
  return words
    .slice(1)
    .map((_, i) => ({ apiVersion: "apps/v1", kind: "StatefulSet", name: words.slice(i + 1).join("-") }));
}

/** It has no owner: then it is shown only if the project's account may read it. */
async function isVisible({ client, writer }: Destination, object: KubeObject): Promise<boolean> {
  if (writer === client) return true;
  const { group, version, kind } = gvkOf(object);
  const found = await client.discovery.find(group, version, kind);
  return (
    found.kind === "done" &&
    (await writer.get(found.value, object.metadata.namespace, object.metadata.name)).kind === "done"
  );
}

/** The objects of the application that could be the parent of an object without an owner reference. */
function namesakes(app: Application, object: KubeObject) {
  const above = NAMED[`${gvkOf(object).group}/${object.kind}`];
  return (app.status?.resources ?? []).filter(
    (row) => `${row.group ?? ""}/${row.kind}` === above && row.namespace === object.metadata.namespace,
  );
}

/** Kinds whose objects name no owner: they are known by their names. */
export const NAMED: Readonly<Record<string, string>> = {
  "/Endpoints": "/Service",
  "/PersistentVolumeClaim": "apps/StatefulSet",
};

/** Whether one object is a child of another by name only: Endpoints are named after their Service, a claim after its template and set. */
export function isNamedAfter(object: KubeObject, above: KubeObject): boolean {
  const { name, namespace } = object.metadata;
  if (NAMED[`${gvkOf(object).group}/${object.kind}`] !== `${gvkOf(above).group}/${above.kind}`) return false;
  if (namespace !== above.metadata.namespace) return false;
  if (object.kind === "Endpoints") return name === above.metadata.name;
  const templates = (above.spec?.volumeClaimTemplates ?? []) as { metadata?: { name?: string } }[];
  return templates.some(({ metadata }) => {
    const begins = `${metadata?.name}-${above.metadata.name}-`;
    return name.startsWith(begins) && /^\d+$/.test(name.slice(begins.length));
  });
}
