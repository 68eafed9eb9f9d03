import type { Schemas } from "../../../../../openapi/client.ts";
import { done, type Outcome } from "../../../../base/outcome.ts";
import type { KubeClient } from "../../../../kube/client.ts";
import { gvkOf, type KubeObject } from "../../../../kube/object.ts";
import { type Resource, resourcePath } from "../../../../kube/path.ts";
import type { Application } from "../../../controller/application.ts";
import { Below } from "../../../controller/cluster/below.ts";
import { descendants } from "../../../controller/cluster/descendants.ts";
import { defined } from "../../deliveries/spec.ts";
import { type ReadOnlyContext, withReadOnlyContext } from "../read-only-context.ts";
import { objectOf, type Read } from "../task.ts";
import { parentsIn, rootsOf } from "../tree/tree.ts";

type Events = Schemas["ApplicationEvents"];
type Event = Events["items"][number];

const EVENT: Resource = { group: "", version: "v1", kind: "Event", plural: "events", namespaced: true };
const PAGE = 500;
// Kubernetes keeps an hour of them; a namespace that has more in an hour says little by each.
const MAX_LOOKED = 5_000;
const MAX_NAMESPACES = 20;
const MESSAGE = 2_048;

/** The Kubernetes events of an application, its objects and their children; the newest first. */
export const applicationEvents: Read = async (tc, task) => {
  const found = await objectOf(tc, task, "applications");
  if (found.kind !== "done") return found;
  const limit = Math.min(Number(task.params.limit ?? 100) || 100, PAGE);
  const only = (task.params.resource ?? {}) as Partial<Record<"group" | "kind" | "namespace" | "name", unknown>>;
  return withReadOnlyContext(tc, found.value as Application, async (readOnlyContext): Promise<Outcome<Events>> => {
    const parts = await partsOf(readOnlyContext);
    if (parts.kind !== "done") return parts;
    const { app, deps, destination } = readOnlyContext;
    const about = new Set([...parts.value.objects, app].map(({ metadata }) => metadata.uid));
    const looks = [
      // Events of cluster-wide objects are in `default`.
      ...[...new Set(parts.value.objects.map(({ metadata }) => metadata.namespace ?? "default"))].map((namespace) => ({
        client: destination.client,
        namespace,
      })),
    ].slice(0, MAX_NAMESPACES);
    const own = {
      client: deps.home,
      namespace: app.metadata.namespace ?? deps.namespace,
      fieldSelector: `involvedObject.uid=${app.metadata.uid}`,
    };
    const events: Event[] = [];
    let truncated = parts.value.truncated;
    for (const look of [own, ...looks]) {
      const told = await eventsIn(look);
      if (told.kind !== "done") return told;
      truncated ||= told.value.truncated;
      for (const event of told.value.items) {
        const {
          uid,
          kind,
          namespace,
          name,
          apiVersion = "v1",
        } = (event.involvedObject ?? {}) as Record<string, string | undefined>;
        if (!uid || !kind || !name || !about.has(uid)) continue;
        const object = { ...gvkOf({ apiVersion, kind }), namespace, name };
        const asked = (["group", "kind", "namespace", "name"] as const).every(
          (key) => only[key] === undefined || only[key] === object[key],
        );
        if (asked) events.push(shown(event, object));
      }
    }
    events.sort((a, b) => ((a.at ?? "") < (b.at ?? "") ? 1 : -1));
    return done(
      defined({ items: events.slice(0, limit), truncated: truncated || events.length > limit || undefined }) as Events,
    );
  });
};

/** All that the application's tree shows, as it is now. */
export async function partsOf(
  readOnlyContext: ReadOnlyContext,
): Promise<Outcome<{ objects: KubeObject[]; parents: Map<KubeObject, string[]>; truncated: boolean }>> {
  const gathering = new Below(readOnlyContext.destination, { home: readOnlyContext.app.spec.destination.namespace });
  const roots = await rootsOf(readOnlyContext, gathering);
  if (roots.kind !== "done") return roots;
  const present = parentsIn(roots.value);
  const below = descendants(present, await gathering.of(present));
  const parents = new Map(below.map(({ object, parents }) => [object, parents]));
  return done({ objects: [...present, ...below.map(({ object }) => object)], parents, truncated: gathering.truncated });
}

async function eventsIn(look: {
  client: KubeClient;
  namespace: string;
  fieldSelector?: string;
}): Promise<Outcome<{ items: KubeObject[]; truncated: boolean }>> {
  const items: KubeObject[] = [];
  const { client, namespace, fieldSelector } = look;
  let next: string | undefined;
  do {
    const page = await client.json<{ items?: KubeObject[]; metadata?: { continue?: string } }>(
      "GET",
      resourcePath(EVENT, namespace),
      {
        query: { limit: PAGE, continue: next, fieldSelector },
      },
    );
    if (page.kind !== "done") return page;
    for (const item of page.value.items ?? []) items.push(item);
    next = page.value.metadata?.continue || undefined;
  } while (next && items.length < MAX_LOOKED);
  return done({ items, truncated: next !== undefined });
}

function shown(
  event: KubeObject,
  object: { group: string; version: string; kind: string; namespace: string | undefined; name: string },
): Event {
  const { series, source, reportingComponent } = event;
  const at = series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
  const first = event.firstTimestamp ?? event.eventTime;
  return defined({
    ...object,
    group: object.group || undefined,
    type: event.type || undefined,
    reason: String(event.reason ?? ""),
    message: String(event.message ?? "").slice(0, MESSAGE),
    count: series?.count ?? event.count ?? undefined,
    source: source?.component || reportingComponent || undefined,
    firstAt: first ?? undefined,
    at: at ?? undefined,
  }) as Event;
}
