import { didYouMean } from "../../../openapi/rules/suggest.ts";
import { applicationSet as noun } from "../../generated/application-set.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { type Json, parseJson } from "../../value/json.ts";
import { attr, index, type Path, root } from "../../value/path.ts";
import { Decimal, field, isMap, stringField, type ValueMap } from "../../value/value.ts";
import { judgeApplicationSet } from "../../wait/application-set.ts";
import { given, isBelowAgent, known, warnWithoutProject } from "../checks.ts";
import { createResource } from "../crud/resource.ts";

export const applicationSet = createResource(noun, { validate, judge: judgeApplicationSet });

type JsonObject = { readonly [name: string]: Json };

const GENERATORS = [
  "list",
  "clusters",
  "git",
  "matrix",
  "merge",
  "pullRequest",
  "scmProvider",
  "clusterDecisionResource",
  "plugin",
];
/** A matrix or merge may hold another one, and that one only plain generators. */
const MAX_NESTING = 2;

function validate(config: ValueMap, diagnostics: Diagnostics): void {
  const generators = config.get("generators") ?? null;
  if (Array.isArray(generators))
    for (const [i, text] of generators.entries()) {
      const json = typeof text === "string" ? objectOf(text) : undefined;
      const fault = json && generatorFault(json, 0);
      if (fault) diagnostics.error("Not a generator", fault, index(attr(root, "generators"), i));
    }
  const template = stringField(config, "template");
  const fault = template === undefined ? undefined : templateFault(objectOf(template), mayName(config));
  if (fault) diagnostics.error("Not a template", fault, attr(root, "template"));
  if (template !== undefined && isBelowAgent(config) && !namesProject(objectOf(template)) && !mayBringTemplate(config))
    warnWithoutProject(
      "template",
      "Set `spec.project` to the `status.name` of one of this scope or of a scope above.",
      diagnostics,
    );
  if (config.get("go_template") === false)
    for (const name of ["template_patch", "go_template_options"])
      if (known(config, name))
        diagnostics.error(
          "Only for Go templates",
          `\`${name}\` has no meaning with \`go_template = false\`.`,
          attr(root, name),
        );
  strategy(config, diagnostics);
}

/** Errors in one generator; its own template may omit what the set's template has. */
function generatorFault(one: JsonObject, depth: number, at = ""): string | undefined {
  const names = Object.keys(one);
  const kinds = names.filter((name) => GENERATORS.includes(name));
  const unknown = names.find((name) => !GENERATORS.includes(name) && name !== "selector");
  const choice = `one of ${GENERATORS.map((name) => `\`${name}\``).join(", ")}, and \`selector\` beside it`;
  if (unknown !== undefined)
    return `${at}There is no generator \`${unknown}\`.${didYouMean(unknown, GENERATORS) || ` Give ${choice}.`}`;
  if (kinds.length !== 1)
    return `${at}${kinds.length === 0 ? "No generator is named" : `${kinds.length} are named`}: give ${choice}.`;
  const kind = kinds[0]!;
  const settings = one[kind];
  if (!isObject(settings)) return `${at}\`${kind}\` is an object.`;
  if (kind !== "matrix" && kind !== "merge") return undefined;
  return childrenFault(kind, settings, depth + 1, at);
}

function childrenFault(kind: "matrix" | "merge", settings: JsonObject, depth: number, at: string): string | undefined {
  const { generators, mergeKeys } = settings;
  if (depth > MAX_NESTING) return `${at}\`${kind}\` is too deep: two levels are possible.`;
  if (!Array.isArray(generators)) return `${at}\`${kind}\` has a list \`generators\`.`;
  if (kind === "matrix" && generators.length !== 2)
    return `${at}\`matrix\` has two generators, here are ${generators.length}.`;
  if (kind === "merge" && generators.length < 2) return `${at}\`merge\` has at least two generators.`;
  if (kind === "merge" && !(Array.isArray(mergeKeys) && mergeKeys.length > 0))
    return `${at}\`merge\` needs \`mergeKeys\`.`;
  for (const [i, child] of generators.entries()) {
    const here = `${at}${kind}.generators[${i}]: `;
    const fault = isObject(child) ? generatorFault(child, depth, here) : `${here}It must be an object.`;
    if (fault) return fault;
  }
  return undefined;
}

const namesProject = (template: JsonObject | undefined): boolean =>
  template === undefined ||
  (isObject(template.spec) && template.spec.project !== undefined && template.spec.project !== "");

/** A patch, a generator's own template or an unknown value may supply the name. */
const mayName = (config: ValueMap): boolean => given(config, "template_patch") || mayBringTemplate(config);

function mayBringTemplate(config: ValueMap): boolean {
  const generators = config.get("generators") ?? null;
  if (!Array.isArray(generators)) return true;
  return generators.some((text) => {
    const one = typeof text === "string" ? objectOf(text) : undefined;
    return !one || Object.values(one).some((settings) => isObject(settings) && settings.template !== undefined);
  });
}

function templateFault(template: JsonObject | undefined, named: boolean): string | undefined {
  if (!template) return undefined;
  const other = Object.keys(template).find((name) => name !== "metadata" && name !== "spec");
  if (other !== undefined) return `It has \`metadata\` and \`spec\`, and no \`${other}\`.`;
  const { metadata, spec } = template;
  if (metadata !== undefined && !isObject(metadata)) return "`metadata` is an object.";
  if (spec !== undefined && !isObject(spec)) return "`spec` is an object, as in `argoproj.io/v1alpha1`.";
  if (!named && (typeof metadata?.name !== "string" || metadata.name === ""))
    return "`metadata.name` is missing: the name of each application, such as `{{ .name }}-guestbook`.";
  return undefined;
}

function strategy(config: ValueMap, diagnostics: Diagnostics): void {
  const value = config.get("strategy") ?? null;
  if (!isMap(value)) return;
  const at: Path = attr(root, "strategy");
  const type = stringField(value, "type");
  if (type === "RollingSync" && !given(field(value, "rolling_sync"), "steps"))
    diagnostics.error("A roll-out without steps", '`type = "RollingSync"` needs `rolling_sync.steps`.', at);
  if (known(value, "rolling_sync") && (!given(value, "type") || type === "AllAtOnce"))
    diagnostics.error(
      "Steps without a roll-out",
      '`rolling_sync` needs `type = "RollingSync"`.',
      attr(at, "rolling_sync"),
    );
}

/** The object in a text; for any other text the schema gives the error. */
function objectOf(text: string): JsonObject | undefined {
  try {
    const json = parseJson(text);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (json: Json | undefined): json is { [name: string]: Json } =>
  typeof json === "object" && json !== null && !Array.isArray(json) && !(json instanceof Decimal);
