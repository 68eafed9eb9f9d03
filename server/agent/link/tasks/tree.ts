import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import { gvkOf, type KubeObject, keyOf } from "../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../kube/path.ts";
import { type Application, META, type ResourceStatus } from "../../controller/application.ts";
import { hookOf } from "../../controller/order.ts";
import { newest } from "../../controller/orphans.ts";
import { belongs } from "../../controller/projects.ts";
import { appLabel } from "../../controller/tracking.ts";
import { defined } from "../spec.ts";
import { type Glance, withGlance } from "./glance.ts";
import { descendants, kindsBelow, type Node, nodeOf } from "./nodes.ts";
import { orphansIn } from "./orphans.ts";
import { inParallel } from "./parallel.ts";
import { objectOf, type Read } from "./task.ts";

/** A tree of more lines is not read by anybody; of more objects than that, one answer of the cluster would not be bounded. */
const MAX_NODES = 2_000;
const MAX_LOOKED = 20_000;
const MAX_ORPHANS = 500;
const PAGE = 500;
const PARALLEL = 6;
const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

type Tree = Schemas["ResourceTree"];

/** What an application deployed, and what came of that. */
export const applicationTree: Read = async (tc, task) => {
  const app = await objectOf(tc, task, "applications");
  if (app.kind !== "done") return app;
  return withGlance(tc, app.value as Application, async (glance) => {
    const gathering = new Gathering(glance);
    const roots = await gathering.roots();
    if (roots.kind !== "done") return roots;
    const below = descendants(
      [...roots.value.values()].flatMap(({ object }) => object ?? []),
      await gathering.below([...roots.value.values()]),
    );
    const { judge } = glance.destination.settings;
    const shown = below.slice(0, Math.max(0, MAX_NODES - roots.value.size));
    await gathering.complete(shown);
    await judge.prepare([[...roots.value.values()].map(({ object }) => object), shown.map(({ object }) => object)]);
    const nodes = [...roots.value.values()].slice(0, MAX_NODES).map(({ object, row }) => rootNode(object, row, object && judge.of(object)));
    for (const { object, parents } of shown) nodes.push(nodeOf(object, judge.of(object), { parents }));
    const orphans = await orphansIn(glance);
    if (orphans.kind !== "done") return orphans;
    const truncated = gathering.truncated || nodes.length < roots.value.size + below.length || orphans.value.length > MAX_ORPHANS;
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
}

function rootNode(object: KubeObject | undefined, row: ResourceStatus | undefined, health: ReturnType<typeof Object> | undefined): Node {
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

/** Lists what may belong to one application, within bounds; what may not be seen is told by kind. */
export class Gathering {
  readonly #glance: Glance;
  readonly unseen: NonNullable<Tree["unseen"]> = [];
  truncated = false;
  #left = MAX_LOOKED;
  /** Objects of which only the metadata are known. */
  readonly #bare = new Map<KubeObject, Resource>();

  constructor(glance: Glance) {
    this.#glance = glance;
  }

  /** What Git describes and what is still there of before, with what each is now; hooks too. */
  async roots(): Promise<Outcome<Map<string, Root>>> {
    const { app, destination } = this.#glance;
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
    await inParallel([...places.values()], PARALLEL, async ({ resource, namespace }) => {
      for (const object of await this.#list(resource, namespace, { labelSelector })) {
        const root = roots.get(keyOf(object));
        if (root) root.object = object;
        else if (mine(object)) roots.set(keyOf(object), { object });
      }
    });
    // Those that another program than ours deployed, or that nobody has marked yet.
    const missing = [...roots.values()].filter(({ object, row }) => !object && row && row.health?.status !== "Missing");
    await inParallel(missing, PARALLEL, async (root) => {
      const { group = "", version, kind, namespace, name } = root.row!;
      const found = await destination.client.discovery.find(group, version, kind);
      if (found.kind !== "done" || destination.refuse?.(shapeOf(root.row!), found.value)) return;
      const got = await destination.client.get(found.value, found.value.namespaced ? namespace : undefined, name);
      if (got.kind === "done") root.object = got.value;
    });
    return done(roots);
  }

  /** Everything that may have come of these objects. */
  async below(roots: readonly Root[]): Promise<KubeObject[]> {
    const { client, settings, server } = this.#glance.destination;
    const present = roots.flatMap(({ object }) => object ?? []);
    const kinds = kindsBelow(new Set(present.map((object) => `${gvkOf(object).group}/${object.kind}`)));
    const served = newest(await client.discovery.all()).filter(
      ({ group, kind, namespaced, verbs }) =>
        namespaced &&
        verbs?.includes("list") &&
        (kinds === "any" ? !settings.excludes(group, kind, server) : kinds.has(`${group}/${kind}`)),
    );
    // What comes of an object that is in no namespace may be in that of the application.
    const home = this.#glance.app.spec.destination.namespace;
    const namespaces = new Set(present.flatMap(({ metadata }) => metadata.namespace ?? home ?? []));
    const places = [...namespaces].flatMap((namespace) => served.map((resource) => ({ resource, namespace })));
    const whole = kindsBelow(WORKLOADS) as Set<string>;
    const lists = await inParallel(places, PARALLEL, async ({ resource, namespace }) => {
      // Of kinds that hardly ever have a parent the names are enough to know.
      const bare = kinds === "any" && !whole.has(`${resource.group}/${resource.kind}`);
      const items = (await this.#list(resource, namespace, bare ? { accept: METADATA } : {})).filter(mayDescend);
      if (bare) for (const item of items) this.#bare.set(item, resource);
      return items;
    });
    return lists.flat();
  }

  /** Reads the objects that will be shown and of which only the metadata are known. */
  async complete(shown: { object: KubeObject }[]): Promise<void> {
    const { client } = this.#glance.destination;
    const open = shown.filter(({ object }) => this.#bare.has(object)).slice(0, PAGE);
    await inParallel(open, PARALLEL, async (one) => {
      const { namespace, name } = one.object.metadata;
      const got = await client.get(this.#bare.get(one.object)!, namespace, name);
      if (got.kind === "done") one.object = got.value;
    });
  }

  async #list(resource: Resource, namespace: string | undefined, ask: { labelSelector?: string; accept?: string }): Promise<KubeObject[]> {
    const { group, version, kind } = resource;
    const found: KubeObject[] = [];
    let next: string | undefined;
    do {
      if (this.#left <= 0) {
        this.truncated = true;
        break;
      }
      const page = await this.#glance.destination.client.json<{ items?: KubeObject[]; metadata?: { continue?: string } }>(
        "GET",
        resourcePath(resource, namespace),
        { query: { limit: PAGE, continue: next, labelSelector: ask.labelSelector }, ...(ask.accept ? { accept: ask.accept } : {}) },
      );
      if (page.kind !== "done") {
        const { reason } = page;
        if (reason !== KUBE.notFound)
          this.unseen.push(defined({ group: group || undefined, kind, namespace, reason }) as { kind: string; reason: string });
        break;
      }
      const items = page.value.items ?? [];
      this.#left -= items.length;
      for (const item of items) found.push({ ...item, apiVersion: group ? `${group}/${version}` : version, kind });
      next = page.value.metadata?.continue;
    } while (next);
    return found;
  }
}

const WORKLOADS = ["apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "batch/CronJob", "/Service"];
const mayDescend = (object: KubeObject): boolean =>
  Boolean(object.metadata.ownerReferences?.length) || object.kind === "Endpoints" || object.kind === "PersistentVolumeClaim";

const shapeOf = ({ group, version, kind, namespace, name }: ResourceStatus): KubeObject => ({
  apiVersion: group ? `${group}/${version}` : version,
  kind,
  metadata: { name, ...(namespace ? { namespace } : {}) },
});
