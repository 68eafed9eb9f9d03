import type { KubeObject } from "../../../kube/object.ts";
import type { LiveApplication } from "../../appset/reconcile/application.ts";
import { reconcileSet } from "../../appset/reconcile/reconcile.ts";
import type { ApplicationSet, SetCondition } from "../../appset/types.ts";
import { clusterWorld } from "../../appset/world/cluster-world.ts";
import { lookIntegrity } from "../../controller/config/integrity.ts";
import type { Deps } from "../../controller/deps.ts";
import { lookAccess } from "../../controller/loop/look.ts";
import { differing, pointer } from "../../link/queries/fields.ts";
import { instanceOf } from "../../project/instance.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { Differing } from "./first-look.ts";

export interface SetsAsk {
  deps: Deps;
  /** The Secrets of clusters. */
  clusters: readonly KubeObject[];
  /** The only hosts that generators may ask; undefined allows all. */
  providers: readonly string[] | undefined;
}

/** What a set would do with its applications, or why it does not come so far. */
export interface LookedAtSet {
  found: Differing[];
  unknown?: string | undefined;
  /** Argo CD has the same trouble. */
  there: boolean;
}

/** One look of the set controller at a set, with a client that stores nothing: what it writes all the same is what would change. */
export async function firstLookAtSet(ask: SetsAsk, set: ApplicationSet): Promise<LookedAtSet> {
  const { deps, clusters, providers } = ask;
  const { namespace = deps.namespace } = set.metadata;
  const found: Differing[] = [];
  const name = (app: string) => instanceOf({ metadata: { name: app, namespace } }, deps.namespace);
  const note = (app: string, change: Differing["change"], fields: string[] = []) =>
    found.push({ application: name(app), object: `Application ${name(app)}`, change, fields, atOnce: true });
  const here = deps.store.all().filter((app) => (app.metadata.namespace ?? deps.namespace) === namespace);
  const live = new Map(here.map((app) => [app.metadata.name, app as LiveApplication]));
  let { status } = set;
  await reconcileSet(
    {
      home: deps.home,
      namespace,
      world: clusterWorld({
        home: deps.home,
        namespace,
        repo: deps.repo,
        access: (url, project, tenant) => lookAccess(deps, url, project, tenant),
        integrity: (url, project) => lookIntegrity(deps, url, project),
        tenant: tenantOf(set),
        // As in the controller: sets in other namespaces must not have hosts called.
        allowedProviders: providers ?? (namespace === deps.namespace ? undefined : []),
        clusters: () => clusters,
      }),
      applications: {
        get: (app) => live.get(app),
        all: () => live.values(),
        seen: (app) => {
          const before = live.get(app.metadata.name);
          live.set(app.metadata.name, app);
          const fields = before ? differing(written(before), written(app)).map(pointer) : [];
          if (!before) note(app.metadata.name, "create");
          else if (app.operation && !before.operation) note(app.metadata.name, "sync");
          else if (fields.length) note(app.metadata.name, "update", fields);
        },
      },
      known: () => undefined,
      gave: () => undefined,
      happened: (_, reason, message) => {
        const app = reason === "Deleted" ? /"(.*)"/.exec(message)?.[1] : undefined;
        if (app !== undefined) note(app, "delete");
      },
      written: (after) => {
        status = after.status;
      },
      now: deps.now,
    },
    set,
  );
  const error = errorOf(status?.conditions);
  return {
    found,
    unknown: error && `${error.reason}: ${error.message}`,
    there: errorOf(set.status?.conditions) !== undefined,
  };
}

const errorOf = (conditions: readonly SetCondition[] = []): SetCondition | undefined =>
  conditions.find(({ type, status }) => type === "ErrorOccurred" && status === "True");

/** What a set writes of an application. */
const written = ({ metadata, spec, operation }: LiveApplication) => {
  const { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] } = metadata;
  return { metadata: { labels, annotations, finalizers, ownerReferences }, spec, operation };
};
