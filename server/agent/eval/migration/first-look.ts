import { type KubeObject, objectKey } from "../../../kube/object.ts";
import { type Application, type ResourceStatus, revisionsOf } from "../../controller/application.ts";
import type { CompareTarget } from "../../controller/compare/normalise.ts";
import { isOpen } from "../../controller/config/policy.ts";
import { skips } from "../../controller/config/skips.ts";
import type { Deps } from "../../controller/deps.ts";
import { lookAt, type Seen } from "../../controller/phases/context.ts";
import { type Decided, decide } from "../../controller/phases/decide.ts";
import { fetchWanted } from "../../controller/phases/fetch.ts";
import { observeLive } from "../../controller/phases/observe.ts";
import { findPlace } from "../../controller/phases/place.ts";
import { sidesOf } from "../../controller/phases/verdict.ts";
import { Report } from "../../controller/status/report.ts";
import { appLabel } from "../../controller/tracking.ts";
import { differing, pointer } from "../../link/queries/fields.ts";
import { instanceOf } from "../../project/instance.ts";

/** What Outpost's engine would do otherwise than Argo CD. */
export interface Differing {
  application: string;
  object: string;
  /**
   * `sync`: the engine would begin a sync, with its hooks. `goes on`: it would go on with the one that Argo CD has begun or was asked for.
   * `status`: Argo CD says OutOfSync, Outpost finds nothing to write. `deletion`: the application is being deleted, and either engine deletes
   * its objects if its finalizer asks for it.
   */
  change: "create" | "update" | "delete" | "status" | "sync" | "goes on" | "deletion";
  /** Pointers of the fields that would be written. */
  fields: string[];
  /** Whether the engine writes it as soon as it has started. */
  atOnce: boolean;
}

/** What one look has found; nothing of an application that is left alone. */
export type Looked =
  | { readonly kind: "nothing" }
  | { readonly kind: "deletion" }
  | { readonly kind: "unknown"; readonly why: string }
  | { readonly kind: "differs"; readonly look: Seen; readonly decided: Decided };

/** The controller's look at an application, phase by phase, up to its decision. */
export async function firstLook(deps: Deps, app: Application): Promise<Looked> {
  if (skips(app)) return { kind: "nothing" };
  if (app.metadata.deletionTimestamp) return { kind: "deletion" };
  const report = new Report(deps, instanceOf(app, deps.namespace));
  const ended = (): Looked => {
    const [why] = report.conditions;
    return why ? { kind: "unknown", why: `${why.reason}: ${why.message}` } : { kind: "nothing" };
  };
  try {
    const placed = await findPlace(lookAt(deps, app, report));
    if (placed.kind === "end") return ended();
    const fetched = await fetchWanted(placed.value);
    if (fetched.kind === "end") return ended();
    const look = await observeLive(fetched.value);
    const [unseen] = look.unseen;
    if (unseen)
      return { kind: "unknown", why: `${unseen[1].reason}: ${unseen[0]} cannot be seen: ${unseen[1].message}` };
    return { kind: "differs", look, decided: await decide(look) };
  } finally {
    await report.drop();
  }
}

/** Whether Git has moved on since Argo CD looked. */
export const isBehind = ({ status }: Application, { look }: Looked & { kind: "differs" }): boolean =>
  revisionsOf(status?.sync).join() !== look.wanted.revisions.join();

const keyOfRow = ({ group = "", kind, namespace = "", name }: ResourceStatus): string =>
  objectKey(group, kind, namespace, name);

/** Where the verdicts are not the same, and what the engine would begin. */
export async function differingOf(
  app: Application,
  { look, decided }: Looked & { kind: "differs" },
): Promise<Differing[]> {
  const application = look.name;
  const of = (rows: readonly ResourceStatus[]) => rows.filter((row) => row.status === "OutOfSync" && !row.hook);
  const theirs = new Map(of(app.status?.resources ?? []).map((row) => [keyOfRow(row), row]));
  const running = app.operation !== undefined || isOpen(app.status?.operationState);
  const begins = decided.kind === "step" && !running;
  const found: Differing[] = [];
  for (const row of of(look.seen.resources)) {
    // Argo CD says the same of it: the engine makes no difference, unless it begins a sync.
    if (theirs.delete(keyOfRow(row)) && !begins) continue;
    found.push({ application, object: shown(row), ...(await changeOf(look, row)), atOnce: begins });
  }
  for (const row of theirs.values())
    found.push({ application, object: shown(row), change: "status", fields: [], atOnce: false });
  const object = `Application ${application}`;
  if (running && decided.kind !== "nothing")
    found.push({ application, object, change: "goes on", fields: [], atOnce: true });
  // With nothing to write it still runs hooks, and writes history.
  if (begins && !found.some(({ atOnce }) => atOnce))
    found.push({ application, object, change: "sync", fields: [], atOnce: true });
  return found;
}

/** What a sync would do with one object that differs. */
async function changeOf(look: Seen, row: ResourceStatus): Promise<Pick<Differing, "change" | "fields">> {
  if (row.requiresPruning) return { change: "delete", fields: [] };
  const key = keyOfRow(row);
  const target = look.wanted.normalised.targets.find((one) => one.key === key);
  const live = liveOf(look, key) ?? (await unmarked(look, target));
  if (!live) return { change: "create", fields: [] };
  return { change: "update", fields: target ? await fieldsOf(look, target, live) : [] };
}

function liveOf({ app, memory, destination }: Seen, key: string): KubeObject | undefined {
  return destination.live.get(key, appLabel(instanceOf(app, destination.own))) ?? memory.unlabelled.get(key);
}

/** One that is there without a mark of the application: it is written all the same. */
async function unmarked({ destination }: Seen, target: CompareTarget | undefined): Promise<KubeObject | undefined> {
  if (!target?.resource) return undefined;
  const { namespace, name } = target.object.metadata;
  const found = await destination.client.get(target.resource, namespace, name);
  return found.kind === "done" ? found.value : undefined;
}

async function fieldsOf({ app, destination }: Seen, target: CompareTarget, live: KubeObject): Promise<string[]> {
  const { client, settings } = destination;
  const sides = await sidesOf(client, target, live, { app, settings });
  return sides.kind === "done" ? differing(sides.value.live, sides.value.next).map(pointer) : [];
}

const shown = ({ group = "", kind, namespace = "", name }: ResourceStatus): string =>
  `${group ? `${group}/` : ""}${kind} ${namespace ? `${namespace}/` : ""}${name}`;
