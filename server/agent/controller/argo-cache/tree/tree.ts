import { compare } from "../../../../base/lang/compare.ts";
import { inParallel } from "../../../../base/process/parallel.ts";
import { gvkOf, type KubeObject } from "../../../../kube/object.ts";
import type { Application } from "../../application.ts";
import { Below, type BelowOptions } from "../../cluster/below.ts";
import { descendants } from "../../cluster/descendants.ts";
import { isNamedAfter } from "../../cluster/resource-membership.ts";
import type { Destination } from "../../destination.ts";
import type { HostInfo } from "./hosts.ts";
import { missingNode, nodeOf, type ResourceNode, type ResourceRef, refOf } from "./node.ts";
import type { Part } from "./parts.ts";

/** The objects of an application and their children, in the form that argocd-server reads. */
export interface ApplicationTree {
  nodes?: ResourceNode[];
  orphanedNodes?: ResourceNode[];
  hosts?: HostInfo[];
  shardsCount?: number;
}

export interface TreeParts {
  nodes: ResourceNode[];
  /** The Pods among them, for the hosts. */
  pods: KubeObject[];
  /** Something is still changing: the tree will soon be different. */
  unsettled: boolean;
}

interface Look {
  app: Application;
  destination: Destination;
  customLabels: readonly string[];
  share: BelowOptions["share"];
}

/** The nodes of an application, sorted as readers expect. */
export async function treeNodes(look: Look, parts: readonly Part[]): Promise<TreeParts> {
  const missing = parts.flatMap(({ target, live }) => (live || !target ? [] : missingNode(target.object)));
  const roots = parts.flatMap(({ live }) => live ?? []);
  const { nodes, objects } = await nodesOf(look, roots);
  const all = [...missing, ...nodes];
  return {
    nodes: all.sort(byFullName),
    pods: objects.filter(({ kind, apiVersion }) => kind === "Pod" && apiVersion === "v1"),
    unsettled:
      all.some(({ health }) => health?.status === "Progressing") ||
      objects.some(({ metadata }) => metadata.deletionTimestamp !== undefined),
  };
}

// Orphans beyond this number are listed without their state.
const MAX_READ = 100;
const MAX_ORPHANS = 500;
const READERS = 6;

/** The orphans of the namespace and their children; `found` has the metadata only. */
export async function orphanNodes(look: Look, found: readonly KubeObject[]): Promise<ResourceNode[]> {
  const { client } = look.destination;
  const roots = found.slice(0, MAX_ORPHANS);
  await inParallel(
    [...roots.keys()].slice(0, MAX_READ),
    async (i) => {
      const { group, version, kind } = gvkOf(roots[i]!);
      const resource = await client.discovery.find(group, version, kind);
      const { namespace, name } = roots[i]!.metadata;
      const got = resource.kind === "done" ? await client.get(resource.value, namespace, name) : resource;
      if (got.kind === "done") roots[i] = got.value;
    },
    READERS,
  );
  const { nodes } = await nodesOf(look, roots);
  return nodes.sort(byFullName).slice(0, MAX_ORPHANS);
}

/** These objects and all their descendants. */
async function nodesOf(
  { app, destination, customLabels, share }: Look,
  roots: readonly KubeObject[],
): Promise<{ nodes: ResourceNode[]; objects: KubeObject[] }> {
  const { settings, client } = destination;
  const { judge } = settings;
  const below = new Below(destination, { home: app.spec.destination.namespace, share });
  const found = permitted(destination, roots, descendants(roots, await below.of(roots)));
  await below.complete(found);
  const objects = [...roots, ...found.map(({ object }) => object)];
  await judge.prepare([objects]);

  const byUid = new Map(objects.map((object) => [object.metadata.uid, object]));
  const parentsOf = async (object: KubeObject, parents: readonly string[]): Promise<ResourceRef[]> => {
    const refs: ResourceRef[] = [];
    for (const { apiVersion, kind, name, uid } of object.metadata.ownerReferences ?? []) {
      const { group, version } = gvkOf({ apiVersion, kind });
      const known = byUid.get(uid);
      const resource = known ? undefined : await client.discovery.find(group, version, kind);
      const namespaced =
        resource?.kind === "done" ? resource.value.namespaced : known?.metadata.namespace !== undefined;
      refs.push(
        refOf({ group, version, kind, namespace: namespaced ? object.metadata.namespace : undefined, name, uid }),
      );
    }
    // Children without an owner reference are found by their names.
    for (const uid of parents) {
      const above = byUid.get(uid);
      if (!above || refs.some((ref) => ref.uid === uid) || !isNamedAfter(object, above)) continue;
      refs.push(refOf({ ...gvkOf(above), namespace: above.metadata.namespace, name: above.metadata.name, uid }));
    }
    return refs;
  };
  const nodes: ResourceNode[] = [];
  for (const object of roots) nodes.push(nodeOf(object, judge.of(object), await parentsOf(object, []), customLabels));
  for (const { object, parents } of found)
    nodes.push(nodeOf(object, judge.of(object), await parentsOf(object, parents), customLabels));
  return { nodes, objects };
}

/** Objects that the project does not permit are not shown, nor their children. */
function permitted(
  destination: Destination,
  roots: readonly KubeObject[],
  found: { object: KubeObject; parents: string[] }[],
) {
  if (!destination.refuse) return found;
  const shown = new Set(roots.map(({ metadata }) => metadata.uid));
  return found.filter(({ object, parents }) => {
    if (destination.refuse!(object) || !parents.some((uid) => shown.has(uid))) return false;
    shown.add(object.metadata.uid);
    return true;
  });
}

const fullName = ({ group = "", kind, namespace = "", name }: ResourceNode): string =>
  `${group}/${kind}/${namespace}/${name}`;
function byFullName(a: ResourceNode, b: ResourceNode): number {
  return compare(fullName(a), fullName(b));
}

/** A tree in pieces of so many items; the first one says how many there are. Without a size it is one piece. */
export function shardsOf(
  { nodes = [], orphanedNodes = [], hosts = [] }: ApplicationTree,
  size: number,
): ApplicationTree[] {
  const whole = treeOf(nodes, orphanedNodes, hosts);
  if (size <= 0) return [whole];
  const shards: ApplicationTree[] = [];
  const total = nodes.length + orphanedNodes.length + hosts.length;
  for (let from = 0; from < total; from += size) {
    const [orphansFrom, hostsFrom] = [from - nodes.length, from - nodes.length - orphanedNodes.length];
    const part = <T>(items: readonly T[], start: number) => items.slice(Math.max(0, start), Math.max(0, start + size));
    shards.push(treeOf(part(nodes, from), part(orphanedNodes, orphansFrom), part(hosts, hostsFrom)));
  }
  if (shards.length === 0) return [whole];
  shards[0]!.shardsCount = shards.length;
  return shards;
}

const treeOf = (nodes: ResourceNode[], orphanedNodes: ResourceNode[], hosts: HostInfo[]): ApplicationTree => ({
  ...(nodes.length ? { nodes } : {}),
  ...(orphanedNodes.length ? { orphanedNodes } : {}),
  ...(hosts.length ? { hosts } : {}),
});
