import { formFaults } from "../../../../openapi/rules/forms.ts";
import { inWords } from "../../../../openapi/rules/messages/patterns.ts";
import { isOfShape, shapeFaults } from "../../../../openapi/rules/messages/shape.ts";
import { yamlFaults } from "../../../../openapi/rules/yaml-texts.ts";
import { deref, type Noun } from "../nouns.ts";
import { type Fault, invalid, misfit, refuse } from "../problem.ts";
import { keptFaults } from "./repository.ts";
import { RULES } from "./rules.ts";

export type Spec = Record<string, any>;

/** The spec with every default of the contract filled in, so that PUT and PATCH store the same thing. */
export function withDefaults(noun: Noun, spec: Spec): Spec {
  return fill(noun.specSchema, spec) as Spec;
}

function fill(schema: Record<string, any>, value: unknown): unknown {
  const whole = schema.$ref ? { ...deref(schema.$ref), ...schema } : schema;
  if (Array.isArray(value)) return whole.items ? value.map((item) => fill(whole.items, item)) : value;
  if (value === null || typeof value !== "object" || !whole.properties) return value;
  const result: Spec = { ...value };
  for (const [key, member] of Object.entries<Record<string, any>>(whole.properties)) {
    const rival = member["x-default-unless"];
    if (rival !== undefined && result[rival] !== undefined && result[rival] !== null) {
      // The two exclude each other: beside the other field, the default written out says nothing.
      if (result[key] === member.default) delete result[key];
    } else if (result[key] !== undefined) result[key] = fill(member, result[key]);
    else if (member.default !== undefined) result[key] = member.default;
  }
  return result;
}

/** Refuses a spec that does not fit its schema; says every fault, the first one in front. */
export function checkSchema(noun: Noun, spec: Spec): void {
  if (noun.validateSpec(spec)) return;
  const said = (noun.validateSpec.errors ?? [])
    .filter((fault) => !isOfShape(fault.message ?? ""))
    .map((fault) => ({ detail: inWords(fault.message ?? fault.keyword), pointer: fault.instancePath }));
  const faults = [...said, ...shapeFaults(noun.specSchema, spec, deref)].map(({ pointer, detail }) => ({
    pointer: `/spec${pointer}`,
    detail,
  }));
  throw misfit(faults.length > 0 ? faults : [{ pointer: "/spec", detail: "does not fit the contract" }]);
}

/** Rules between fields that a schema cannot say. Each names the field and what to do; `before` is the spec that it replaces. */
export function checkRules(noun: Noun, spec: Spec, before?: Spec): void {
  if (spec.credentials && spec.sealedCredentials)
    throw invalid("/spec/sealedCredentials", "Give `credentials` or `sealedCredentials`, not both.");
  if (noun.collection === "applications") checkApplication(spec);
  // The schema has been checked, so each finds the spec of its own noun.
  refuse([...(RULES[noun.collection]?.faults?.(spec as never) ?? []), ...textFaults(noun.collection, spec)]);
  refuse(keptFaults(spec, before));
}

/** What is wrong with the texts in a spec. Terraform's provider asks the same two rules. */
const textFaults = (collection: string, spec: Spec): Fault[] =>
  // Those of a pipeline stand between its other faults, in the order of its text.
  [...(collection === "pipelines" ? [] : formFaults(collection, spec)), ...yamlFaults(collection, spec)].map(
    ({ pointer, detail }) => ({
      pointer: `/spec${pointer}`,
      detail,
    }),
  );

function checkApplication(spec: Spec): void {
  if (!spec.source === !spec.sources)
    throw invalid(spec.source ? "/spec/sources" : "/spec/source", "Give exactly one of `source` and `sources`.");
  if (spec.appProject && spec.argoProject !== undefined && spec.argoProject !== "default")
    throw invalid("/spec/argoProject", "Give `appProject` (a project of this service) or `argoProject`, not both.");
  const refs = new Set<string>();
  for (const [source, at] of sourcesOf(spec)) {
    if (!source.repository === !source.repoUrl)
      throw invalid(
        source.repository ? `${at}/repoUrl` : `${at}/repository`,
        "Give exactly one of `repository` (a registered one) and `repoUrl`.",
      );
    if (source.chart && source.path)
      throw invalid(
        `${at}/path`,
        "A `chart` comes from a Helm repository, which has no paths: leave out `path` or `chart`.",
      );
    const kinds = ["directory", "helm", "kustomize"].filter((one) => source[one] !== undefined);
    if (kinds.length > 1)
      throw invalid(`${at}/${kinds[1]}`, `Give only one of ${kinds.map((one) => `\`${one}\``).join(" and ")}.`);
    const tool = source.plugin && ["chart", "helm", "kustomize", "directory"].find((one) => source[one] !== undefined);
    if (tool) throw invalid(`${at}/${tool}`, "A `plugin` makes the manifests itself: remove one of the two.");
    for (const [i, parameter] of (source.plugin?.parameters ?? []).entries())
      if (["string", "array", "map"].filter((form) => parameter[form] !== undefined).length !== 1)
        throw invalid(`${at}/plugin/parameters/${i}`, "Give exactly one of `string`, `array` and `map`.");
    if (source.ref !== undefined) {
      if (refs.has(source.ref)) throw invalid(`${at}/ref`, "Another source has this `ref` already.");
      refs.add(source.ref);
    }
  }
}

/** The sources of an application with the pointer of each. */
export function sourcesOf(spec: Spec): [Spec, string][] {
  if (spec.source) return [[spec.source, "/spec/source"]];
  return (spec.sources ?? []).map((source: Spec, i: number) => [source, `/spec/sources/${i}`]);
}

/** Every reference in a spec with the pointer of its place. */
export function referencesIn(noun: Noun, spec: Spec): { pointer: string; reference: string; to: Noun["collection"] }[] {
  return noun.references.flatMap(({ path, to }) =>
    walk(spec, path, "/spec").map(([reference, pointer]) => ({ pointer, reference, to })),
  );
}

function walk(value: any, path: readonly string[], pointer: string): [string, string][] {
  const [head, ...rest] = path;
  if (value === undefined || value === null) return [];
  if (head === undefined) return [[value as string, pointer]];
  if (head !== "*") return walk(value[head], rest, `${pointer}/${head}`);
  return (value as unknown[]).flatMap((item, i) => walk(item, rest, `${pointer}/${i}`));
}
