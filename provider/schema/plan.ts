import { equal } from "../value/equal.ts";
import { attr, index, key, type Path, root } from "../value/path.ts";
import { isMap, Unknown, unknown, type Value, type ValueMap } from "../value/value.ts";
import type { Attribute, Attributes, Schema } from "./attribute.ts";
import { same } from "./same.ts";
import { defaultOf, objectOf, typeOf } from "./type.ts";

/**
 * Plans a create (prior null) or an update. A configured value is planned unchanged; an omitted one is the default, the prior
 * value, or unknown. When nothing changes, the prior state comes back exactly: one unknown would make a perpetual difference.
 */
export function plan(schema: Schema, config: ValueMap, prior: ValueMap | null): ValueMap {
  if (!prior) return planObject(schema.attributes, config, undefined, false);
  const kept = planObject(schema.attributes, config, prior, true);
  return changed(schema, kept, prior) ? planObject(schema.attributes, config, prior, false) : kept;
}

/** Whether the object itself differs, and not only what steers the provider. */
export function changed(schema: Schema, planned: ValueMap, prior: ValueMap): boolean {
  return Object.entries(schema.attributes).some(
    ([name, a]) => !a.local && !equal(typeOf(a), planned.get(name) ?? null, prior.get(name) ?? null),
  );
}

/** Whether the planned values move the object to another agent, where it gets another uid. */
export function isMove(attributes: Attributes, planned: ValueMap, prior: ValueMap): boolean {
  return Object.entries(attributes).some(
    ([name, a]) => a.moves === true && !equal(typeOf(a), planned.get(name) ?? null, prior.get(name) ?? null),
  );
}

/** The paths whose change replaces the object. */
export function requiresReplace(schema: Schema, planned: ValueMap, prior: ValueMap): Path[] {
  const out: Path[] = [];
  replacements(schema.attributes, planned, prior, root, out);
  return out;
}

/** `keep`: computed values stay as they were. Without it they become unknown, unless they are stable. */
export function planObject(
  attributes: Attributes,
  config: ValueMap,
  prior: ValueMap | undefined,
  keep: boolean,
): ValueMap {
  const out: ValueMap = new Map();
  for (const [name, a] of Object.entries(attributes)) {
    const wanted = config.get(name) ?? null;
    const rival = a.defaultUnless === undefined ? null : (config.get(a.defaultUnless) ?? null);
    if (wanted === null && rival !== null) out.set(name, rival instanceof Unknown ? unknown : null);
    else
      out.set(
        name,
        planAttribute(a, wanted, prior && (prior.get(name) ?? null), keep || follows(attributes, a, out, prior)),
      );
  }
  return out;
}

/** Whether the attribute that this one follows is unchanged. A followed attribute comes before those that follow it. */
function follows(attributes: Attributes, a: Attribute, planned: ValueMap, prior: ValueMap | undefined): boolean {
  const leader = a.follows === undefined ? undefined : attributes[a.follows];
  if (!leader || !prior) return false;
  const before = prior.get(a.follows!) ?? null;
  return before !== null && equal(typeOf(leader), planned.get(a.follows!) ?? null, before);
}

function planAttribute(a: Attribute, config: Value, prior: Value | undefined, keep: boolean): Value {
  if (a.writeOnly) return null;
  if (config !== null) {
    if (a.attributes && !(config instanceof Unknown)) return planNested(a, a.attributes, config, prior, keep);
    // The same meaning in another spelling is no change: keep the prior spelling.
    return prior !== undefined && prior !== null && same(a, config, prior) ? prior : config;
  }
  if (a.presence === "optional" || a.presence === "required") return null;
  const preset = defaultOf(a);
  if (preset !== undefined) return preset;
  if (prior === undefined) return unknown;
  if (keep || a.stable) return prior;
  return a.presence === "either" && prior !== null ? prior : unknown;
}

function planNested(
  a: Attribute,
  attributes: Attributes,
  config: Value,
  prior: Value | undefined,
  keep: boolean,
): Value {
  const element = (value: Value, before: Value | undefined): Value =>
    isMap(value)
      ? planObject(attributes, value, before !== undefined && isMap(before) ? before : undefined, keep)
      : value;
  switch (a.nesting) {
    case "list":
      return (config as Value[]).map((v, i) => element(v, Array.isArray(prior) ? prior[i] : undefined));
    case "set": {
      const left = Array.isArray(prior) ? [...prior] : [];
      return (config as Value[]).map((v) => {
        const at = left.findIndex((before) => matches(attributes, v, before));
        return element(v, at < 0 ? undefined : left.splice(at, 1)[0]);
      });
    }
    case "map":
      return new Map(
        [...(config as ValueMap)].map(([k, v]) => [
          k,
          element(v, isMap(prior ?? null) ? (prior as ValueMap).get(k) : undefined),
        ]),
      );
    default:
      return element(config, prior);
  }
}

/** Whether an element of a set in the configuration is the one from before: everything the user set is the same. */
function matches(attributes: Attributes, config: Value, prior: Value): boolean {
  if (!isMap(config) || !isMap(prior)) return false;
  return Object.entries(attributes).every(([name, a]) => {
    const wanted = config.get(name) ?? null;
    const computed = a.presence === "computed" || a.presence === "either";
    if (wanted === null && computed) return true;
    return a.writeOnly || same(a, wanted, prior.get(name) ?? null);
  });
}

/** Collects the paths of changed attributes that force replacement. A set has no addressable elements: the set itself is named. */
function replacements(attributes: Attributes, planned: ValueMap, prior: ValueMap, path: Path, out: Path[]): void {
  for (const [name, a] of Object.entries(attributes)) {
    const [now, before] = [planned.get(name) ?? null, prior.get(name) ?? null];
    const here = attr(path, name);
    if (a.writeOnly || equal(typeOf(a), now, before)) continue;
    if (a.replace) out.push(here);
    else if (a.attributes && isMap(now) && isMap(before)) {
      if (a.nesting === "single") replacements(a.attributes, now, before, here, out);
      else for (const [k, v] of now) descend(a.attributes, v, before.get(k), key(here, k), out);
    } else if (a.nesting === "list" && Array.isArray(now) && Array.isArray(before))
      for (const [i, v] of now.entries()) descend(a.attributes!, v, before[i], index(here, i), out);
    else if (a.nesting === "set" && hasReplace(a.attributes!)) out.push(here);
  }
}

function descend(attributes: Attributes, now: Value, before: Value | undefined, path: Path, out: Path[]): void {
  if (isMap(now) && before !== undefined && isMap(before)) replacements(attributes, now, before, path, out);
}

const hasReplace = (attributes: Attributes): boolean =>
  Object.values(attributes).some((a) => a.replace || (a.attributes !== undefined && hasReplace(a.attributes)));

/** A value with write-only attributes removed, and, if asked, unknowns turned to null: what may be stored. */
export function storable(attributes: Attributes, value: Value, known = false): Value {
  if (value === null || (value instanceof Unknown && known)) return null;
  if (!isMap(value)) return value;
  const out: ValueMap = new Map();
  for (const [name, a] of Object.entries(attributes)) {
    const found = value.get(name) ?? null;
    out.set(name, a.writeOnly ? null : storableAttribute(a, found, known));
  }
  return out;
}

function storableAttribute(a: Attribute, value: Value, known: boolean): Value {
  if (value instanceof Unknown) return known ? null : value;
  if (!a.attributes || value === null) return known ? withoutUnknown(value) : value;
  const { attributes } = a;
  if (a.nesting === "single") return storable(attributes, value, known);
  if (a.nesting === "map")
    return new Map([...(value as ValueMap)].map(([k, v]) => [k, storable(attributes, v, known)]));
  return (value as Value[]).map((v) => storable(attributes, v, known));
}

function withoutUnknown(value: Value): Value {
  if (value instanceof Unknown) return null;
  if (Array.isArray(value)) return value.map(withoutUnknown);
  if (isMap(value)) return new Map([...value].map(([k, v]) => [k, withoutUnknown(v)]));
  return value;
}

/** The object with every attribute null: what an import starts from. */
export function blank(attributes: Attributes): ValueMap {
  return new Map([...objectOf(attributes).fields.keys()].map((name) => [name, null]));
}
