import { isDeepStrictEqual } from "node:util";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Outcome } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { FieldSet, KubeObject } from "../../../kube/object.ts";
import type { Application } from "../application.ts";
import { type CompareOptions, filledIn, USUAL_OPTIONS, wantsStatus } from "../config/compare-options.ts";
import { type KnownField, knownFieldsOf } from "../config/known-fields.ts";
import { withMarksOf } from "../config/own-marks.ts";
import type { Settings } from "../settings.ts";
import { BY_ANNOTATION, migrated, type Tracking } from "../tracking.ts";
import { applyOnClientSide, isClientSide } from "./client-side.ts";
import { fieldsOf, type Ignoring, ignoring, NOTHING, without } from "./ignore.ts";
import { inSpellingOf } from "./known-types.ts";
import { LAST_APPLIED } from "./last-applied.ts";
import type { CompareTarget } from "./normalise.ts";

type Json = Record<string, unknown>;

/**
 * The quick check, without a request: true when we own exactly the fields that are desired and each has its desired value. `fieldsV1` tells
 * the shape: which lists are maps by key, which are sets, which are one value. False means "cannot tell", not "differs".
 */
export function covered(desired: KubeObject, live: KubeObject): boolean {
  const owned = live.metadata.managedFields?.[0]?.fieldsV1;
  if (!owned || live.metadata.managedFields?.length !== 1) return false;
  const { apiVersion, kind, metadata, ...rest } = desired;
  if (apiVersion !== live.apiVersion) return false;
  const { name, namespace, ...meta } = metadata;
  return map(Object.keys(meta).length ? { metadata: meta, ...rest } : rest, live, owned);
}

function map(desired: Json, live: Json, owned: FieldSet): boolean {
  for (const [name, value] of Object.entries(desired)) {
    const field = owned[`f:${name}`];
    if (!field || !Object.hasOwn(live, name) || !node(value, live[name], field)) return false;
  }
  // A field that we own and that no source contains was removed from Git.
  return Object.keys(owned).every((field) => !field.startsWith("f:") || Object.hasOwn(desired, field.slice(2)));
}

function node(desired: unknown, live: unknown, owned: FieldSet): boolean {
  const inner = Object.keys(owned).filter((field) => field !== ".");
  if (inner.length === 0) return isDeepStrictEqual(desired, live);
  if (Array.isArray(desired)) return Array.isArray(live) && list(desired, live, owned, inner);
  return isObject(desired) && isObject(live) && map(desired, live, owned);
}

/** Lists whose items have keys or are a set. Order counts: an environment variable may use one before it. */
function list(desired: unknown[], live: unknown[], owned: FieldSet, inner: string[]): boolean {
  if (inner.length !== desired.length) return false;
  let from = 0;
  const left = new Set(inner);
  for (const item of desired) {
    const field = [...left].find((name) => identifies(name, item));
    if (!field) return false;
    left.delete(field);
    const at = live.findIndex(
      (other, i) => i >= from && (field.startsWith("v:") ? isDeepStrictEqual(other, item) : hasKeys(field, other)),
    );
    if (at < 0) return false;
    from = at + 1;
    if (field.startsWith("k:") && !node(item, live[at], owned[field]!)) return false;
  }
  return true;
}

/** Keys may have been filled in by a default (`protocol: TCP`): then the desired item does not name them. */
function identifies(field: string, item: unknown): boolean {
  if (field.startsWith("v:")) return isDeepStrictEqual(readJson(field.slice(2)), item);
  if (!field.startsWith("k:") || !isObject(item)) return false;
  return Object.entries(readJson(field.slice(2)) as Json).every(
    ([key, value]) => item[key] === undefined || isDeepStrictEqual(item[key], value),
  );
}

function hasKeys(field: string, item: unknown): boolean {
  if (!isObject(item)) return false;
  return Object.entries(readJson(field.slice(2)) as Json).every(([key, value]) => isDeepStrictEqual(item[key], value));
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields that do not count when two forms of an object are compared. */
export interface Comparing {
  ignored: Ignoring;
  tracking: Tracking;
  options: CompareOptions;
  /** The sync options of the application. */
  syncOptions: readonly string[];
  /** Fields whose values may be spelt in several ways. */
  known: readonly KnownField[];
}

const AS_IT_IS: Comparing = {
  ignored: NOTHING,
  tracking: BY_ANNOTATION,
  options: USUAL_OPTIONS,
  syncOptions: [],
  known: [],
};

/** As the application and the settings for all want an object compared. */
export const comparing = (
  app: Application,
  { rules, tracking, compares, knownFields }: Settings,
  object: KubeObject,
): Comparing => ({
  ignored: ignoring(app, rules, object),
  tracking,
  options: compares,
  syncOptions: app.spec.syncPolicy?.syncOptions ?? [],
  known: knownFieldsOf(object, knownFields),
});

/** The live object and the result of an apply, both without ignored fields and those that the server keeps. */
export async function attempt(
  client: KubeClient,
  target: CompareTarget,
  live: KubeObject,
  how = AS_IT_IS,
): Promise<Outcome<{ live: KubeObject; next: KubeObject }>> {
  const tried = isClientSide(target.object, how.syncOptions)
    ? await applyOnClientSide(client, target.resource!, target.object, {
        options: how.syncOptions,
        there: true,
        dryRun: true,
      })
    : await client.apply(target.resource!, target.object, { dryRun: true });
  if (tried.kind !== "done") return tried;
  let [there, owned] = [live, [] as FieldSet[]];
  if (how.ignored.managers.length) {
    // The watch keeps only our own entry of who owns what.
    const read = await client.get(target.resource!, live.metadata.namespace, live.metadata.name);
    if (read.kind !== "done") return read;
    [there, owned] = [read.value, fieldsOf(read.value, how.ignored.managers)];
  }
  const counted = (object: KubeObject) => countedOf(object, { live: there, wanted: target.object, owned }, how);
  const before = counted(there);
  return done({ live: before, next: inSpellingOf(counted(tried.value), before, how.known) });
}

/** The fields of a live or future object that count in the comparison. */
export const countedOf = (
  object: KubeObject,
  { live, wanted, owned = [] }: { live: KubeObject; wanted: KubeObject; owned?: readonly FieldSet[] },
  { ignored, tracking, options }: Comparing,
): KubeObject => {
  const { status } = object as KubeObject & { status?: unknown };
  // One that is in no source may be changed by the cluster while it is compared.
  const counted =
    status !== undefined && wanted.status !== undefined && wantsStatus(wanted, options)
      ? { ...bare(object), status }
      : bare(object);
  const filled = filledIn(wanted, options);
  const whole = migrated(counted, live, wanted, tracking);
  const kept = without(
    whole,
    filled.length ? { ...ignored, pointers: [...ignored.pointers, ...filled] } : ignored,
    owned,
  );
  return kept === whole ? whole : withMarksOf(kept, whole, tracking);
};

/** The fields that a user decides, without those that the server maintains and without the record of the last apply. */
export function bare(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object as KubeObject & { status?: unknown };
  const { managedFields, resourceVersion, generation, annotations, ...metadata } = object.metadata;
  const { [LAST_APPLIED]: __, ...others } = annotations ?? {};
  return JSON.parse(
    JSON.stringify({
      ...rest,
      metadata: { ...metadata, ...(Object.keys(others).length ? { annotations: others } : {}) },
    }),
  ) as KubeObject;
}

/**
 * Verdicts by (desired digest, live version): an object of which neither changed is not looked at again, in any number of loops.
 */
export class Verdicts {
  readonly #known = new Map<string, { digest: string; version: string; same: boolean }>();

  get(target: CompareTarget, live: KubeObject): boolean | undefined {
    const known = this.#known.get(target.key);
    return known?.digest === target.digest && known.version === version(live) ? known.same : undefined;
  }

  set(target: CompareTarget, live: KubeObject, same: boolean): void {
    this.#known.set(target.key, { digest: target.digest, version: version(live), same });
  }

  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
  }
}

const version = (object: KubeObject): string => `${object.metadata.uid}/${object.metadata.resourceVersion}`;
