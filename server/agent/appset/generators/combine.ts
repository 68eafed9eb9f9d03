import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { asTexts, overlay, type Params } from "../parameters/params.ts";
import { copyOf, TemplateError, toJson, type ValueMap } from "../template/value.ts";
import { APPSET, type Free, type Generator } from "../types.ts";
import { type GeneratorContext, MAX_PARAMS } from "./context.ts";

/** The parameters of an entry inside another one; `first` are those it may use itself. */
export type Child = (
  entry: Generator,
  context: GeneratorContext,
  first: Params | undefined,
  depth: number,
) => Promise<Outcome<Params[]>>;

const refuse = (why: string) => stop(APPSET.params, why);

/** `matrix`: each of the first with each of the second, which sees the first one's parameters. */
export async function matrix(
  { generators = [] }: Free,
  context: GeneratorContext,
  child: Child,
  depth: number,
): Promise<Outcome<Params[]>> {
  if (generators.length < 2) return refuse("found less than two generators, Matrix support only two");
  if (generators.length > 2) return refuse("found more than two generators, Matrix support only two");
  const first = await child(generators[0], context, undefined, depth);
  if (first.kind !== "done") return first;
  const all: Params[] = [];
  for (const a of first.value) {
    const second = await child(generators[1], context, a, depth);
    if (second.kind !== "done") {
      return {
        ...second,
        message: `failed to get params for second generator in the matrix generator: ${second.message}`,
      };
    }
    for (const b of second.value) {
      if (all.length >= MAX_PARAMS) return refuse(`the matrix gives more than ${MAX_PARAMS} applications`);
      const both = context.how.goTemplate ? done(overlay(copyOf(b) as ValueMap, a)) : together(a, b);
      if (both.kind !== "done") return both;
      all.push(both.value);
    }
  }
  return done(all);
}

function together(a: Params, b: Params): Outcome<Params> {
  const [one, other] = [asTexts(a), asTexts(b)];
  for (const [key, value] of other) {
    if (one.has(key) && one.get(key) !== value) {
      return refuse(
        `failed to combine string maps with merging params for the matrix generator: found duplicate key ${key} with different value, a: ${one.get(key)} ,b: ${value}`,
      );
    }
    one.set(key, value);
  }
  return done(one);
}

/** `merge`: the first one's parameters, and over them what the others have for the same keys. */
export async function merge(
  { generators = [], mergeKeys = [] }: Free,
  context: GeneratorContext,
  child: Child,
  depth: number,
): Promise<Outcome<Params[]>> {
  if (generators.length < 2) return refuse("found less than two generators, Merge requires two or more");
  if (mergeKeys.length === 0) return refuse("no merge keys were specified, Merge requires at least one");
  const sets: Map<string, Params>[] = [];
  for (const generator of generators) {
    const params = await child(generator, context, undefined, depth);
    if (params.kind !== "done") return params;
    const keyed = byKeys(mergeKeys, params.value);
    if (keyed.kind !== "done") return keyed;
    sets.push(keyed.value);
  }
  const [base, ...others] = sets;
  const merged: Params[] = [];
  for (const [key, params] of base!) {
    let result = copyOf(params) as ValueMap;
    for (const other of others) {
      const over = other.get(key);
      if (!over) continue;
      result = context.how.goTemplate ? overlay(result, over) : new Map([...result, ...over]);
    }
    merged.push(result);
  }
  return done(merged);
}

function byKeys(keys: string[], all: Params[]): Outcome<Map<string, Params>> {
  const found = new Map<string, Params>();
  for (const params of all) {
    const id = JSON.stringify(toJson(new Map([...new Set(keys)].map((key) => [key, params.get(key) ?? null]))));
    if (found.has(id)) {
      return refuse(
        `error getting param sets by merge key: the parameters from a generator were not unique by the given mergeKeys, Merge requires all param sets to be unique. Duplicate key was ${id}`,
      );
    }
    found.set(id, params);
  }
  return done(found);
}

/** What a template cannot do is a failure of the set, not of this program. */
export async function caught<T>(work: () => Promise<Outcome<T>>): Promise<Outcome<T>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TemplateError) return refuse(error.message);
    throw error;
  }
}
