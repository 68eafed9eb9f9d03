import { canonical } from "../../base/json/canonical.ts";
import { readJson } from "../../base/json/nesting.ts";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import { KUBE } from "../../kube/errors.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES } from "../../kube/path.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import { TENANT } from "../project/tenant.ts";
import type { AgentContext } from "./context.ts";
import { type Marks, partsOf } from "./names.ts";

/**
 * Objects that are a part of a ConfigMap which others write too. One annotation says who owns which part, as a name in an annotation's
 * key would be too short for a host.
 */
export const ENTRIES = "outpost.dev/entries";
const PART_OF = "app.kubernetes.io/part-of";
const WRITES = 5;

interface Entry {
  uid: string;
  generation: number;
  scope: string;
  id: string;
  /** It was placed by its scope: an agent before this one put those of tenants among the agent's own. */
  placed?: true;
}
type Entries = Record<string, Entry>;
type Data = Record<string, string>;

/** Where the parts of a ConfigMap are. */
export interface Shared {
  /** The ConfigMap's name. */
  name: string;
  /** Whose ConfigMap it is; undefined for those that Argo CD reads. */
  tenant?: string | undefined;
  /** Only its owner writes it: a part without an owner belongs to another client. */
  alone: boolean;
  has(data: Data, at: string, uid: string): boolean;
  /** The data with the part, or without it. */
  with(data: Data, at: string, uid: string, value: string | undefined): Data;
}

/** The parts that are ours, and that are there. */
export function entriesIn(shared: Shared, configMap: KubeObject, account: string): Map<string, Marks> {
  const found = new Map<string, Marks>();
  const data = (configMap.data ?? {}) as Data;
  for (const [at, entry] of Object.entries(read(configMap))) {
    const marks = marksIn(entry, account);
    if (marks && shared.has(data, at, marks.uid)) found.set(at, marks);
  }
  return found;
}

/** Whether a part was placed by its scope, and not by an agent that put all scopes' parts together. */
export const isPlaced = (configMap: KubeObject, at: string): boolean => read(configMap)[at]?.placed === true;

/** Writes an object's part, never over one that another client made. */
export async function putEntry(
  ctx: AgentContext,
  shared: Shared,
  at: string,
  object: WorkerObject,
  value: string,
): Promise<Outcome<undefined>> {
  return changeConfigMap(ctx, shared, (data, entries) => {
    const held = entries[at];
    const marks = held && marksIn(held, ctx.account);
    const mine = marks && (marks.uid === object.uid || marks.key === object.key);
    const taken = held ? shared.has(data, at, held.uid) : shared.alone && shared.has(data, at, "");
    if (taken && !mine) {
      const whose = marks ? `belongs to ${marks.key} of the service` : "was not made by Outpost";
      return stop(
        "AlreadyExists",
        `${JSON.stringify(at)} of ConfigMap ${ctx.namespace}/${shared.name} ${whose} and is left as it is: delete it there, or this object`,
      );
    }
    // A replay, or overtaken on the way: the stored object is newer.
    if (marks?.uid === object.uid && marks.generation > object.generation) return done(undefined);
    // What it was called before, and the part of an object of the same name that was forgotten by force.
    const [rest, left] = without(shared, data, entries, (name, entry) => entry.uid === object.uid || name === at);
    const { scope, id } = partsOf(object.key);
    const entry: Entry = {
      uid: object.uid,
      generation: object.generation,
      scope: `${ctx.account}/${scope}`,
      id,
      placed: true,
    };
    return done({ data: shared.with(rest, at, object.uid, value), entries: { ...left, [at]: entry } });
  });
}

/** Takes out the part that is this very object's. */
export async function removeEntry(
  ctx: AgentContext,
  shared: Shared,
  object: WorkerObject,
): Promise<Outcome<undefined>> {
  return changeConfigMap(ctx, shared, (data, entries) => {
    if (!Object.values(entries).some(({ uid }) => uid === object.uid)) return done(undefined);
    const [rest, left] = without(shared, data, entries, (_, { uid }) => uid === object.uid);
    return done({ data: rest, entries: left });
  });
}

function without(
  shared: Shared,
  data: Data,
  entries: Entries,
  goes: (at: string, entry: Entry) => boolean,
): [Data, Entries] {
  let rest = data;
  const left: Entries = {};
  for (const [at, entry] of Object.entries(entries)) {
    if (goes(at, entry)) rest = shared.with(rest, at, entry.uid, undefined);
    else left[at] = entry;
  }
  return [rest, left];
}

type Change = (data: Data, entries: Entries) => Outcome<{ data: Data; entries?: Entries } | undefined>;

/** Changes a ConfigMap that others write too, on what it is at that moment. Nothing is written when nothing differs. */
export async function changeConfigMap(
  ctx: AgentContext,
  { name, tenant }: Pick<Shared, "name" | "tenant">,
  change: Change,
): Promise<Outcome<undefined>> {
  for (let attempt = 0; attempt < WRITES; attempt++) {
    const found = await ctx.client.get(RESOURCES.configMap, ctx.namespace, name);
    if (found.kind !== "done" && found.reason !== KUBE.notFound) return found;
    const existing = found.kind === "done" ? found.value : undefined;
    const before = (existing?.data ?? {}) as Data;
    const entries = existing ? read(existing) : {};
    const changed = change(before, entries);
    if (changed.kind !== "done") return changed;
    if (!changed.value) return done(undefined);
    const { data, entries: owners = entries } = changed.value;
    if (canonical({ data, owners }) === canonical({ data: before, owners: entries })) return done(undefined);
    const { [ENTRIES]: _, ...others } = existing?.metadata.annotations ?? {};
    const annotations = {
      ...others,
      ...(Object.keys(owners).length ? { [ENTRIES]: canonical(owners) } : {}),
      ...(tenant === undefined ? {} : { [TENANT]: tenant }),
    };
    // The engine finds it by this label.
    const labels = { ...existing?.metadata.labels, [PART_OF]: "argocd" };
    const metadata = { name, namespace: ctx.namespace, ...existing?.metadata, labels, annotations };
    const next: KubeObject = { apiVersion: "v1", kind: "ConfigMap", ...existing, metadata, data };
    const written = existing
      ? await ctx.client.update(RESOURCES.configMap, next)
      : await ctx.client.create(RESOURCES.configMap, next);
    if (written.kind === "done") return done(undefined);
    if (written.reason !== KUBE.conflict && written.reason !== KUBE.alreadyExists) return written;
  }
  return again(KUBE.conflict, `ConfigMap ${name} changes faster than it can be written`);
}

/** Who owns which part; an annotation that cannot be read names no owner, and then nothing is ours. */
function read(configMap: KubeObject): Entries {
  try {
    const value: unknown = readJson(configMap.metadata.annotations?.[ENTRIES] ?? "{}");
    if (value === null || typeof value !== "object" || Array.isArray(value)) return {};
    return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, Entry] => isEntry(entry[1])));
  } catch {
    return {};
  }
}

function isEntry(value: unknown): value is Entry {
  const { uid, generation, scope, id } = (value ?? {}) as Partial<Record<keyof Entry, unknown>>;
  return (
    typeof uid === "string" && typeof scope === "string" && typeof id === "string" && Number.isSafeInteger(generation)
  );
}

function marksIn({ uid, generation, scope, id }: Entry, account: string): Marks | undefined {
  return scope.startsWith(`${account}/`)
    ? { key: `${scope.slice(account.length + 1)}/${id}`, uid, generation }
    : undefined;
}
