import { done, type Outcome } from "../../../../base/outcome.ts";
import { inParallel } from "../../../../base/process/parallel.ts";
import { KUBE } from "../../../../kube/errors.ts";
import { type KubeObject, keyOf } from "../../../../kube/object.ts";
import type { Resource } from "../../../../kube/path.ts";
import { type Application, META, type ResourceStatus } from "../../../controller/application.ts";
import { Below } from "../../../controller/cluster/below.ts";
import { descendants } from "../../../controller/cluster/descendants.ts";
import { isShown } from "../../../controller/cluster/resource-membership.ts";
import { hookOf } from "../../../controller/order.ts";
import { belongs } from "../../../controller/projects.ts";
import { appLabel } from "../../../controller/tracking.ts";
import { defined } from "../../deliveries/spec.ts";
import { type ReadOnlyContext, withReadOnlyContext } from "../read-only-context.ts";
import { objectOf, type Read } from "../task.ts";
import { type Node, nodeOf } from "./nodes.ts";
import { orphansIn } from "./orphans.ts";

/** A tree of more lines is not read by anybody. */
const MAX_NODES = 2_000;
const MAX_ORPHANS = 500;
const PARALLEL = 6;

/** The objects of an application and their children. */
export const applicationTree: Read = async (tc, task) => {
  const app = await objectOf(tc, task, "applications");
  if (app.kind !== "done") return app;
  return withReadOnlyContext(tc, app.value as Application, async (readOnlyContext) => {
    const gathering = new Below(readOnlyContext.destination, { home: readOnlyContext.app.spec.destination.namespace });
    const roots = await rootsOf(readOnlyContext, gathering);
    if (roots.kind !== "done") return roots;
    const present = parentsIn(roots.value);
    const below = descendants(present, await gathering.of(present));
    const { judge } = readOnlyContext.destination.settings;
    const shown = below.slice(0, Math.max(0, MAX_NODES - roots.value.size));
    await gathering.complete(shown);
    await judge.prepare([[...roots.value.values()].map(({ object }) => object), shown.map(({ object }) => object)]);
    const nodes = [...roots.value.values()]
      .slice(0, MAX_NODES)
      .map(({ object, row }) => rootNode(object, row, object && judge.of(object)));
    for (const { object, parents } of shown) nodes.push(nodeOf(object, judge.of(object), { parents }));
    const orphans = await orphansIn(readOnlyContext);
    if (orphans.kind !== "done") return orphans;
    const truncated =
      gathering.truncated || nodes.length < roots.value.size + below.length || orphans.value.length > MAX_ORPHANS;
    return done(
      defined({
        nodes,
        orphans: orphans.value.length ? orphans.value.slice(0, MAX_ORPHANS) : undefined,
        truncated: truncated || undefined,
        unseen: gathering.unseen.length ? gathering.unseen : undefined,
      }),
    );
  });
};

interface Root {
  row?: ResourceStatus;
  object?: KubeObject;
  /** It has no owner yet, and an account writes for the project: its children may be more than that account sees. */
  unowned?: boolean;
}

/** The roots whose children are shown. */
export const parentsIn = (roots: ReadonlyMap<string, Root>): KubeObject[] =>
  [...roots.values()].flatMap(({ object, unowned }) => (object && !unowned ? object : []));

function rootNode(
  object: KubeObject | undefined,
  row: ResourceStatus | undefined,
  health: ReturnType<typeof Object> | undefined,
): Node {
  const { group, version = "", kind = "", namespace, name = "", status } = row ?? {};
  if (object) return nodeOf(object, health, defined({ status, hook: hookOf(object) ? true : undefined }));
  return defined({
    group: group || undefined,
    version,
    kind,
    namespace,
    name,
    status,
    health: row?.health?.status,
    message: row?.health?.message,
  }) as Node;
}

/** Git's objects and former ones that still exist, each with its live state; hooks too. */
export async function rootsOf(
  { app, destination }: ReadOnlyContext,
  below: Below,
): Promise<Outcome<Map<string, Root>>> {
  const roots = new Map<string, Root>();
  const rows = (app.status?.resources ?? []).slice(0, MAX_NODES);
  for (const row of rows) roots.set(keyOf(shapeOf(row)), { row });
  const hooks = (app.status?.operationState?.syncResult?.resources ?? []).filter(({ hookType }) => hookType);
  const places = new Map<string, { resource: Resource; namespace: string | undefined }>();
  for (const { group = "", version, kind, namespace } of [...rows, ...hooks]) {
    const found = await destination.client.discovery.find(group, version, kind);
    if (found.kind !== "done") {
      if (found.reason !== KUBE.kindNotFound) return found;
      continue;
    }
    const at = found.value.namespaced ? namespace || undefined : undefined;
    places.set(`${group}/${kind}@${at ?? ""}`, { resource: found.value, namespace: at });
  }
  const mine = belongs(app, destination);
  const labelSelector = `${META.app}=${appLabel(app.metadata.name)}`;
  await inParallel(
    [...places.values()],
    async ({ resource, namespace }) => {
      for (const object of await below.list(resource, namespace, { labelSelector })) {
        const root = roots.get(keyOf(object));
        if (root) root.object = object;
        else if (mine(object)) roots.set(keyOf(object), { object });
      }
    },
    PARALLEL,
  );
  // Objects that another program deployed, or that have no mark yet.
  const missing = [...roots.values()].filter(({ object, row }) => !object && row && row.health?.status !== "Missing");
  await inParallel(
    missing,
    async (root) => {
      const { group = "", version, kind, namespace, name } = root.row!;
      const found = await destination.client.discovery.find(group, version, kind);
      if (found.kind !== "done" || destination.refuse?.(shapeOf(root.row!), found.value)) return;
      const got = await destination.client.get(found.value, found.value.namespaced ? namespace : undefined, name);
      if (got.kind !== "done" || !(await isShown(app, destination, got.value))) return;
      root.object = got.value;
      root.unowned = destination.writer !== destination.client && !mine(got.value);
    },
    PARALLEL,
  );
  return done(roots);
}

const shapeOf = ({ group, version, kind, namespace, name }: ResourceStatus): KubeObject => ({
  apiVersion: group ? `${group}/${version}` : version,
  kind,
  metadata: { name, ...(namespace ? { namespace } : {}) },
});
