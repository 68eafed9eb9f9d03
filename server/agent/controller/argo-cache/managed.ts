import { setImmediate as turn } from "node:timers/promises";
import { digest } from "../../../base/json/canonical.ts";
import { gvkOf, type KubeObject } from "../../../kube/object.ts";
import type { Application } from "../application.ts";
import { attempt, comparing, countedOf } from "../compare/compare.ts";
import { withoutUnknownFields } from "../compare/unknown-fields.ts";
import type { Destination } from "../destination.ts";
import { hideSecrets } from "./mask.ts";
import { isSecret, type Part } from "./tree/parts.ts";

/** One object's states, each as the text of its JSON; one that is absent is the text `null`. */
export interface ResourceDiff {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
  targetState: string;
  liveState: string;
  hook?: boolean;
  normalizedLiveState: string;
  predictedLiveState: string;
  resourceVersion?: string;
  modified?: boolean;
}

// Each is a dry run by the API server. Beyond this number, Git's fields are merged over the live object here.
const MAX_TRIES = 50;
// Others work in this process too.
const EACH_TURN = 20;

/** What the entry is made of, in short: while it stays the same, so does the entry. */
export function fingerprint(parts: readonly Part[], ignoring: string, hidden: readonly string[]): string {
  const rows = parts.map(({ key, target, live, modified }) => {
    const { uid = "", resourceVersion = "" } = live?.metadata ?? {};
    return `${key} ${target?.digest ?? ""} ${uid} ${resourceVersion} ${modified}`;
  });
  return digest([rows, ignoring, hidden]);
}

/** The states of all objects, one after the other: together they may be a hundred megabytes. */
export async function* managedResources(
  app: Application,
  destination: Destination,
  parts: readonly Part[],
  hiddenAnnotations: readonly string[],
): AsyncGenerator<ResourceDiff> {
  let tries = MAX_TRIES;
  for (const [i, part] of parts.entries()) {
    if (i % EACH_TURN === EACH_TURN - 1) await turn();
    const { target, live, hook, modified } = part;
    const object = (live ?? target?.object)!;
    const shown = live && readable(live);
    const may = modified && target?.resource !== undefined && live !== undefined && tries > 0;
    if (may) tries--;
    const { normalised, predicted } = await comparedStates(app, destination, part, may);
    const states = [target?.object, shown, predicted, normalised];
    const [wanted, there, next, before] = isSecret(object) ? hideSecrets(states, hiddenAnnotations) : states;
    const { group, kind } = gvkOf(object);
    const { namespace, name, generateName } = object.metadata;
    yield {
      ...(group ? { group } : {}),
      kind,
      ...(namespace ? { namespace } : {}),
      name: name ?? generateName ?? "",
      targetState: textOf(wanted),
      liveState: textOf(there),
      ...(hook ? { hook } : {}),
      normalizedLiveState: textOf(before),
      predictedLiveState: textOf(next),
      ...(live?.metadata.resourceVersion ? { resourceVersion: live.metadata.resourceVersion } : {}),
      ...(modified ? { modified } : {}),
    };
  }
}

const textOf = (state: KubeObject | undefined): string => (state === undefined ? "null" : JSON.stringify(state));

/** As a user reads it, without `managedFields`: they are half of an object, and only our own entry is kept. */
function readable({ metadata: { managedFields: _, ...metadata }, ...rest }: KubeObject): KubeObject {
  return { ...rest, metadata } as KubeObject;
}

/** The live object without ignored fields, and the same after the next sync. */
async function comparedStates(
  app: Application,
  destination: Destination,
  { target, live, modified }: Part,
  mayTry: boolean,
): Promise<{ normalised?: KubeObject; predicted?: KubeObject }> {
  if (!target) return live ? { normalised: readable(live) } : {};
  if (!live) return { predicted: target.object };
  const how = comparing(app, destination.settings, target.object);
  const counted = (object: KubeObject) => countedOf(object, { live, wanted: target.object }, how);
  if (!modified) {
    const same = counted(live);
    return { normalised: same, predicted: same };
  }
  if (mayTry) {
    const options = app.spec.syncPolicy?.syncOptions ?? [];
    const tried = await withoutUnknownFields(target, options, () => attempt(destination.client, target, live, how));
    if (tried.kind === "done") return { normalised: tried.value.live, predicted: tried.value.next };
  }
  return { normalised: counted(live), predicted: counted(laidOver(live, target.object) as KubeObject) };
}

/** If no dry run is possible: fields in Git get Git's values, and lists are replaced as a whole. */
function laidOver(live: unknown, wanted: unknown): unknown {
  if (!isMap(live) || !isMap(wanted)) return wanted;
  return {
    ...live,
    ...Object.fromEntries(Object.entries(wanted).map(([key, value]) => [key, laidOver(live[key], value)])),
  };
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
