import { gvkOf, type KubeObject } from "../kube/object.ts";
import { matchGlob } from "../repo/glob.ts";
import type { Application } from "./application.ts";

/** The JSON pointers of `spec.ignoreDifferences` that are for this object. */
export function ignoredPointers(app: Application, object: KubeObject): string[] {
  const { group } = gvkOf(object);
  const { namespace, name } = object.metadata;
  return (app.spec.ignoreDifferences ?? [])
    .filter((rule) => matchGlob(rule.group ?? "", group) && matchGlob(rule.kind, object.kind))
    .filter((rule) => (!rule.name || rule.name === name) && (!rule.namespace || rule.namespace === namespace))
    .flatMap((rule) => rule.jsonPointers ?? []);
}

/** Rules this version does not have; silently passing over one would undo what another controller does. */
export function unsupportedRules(app: Application): boolean {
  return (app.spec.ignoreDifferences ?? []).some((rule) => rule.jqPathExpressions?.length || rule.managedFieldsManagers?.length);
}

/** A copy without what the pointers name; a pointer that leads nowhere is fine. */
export function without<T>(value: T, pointers: readonly string[]): T {
  if (pointers.length === 0) return value;
  const copy = structuredClone(value);
  for (const pointer of pointers) {
    const found = parentOf(copy, pointer);
    if (!found) continue;
    const { parent, key } = found;
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
  }
  return copy;
}

/** A copy in which the pointers have the values of `live`: what RespectIgnoreDifferences sends. */
export function taking(object: KubeObject, live: KubeObject, pointers: readonly string[]): KubeObject {
  const copy = structuredClone(object);
  for (const pointer of pointers.filter((p) => !p.startsWith("/status"))) {
    const from = parentOf(live, pointer);
    const to = parentOf(copy, pointer);
    // Lists are taken whole or not at all: an index means another item on each side.
    if (!from || !to || Array.isArray(from.parent) || Array.isArray(to.parent)) continue;
    to.parent[to.key] = structuredClone(from.parent[from.key]);
  }
  return copy;
}

function parentOf(root: unknown, pointer: string): { parent: Record<string, unknown> | unknown[]; key: string } | undefined {
  if (!pointer.startsWith("/")) return undefined;
  const path = pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  let at = root;
  for (const [i, key] of path.entries()) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    if (i === path.length - 1) return { parent: at as Record<string, unknown>, key };
    at = (at as Record<string, unknown>)[key];
  }
  return undefined;
}
