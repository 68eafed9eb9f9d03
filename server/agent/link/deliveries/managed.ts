import { canonical } from "../../../base/json/canonical.ts";
import { again, done, type Failure, later, type Outcome, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { describe, type KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { setOf } from "../../appset/reconcile/application.ts";
import { TENANT } from "../../project/tenant.ts";
import type { AgentContext } from "../context.ts";
import { annotationsOf, MANAGED, MARK, marksOf, nameOf, tenantOfDelivery } from "../names.ts";

/** The content that a delivery gives an object, without the marks, which are the same for all. */
export interface Content {
  labels?: Record<string, string>;
  annotations?: Record<string, string | undefined>;
  /** Only for a new object; later changes of them are kept. */
  finalizers?: string[];
  /** The fields beside `metadata`. */
  fields: Record<string, unknown>;
}
export type Build = (existing: KubeObject | undefined) => Promise<Outcome<Content>> | Outcome<Content>;

const WRITES = 5;

/** Creates or updates the object of a delivery, never one that was made by another client. Nothing is written when nothing differs. */
export async function putManaged(
  ctx: AgentContext,
  resource: Resource,
  object: WorkerObject,
  build: Build,
): Promise<Outcome<KubeObject>> {
  const [name, namespace] = [nameOf(object), object.namespace ?? ctx.namespace];
  const apiVersion = resource.group ? `${resource.group}/${resource.version}` : resource.version;
  for (let attempt = 0; attempt < WRITES; attempt++) {
    const found = await ctx.client.get(resource, namespace, name);
    if (found.kind !== "done" && found.reason !== KUBE.notFound) return found;
    const existing = found.kind === "done" ? found.value : undefined;
    if (existing) {
      const refused = await mayChange(ctx, object, existing);
      if (refused) return refused;
      if (existing.metadata.deletionTimestamp)
        return later(1_000, "BeingDeleted", `${describe(existing)} is still being deleted`);
      const held = marksOf(existing, ctx.account);
      // A replay, or overtaken on the way: the stored object is newer.
      if (held?.uid === object.uid && held.generation > object.generation) return done(existing);
    }
    const content = await build(existing);
    if (content.kind !== "done") return content;
    const next = merge(
      ctx,
      { apiVersion, kind: resource.kind, metadata: { name, namespace } },
      existing,
      object,
      content.value,
    );
    if (existing && canonical(existing) === canonical(next)) return done(existing);
    const written = existing ? await ctx.client.update(resource, next) : await ctx.client.create(resource, next);
    if (written.kind === "done") return written;
    // Another client was faster: look again at the object as it is now.
    if (written.reason !== KUBE.conflict && written.reason !== KUBE.alreadyExists) return written;
  }
  return again(KUBE.conflict, `${resource.kind} ${name} changes faster than it can be written`);
}

/** Why this object must be left alone; nothing when it is ours. */
async function mayChange(
  ctx: AgentContext,
  object: WorkerObject,
  existing: KubeObject,
): Promise<ReturnType<typeof stop> | undefined> {
  const held = marksOf(existing, ctx.account);
  if (held && (held.uid === object.uid || held.key === object.key)) return undefined;
  if (object.adopt && !held) return mayAdopt(object.adopt.uid, existing);
  const set = setOf(existing);
  const other = set ? `is made by ApplicationSet ${set}` : "was not made by Outpost";
  const whose = held ? `belongs to ${held.key} of the service` : other;
  return stop(
    "AlreadyExists",
    `${describe(existing)} ${whose} and is left as it is: delete or rename it in the cluster, or choose another id`,
  );
}

/** Adopts exactly the object that the service showed, and no object that another one would create again. */
function mayAdopt(uid: string, existing: KubeObject): ReturnType<typeof stop> | undefined {
  if (existing.metadata.uid !== uid)
    return stop(
      "NotTheSame",
      `${describe(existing)} was deleted and made again since it was taken over: take the new one over, or delete it`,
    );
  const set = setOf(existing);
  return set === undefined
    ? undefined
    : stop("Generated", `${describe(existing)} is made by ApplicationSet ${set}: take the set over`);
}

function merge(
  ctx: AgentContext,
  base: KubeObject,
  existing: KubeObject | undefined,
  object: WorkerObject,
  content: Content,
): KubeObject {
  const labels = { ...existing?.metadata.labels };
  for (const key of (existing?.metadata.annotations?.[MARK.labels] ?? "").split(",")) delete labels[key];
  // Our own labels say who owns an object, so they are never taken from what a user sent.
  const given = Object.entries(content.labels ?? {}).filter(([key]) => !key.startsWith("outpost.dev/"));
  Object.assign(labels, Object.fromEntries(given), { [MANAGED]: "true" });
  const own = given
    .map(([key]) => key)
    .sort()
    .join(",");
  const annotations: Record<string, string> = {
    ...existing?.metadata.annotations,
    ...annotationsOf(object, ctx.account),
  };
  for (const [key, value] of Object.entries({ ...content.annotations, [MARK.labels]: own || undefined })) {
    if (value === undefined) delete annotations[key];
    else annotations[key] = value;
  }
  if (!tenantOfDelivery(object)) delete annotations[TENANT];
  const finalizers = existing ? existing.metadata.finalizers : content.finalizers;
  const metadata = {
    ...base.metadata,
    ...existing?.metadata,
    labels,
    annotations,
    ...(finalizers?.length ? { finalizers } : {}),
  };
  const next: KubeObject = { ...base, ...existing, metadata, ...content.fields };
  for (const [field, value] of Object.entries(content.fields)) if (value === undefined) delete next[field];
  return next;
}

/** The object of a tombstone, if it is there and is the very one that was delivered. */
export async function findOwn(
  ctx: AgentContext,
  resource: Resource,
  object: WorkerObject,
): Promise<Outcome<KubeObject | undefined>> {
  const found = await ctx.client.get(resource, object.namespace ?? ctx.namespace, nameOf(object));
  if (found.kind !== "done") return found.reason === KUBE.notFound ? done(undefined) : found;
  return done(marksOf(found.value, ctx.account)?.uid === object.uid ? found.value : undefined);
}

/** Deletes what `findOwn` found; the uid keeps a newer object of the same name. `later` until it is really gone. */
export async function deleteOwn(ctx: AgentContext, resource: Resource, own: KubeObject): Promise<Outcome<undefined>> {
  const { name, uid, namespace = ctx.namespace } = own.metadata;
  if (!own.metadata.deletionTimestamp) {
    const deleted = await ctx.client.delete(resource, namespace, name, uid ? { uid } : {});
    if (deleted.kind !== "done" && deleted.reason !== KUBE.notFound) return deleted;
  }
  const left = await ctx.client.get(resource, namespace, name);
  if (left.kind !== "done") return left.reason === KUBE.notFound ? done(undefined) : left;
  return left.value.metadata.uid === uid
    ? later(2_000, "Deleting", `${describe(own)} is being deleted`)
    : done(undefined);
}

/** The same failure, in words that say what to do when the cluster does not have the kind. */
export function explainKind(failure: Failure, kind: string): Failure {
  if (failure.reason !== KUBE.kindNotFound) return failure;
  return {
    ...failure,
    reason: "CrdMissing",
    message: `the cluster does not have the kind ${kind} of argoproj.io: install the agent's CRDs, or Argo CD`,
  };
}

/** Where there is no such kind, there is none to remove. */
export const goneKind = (failure: Failure): Outcome<undefined> =>
  failure.reason === KUBE.kindNotFound ? done(undefined) : failure;
