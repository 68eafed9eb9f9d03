import type { Fault } from "../../openapi/rules/fault.ts";
import { hasForms } from "../../openapi/with-forms.ts";
import { pathOf } from "../client/problem.ts";
import type { Attribute, Attributes } from "../schema/attribute.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import { jsonTextFaults } from "../schema/json-text.ts";
import { whollyKnown } from "../value/equal.ts";
import { parseJson } from "../value/json.ts";
import { asDouble } from "../value/number.ts";
import { Decimal, isMap, Unknown, type Value, type ValueMap } from "../value/value.ts";
import { toSpec } from "./spec.ts";

/** Checks the texts of a configuration by the rules that the service has too. The service checks values that are unknown at plan time. */
export async function checkForms(
  collection: string,
  attributes: Attributes,
  config: ValueMap,
  diagnostics: Diagnostics,
): Promise<void> {
  // Steps and inputs name each other, so that one that is not known yet may be any of them.
  if (collection === "pipelines" && !["steps", "inputs"].every((name) => whollyKnown(config.get(name) ?? null))) return;
  // It says in which language the templates are.
  if (collection === "applicationsets" && config.get("go_template") instanceof Unknown) return;
  const spec = toSpec(attributes, known(attributes, config));
  // A script of its own: see `build.mjs`.
  if (hasForms(collection))
    report((await import("../../openapi/rules/forms.ts")).formFaults(collection, spec), attributes, diagnostics);
  // Most configurations have no YAML, and its parser is as large as the half of the provider.
  if (hasYaml(spec))
    report((await import("../../openapi/rules/yaml-texts.ts")).yamlFaults(collection, spec), attributes, diagnostics);
}

/** Reports faults of texts, each at its attribute. */
export { report as reportFaults };

const hasYaml = (spec: object): boolean => /"(values|patch|templatePatch|elementsYaml)":"/.test(JSON.stringify(spec));

function report(faults: readonly Fault[], attributes: Attributes, diagnostics: Diagnostics): void {
  for (const { pointer, detail } of faults) {
    const path = pathOf(attributes, pointer);
    const within = pointer.split("/").slice(1 + (path?.length ?? 0));
    // JSON text and elements of a set have no paths inside.
    const place = within.length > 0 ? `At \`${within.join(".").replaceAll("~1", "/").replaceAll("~0", "~")}\`: ` : "";
    diagnostics.error("Invalid value", `${place}${detail}`, path);
  }
}

/** The configuration without unknown values and without texts and numbers that JSON cannot hold; the schema refuses those. Elements keep their places. */
function known(attributes: Attributes, value: ValueMap): ValueMap {
  const out: ValueMap = new Map();
  for (const [name, a] of Object.entries(attributes))
    out.set(name, a.writeOnly ? null : knownOne(a, value.get(name) ?? null));
  return out;
}

function knownOne(a: Attribute, value: Value): Value {
  if (value === null || value instanceof Unknown) return null;
  const { attributes } = a;
  if (attributes) {
    const element = (one: Value): ValueMap => (isMap(one) ? known(attributes, one) : new Map());
    if (a.nesting === "single") return element(value);
    if (isMap(value)) return new Map([...value].map(([key, one]) => [key, element(one)]));
    return Array.isArray(value) ? value.map(element) : null;
  }
  if (Array.isArray(value))
    return value.map((one) => (one instanceof Unknown || !fits(one, a.rules?.each?.json) ? null : one));
  if (isMap(value))
    return new Map([...value].filter(([, one]) => !(one instanceof Unknown) && fits(one, a.rules?.each?.json)));
  return fits(value, a.rules?.json) ? value : null;
}

/** Whether a value can be sent: JSON where it must be, and only numbers that a double holds. */
function fits(value: Value, json: unknown): boolean {
  if (typeof value === "number" || typeof value === "bigint" || value instanceof Decimal)
    return asDouble(value) !== undefined;
  if (!json) return true;
  try {
    return typeof value === "string" && jsonTextFaults(parseJson(value), 0).length === 0;
  } catch {
    return false;
  }
}
