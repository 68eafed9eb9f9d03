import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import { instanceOf } from "../../project/instance.ts";
import { countsAsOrphan, type Project } from "../../project/project.ts";
import type { Application } from "../application.ts";
import type { Destination } from "../destination.ts";
import { heldOf } from "../projects.ts";
import { markOf, ownerOf } from "../tracking.ts";

// Names and labels only, a page a kind: more than that in one namespace is counted as that many.
const ACCEPT = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const PAGE = 500;
const PARALLEL = 4;
// The cluster makes them itself for objects that are counted already.
const DERIVED = new Set(["/Endpoints", "discovery.k8s.io/EndpointSlice"]);

/** The objects of an application's namespace that belong to no application, by `group/Kind name`. */
export async function findOrphans(
  destination: Destination,
  project: Project,
  app: Application,
  exists: (application: string) => boolean,
): Promise<string[]> {
  const found = await orphansOf(destination, project, app, exists);
  return found.map((object) => `${gvkOf(object).group}/${object.kind} ${object.metadata.name}`).sort();
}

/** The same, as far as their metadata goes. */
export async function orphansOf(
  destination: Destination,
  project: Project,
  app: Application,
  exists: (application: string) => boolean,
): Promise<KubeObject[]> {
  // Where the project has an account, an orphan is shown only if that account may read it.
  const { client, writer } = destination;
  const { namespace } = app.spec.destination;
  if (!namespace) return [];
  const kinds = newest(await client.discovery.all()).filter((resource) => mayBeOrphaned(destination, resource));
  const found: KubeObject[] = [];
  const work = async () => {
    for (let resource = kinds.pop(); resource; resource = kinds.pop()) {
      const page = await writer.json<{ items?: KubeObject[] }>("GET", resourcePath(resource, namespace), {
        query: { limit: PAGE },
        accept: ACCEPT,
      });
      // What may not be seen is not counted.
      if (page.kind !== "done") continue;
      const { group, version, kind } = resource;
      for (const item of page.value.items ?? []) {
        const object = { ...item, apiVersion: group ? `${group}/${version}` : version, kind };
        if (isOrphan({ destination, project, app, exists }, object, resource)) found.push(object);
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return found;
}

/** Kinds whose objects are looked for. */
export const mayBeOrphaned = (
  { settings, server }: Destination,
  { group, kind, namespaced, verbs }: Resource,
): boolean =>
  namespaced &&
  Boolean(verbs?.includes("list")) &&
  !DERIVED.has(`${group}/${kind}`) &&
  !settings.excludes(group, kind, server);

/** An application and the question about its orphans. */
interface Around {
  destination: Destination;
  project: Project;
  app: Application;
  /** Whether there is an application of a name. */
  exists: (application: string) => boolean;
}

/** Whether an object of the application's namespace has no owner, and the project reports such objects. */
export function isOrphan(
  { destination, project, app, exists }: Around,
  object: KubeObject,
  resource: Resource,
): boolean {
  const { server, name, own, settings } = destination;
  const { tracking } = settings;
  const owner = ownerOf(object, tracking);
  const owned = owner !== undefined && (owner === markOf(instanceOf(app, own), tracking) || exists(owner));
  if (owned || object.metadata.ownerReferences?.length) return false;
  return countsAsOrphan(project, { server, name }, heldOf(object, resource));
}

/** One version of each kind: the others show the same objects. */
export function newest(resources: readonly Resource[]): Resource[] {
  const kinds = new Map<string, Resource>();
  for (const resource of resources)
    if (!kinds.has(`${resource.group}/${resource.kind}`)) kinds.set(`${resource.group}/${resource.kind}`, resource);
  return [...kinds.values()];
}
