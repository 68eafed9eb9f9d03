import type { Free } from "../types.ts";

const isObject = (value: unknown): value is Free =>
  value !== null && typeof value === "object" && !Array.isArray(value);
const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);

/** A generator's own template with what it leaves open taken from the set's. */
export function fillTemplate(own: unknown, base: unknown): Free {
  if (!isObject(own)) return (isObject(base) ? base : {}) as Free;
  const merged: Free = { ...own };
  for (const [key, value] of Object.entries(isObject(base) ? base : {})) {
    if (isObject(merged[key]) && isObject(value)) merged[key] = fillTemplate(merged[key], value);
    else if (isNothing(merged[key])) merged[key] = value;
  }
  return merged;
}

/** Lists of an Application of which a patch adds entries instead of replacing all; the others have no merge key. */
const ADDED = new Set(["metadata.finalizers"]);
const KEYED: Record<string, string> = { "metadata.ownerReferences": "uid" };

/** A strategic merge patch as Kubernetes does it to an Application. */
export function strategicMerge(target: unknown, patch: Free, path = "", depth = 0): Free {
  if (depth > 100) throw new RangeError("the patch is nested too deeply");
  const { $patch: directive, $retainKeys: retained, ...fields } = patch;
  if (directive === "replace") return fields;
  if (directive === "delete") return {};
  const merged: Free = isObject(target) ? { ...target } : {};
  if (Array.isArray(retained)) for (const key of Object.keys(merged)) if (!retained.includes(key)) delete merged[key];
  for (const [key, value] of Object.entries(fields)) {
    if (key.startsWith("$setElementOrder/")) continue;
    if (key.startsWith("$deleteFromPrimitiveList/")) {
      const list = key.slice(key.indexOf("/") + 1);
      if (Array.isArray(merged[list]))
        merged[list] = merged[list].filter((one: unknown) => !(value as unknown[]).includes(one));
      continue;
    }
    const at = path ? `${path}.${key}` : key;
    if (value === null) delete merged[key];
    else if (isObject(value)) {
      if (value.$patch === "delete") delete merged[key];
      else merged[key] = strategicMerge(merged[key], value, at, depth + 1);
    } else if (Array.isArray(value) && ADDED.has(at)) merged[key] = [...new Set([...(merged[key] ?? []), ...value])];
    else if (Array.isArray(value) && KEYED[at]) merged[key] = byKey(merged[key] ?? [], value, KEYED[at]!, at, depth);
    else merged[key] = value;
  }
  return merged;
}

function byKey(target: Free[], patch: Free[], key: string, path: string, depth: number): Free[] {
  const merged = [...target];
  for (const one of patch) {
    const at = merged.findIndex((old) => old[key] === one[key]);
    if (one.$patch === "delete") {
      if (at >= 0) merged.splice(at, 1);
    } else if (at >= 0) merged[at] = strategicMerge(merged[at], one, path, depth + 1);
    else merged.push(one);
  }
  return merged;
}
