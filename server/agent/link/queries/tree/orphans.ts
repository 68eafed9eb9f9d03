import { done, type Outcome, stop } from "../../../../base/outcome.ts";
import { KUBE } from "../../../../kube/errors.ts";
import type { KubeObject } from "../../../../kube/object.ts";
import { RESOURCES, resourcePath } from "../../../../kube/path.ts";
import { isOrphan, mayBeOrphaned, orphansOf } from "../../../controller/cluster/orphans.ts";
import { findKind, NOT_PART, type ResourceKey } from "../../../controller/cluster/resource-membership.ts";
import type { ReadOnlyContext } from "../read-only-context.ts";
import { type Node, nodeOf } from "./nodes.ts";

/** What of the namespace belongs to no application, where the project looks for it. */
export async function orphansIn(readOnlyContext: ReadOnlyContext): Promise<Outcome<Node[]>> {
  const { app, destination, project } = readOnlyContext;
  if (!project.orphanedResources) return done([]);
  const exists = await applications(readOnlyContext);
  if (exists.kind !== "done") return exists;
  const found = await orphansOf(destination, project, app, exists.value);
  return done(
    found
      .map((object) => nodeOf(object, undefined))
      .sort((a, b) => (`${a.kind} ${a.name}` < `${b.kind} ${b.name}` ? -1 : 1)),
  );
}

/** One of them, to be looked at. An object that is not an orphan is answered like a missing one. */
export async function findOrphan(readOnlyContext: ReadOnlyContext, key: ResourceKey): Promise<Outcome<KubeObject>> {
  const { app, destination, project, reads } = readOnlyContext;
  const none = stop(NOT_PART, `${key.kind} ${key.name} is not part of application ${app.metadata.name}`);
  const { namespace } = app.spec.destination;
  if (!project.orphanedResources || !namespace || key.namespace !== namespace) return none;
  const resource = await findKind(destination.client, key);
  if (resource.kind !== "done") return resource;
  if (!mayBeOrphaned(destination, resource.value)) return none;
  // Where the project has an account, an orphan is shown only if that account may read it.
  const account = destination.writer.config.impersonate;
  const eyes =
    destination.writer !== destination.client && account ? reads.as(destination, account) : destination.client;
  const path = resourcePath(resource.value, namespace, key.name);
  const got = (await eyes.json("GET", path, { deadlineMs: 10_000 })) as Outcome<KubeObject>;
  if (got.kind !== "done") return got.reason === KUBE.notFound || got.reason === KUBE.forbidden ? none : got;
  const exists = await applications(readOnlyContext);
  if (exists.kind !== "done") return exists;
  return isOrphan({ destination, project, app, exists: exists.value }, got.value, resource.value) ? got : none;
}

async function applications({ deps }: ReadOnlyContext): Promise<Outcome<(name: string) => boolean>> {
  const all = await deps.home.list(RESOURCES.application, { namespace: deps.namespace });
  if (all.kind !== "done") return all;
  const names = new Set(all.value.items.map(({ metadata }) => metadata.name));
  // Applications in other namespaces (`namespace_name`) are not listed here: what is marked as theirs is no orphan.
  return done((name) => names.has(name) || name.includes("_"));
}
