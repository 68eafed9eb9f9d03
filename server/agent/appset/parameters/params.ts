import { text } from "../template/format.ts";
import { type Rendering, render } from "../template/render.ts";
import { isMap, StringMap, TemplateError, type Value, type ValueMap } from "../template/value.ts";

/** One application's parameters. */
export type Params = ValueMap;

const MAX_DEPTH = 100;

/** Every text in a value with its parameters filled in, keys of maps too. */
export function replaceAll(value: unknown, params: Params, how: Rendering, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new TemplateError("nested too deeply");
  if (typeof value === "string") return render(value, params, how);
  if (Array.isArray(value)) return value.map((one) => replaceAll(one, params, how, depth + 1));
  if (value === null || typeof value !== "object") return value;
  const entries: [string, unknown][] = [];
  for (const [key, one] of Object.entries(value)) {
    if (one === null || one === undefined) continue;
    entries.push([render(key, params, how), replaceAll(one, params, how, depth + 1)]);
  }
  return Object.fromEntries(entries);
}

/** Nested values under names with dots: `a.b`, `list.0`. Empty values have no name. */
export function flatten(value: ValueMap): Map<string, Value> {
  const flat = new Map<string, Value>();
  const walk = (one: Value, name: string, depth: number) => {
    if (depth > MAX_DEPTH) throw new TemplateError("nested too deeply");
    if (isMap(one)) for (const [key, inner] of one) walk(inner, name ? `${name}.${key}` : key, depth + 1);
    else if (Array.isArray(one)) {
      for (const [i, inner] of one.entries()) walk(inner, name ? `${name}.${i}` : String(i), depth + 1);
    } else flat.set(name, one);
  };
  walk(value, "", 0);
  return flat;
}

/** What a selector on parameters sees. */
export const asLabels = (params: Params): Record<string, string> =>
  Object.fromEntries([...flatten(params)].map(([key, value]) => [key, text(value)]));

/** Adds `values`, in which the other parameters may stand, but not each other. */
export function addValues(values: Record<string, string> | undefined, params: Params, how: Rendering): void {
  const entries = Object.entries(values ?? {}).map(
    ([key, value]) => [key, render(String(value), params, how)] as const,
  );
  if (entries.length === 0) return;
  if (how.goTemplate) params.set("values", new StringMap(entries));
  else for (const [key, value] of entries) params.set(`values.${key}`, value);
}

/** Lays one set of parameters over another, maps in them too. */
export function overlay(into: ValueMap, from: ValueMap): ValueMap {
  for (const [key, value] of from) {
    const old = into.get(key);
    if (!isMap(old) || !isMap(value)) {
      into.set(key, value);
      continue;
    }
    if (old instanceof StringMap && !(value instanceof StringMap) && value.size > 0) {
      throw new TemplateError(
        `${key} of both generators cannot be merged: one holds texts only, as the values of clusters do; give them other names`,
      );
    }
    into.set(key, overlay(old instanceof StringMap ? new StringMap(old) : new Map(old), value));
  }
  return into;
}

/** All parameters as text, for templates without Go's syntax. */
export const asTexts = (params: Params): Map<string, string> =>
  new Map([...params].map(([key, value]) => [key, text(value)]));
