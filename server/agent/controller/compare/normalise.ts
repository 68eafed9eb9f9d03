import { digest } from "../../../base/json/canonical.ts";
import { type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { describe, gvkOf, type KubeObject, objectKey } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { MANIFEST_INVALID } from "../../../kube/yaml.ts";
import { USUAL_OPTIONS, wantsStatus } from "../config/compare-options.ts";
import { type Hook, hookOf, waveOf } from "../order.ts";
import { BY_ANNOTATION, mark } from "../tracking.ts";

/** One object as it shall be, ready to be sent. */
export interface CompareTarget {
  key: string;
  object: KubeObject;
  digest: string;
  wave: number;
  hook?: Hook;
  /** The address of the kind in the API; absent when the cluster does not have the kind, with the reason in `problem`. */
  resource?: Resource;
  problem?: Failure;
  /** Fields that its kind does not have and that were left out of `object`, as `Validate=false` asks. */
  undeclared?: string[];
  /** As it was with them. */
  whole?: Pick<CompareTarget, "object" | "digest">;
}

export interface Normalised {
  targets: CompareTarget[];
  /** Keys that appeared more than once, with the number of times; the last one won. */
  repeated: { name: string; times: number }[];
  /** Left out by the settings for all applications. */
  excluded?: string[];
}

/** The application that gets the objects. */
interface Into {
  app: string;
  /** Of objects that name none. */
  namespace: string;
  settings?: typeof USUAL;
}

const USUAL = { tracking: BY_ANNOTATION, compares: USUAL_OPTIONS };

/**
 * Makes rendered objects comparable: namespace by scope, Secret data encoded, tracking added, duplicates resolved. The input is shared
 * with the cache and stays as it is.
 */
export async function normalise(
  rendered: readonly KubeObject[],
  { app, namespace, settings: { tracking, compares } = USUAL }: Into,
  find: (group: string, version: string, kind: string) => Promise<Outcome<Resource>>,
): Promise<Normalised> {
  const byKey = new Map<string, CompareTarget>();
  const times = new Map<string, number>();
  const kinds = new Map<string, Outcome<Resource>>();
  for (const given of rendered) {
    const { group, version, kind } = gvkOf(given);
    const gvk = `${group}/${version}/${kind}`;
    let found = kinds.get(gvk);
    if (!found) {
      found = await find(group, version, kind);
      kinds.set(gvk, found);
    }
    const { name, generateName } = given.metadata;
    // Without a name a request would mean all objects of the kind.
    if (found.kind === "done" && !name && !generateName) found = stop(MANIFEST_INVALID, `${kind} has no metadata.name`);
    const resource = found.kind === "done" ? found.value : undefined;
    const object = clean(given, resource?.namespaced ?? true, namespace, wantsStatus(given, compares));
    const hook = hookOf(object);
    mark(object, app, namespace, tracking);
    const key = objectKey(
      group,
      kind,
      object.metadata.namespace ?? "",
      object.metadata.name ?? object.metadata.generateName ?? "",
    );
    times.set(key, (times.get(key) ?? 0) + 1);
    byKey.set(key, {
      key,
      object,
      digest: digest(object),
      wave: waveOf(object),
      hook,
      resource,
      problem: found.kind === "done" ? undefined : found,
    });
  }
  const repeated = [...times]
    .filter(([, n]) => n > 1)
    .map(([key, n]) => ({ name: describe(byKey.get(key)!.object), times: n }));
  return { targets: [...byKey.values()], repeated };
}

function clean(given: KubeObject, namespaced: boolean, namespace: string, keepsStatus: boolean): KubeObject {
  const { status, ...rest } = given as KubeObject & { status?: unknown };
  const object = keepsStatus ? given : rest;
  const { creationTimestamp, resourceVersion, uid, managedFields, generation, ...metadata } = given.metadata;
  if (!namespaced) delete metadata.namespace;
  else if (!metadata.namespace && namespace) metadata.namespace = namespace;
  const result: KubeObject = { ...object, metadata } as KubeObject;
  // Anything but a map of plain values is left unchanged: the API server refuses it.
  if (result.apiVersion === "v1" && result.kind === "Secret" && isPlainMap(result.stringData)) {
    const { stringData, ...secret } = result;
    const encoded = Object.entries(stringData).map(([k, v]) => [k, Buffer.from(String(v)).toString("base64")]);
    return { ...secret, data: { ...(secret.data as object), ...Object.fromEntries(encoded) } } as KubeObject;
  }
  return result;
}

const isPlainMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((one) => one === null || typeof one !== "object");
